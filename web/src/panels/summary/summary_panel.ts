// The summary: what the GPU or the CPU did, why it was idle, and which line to change first. It is open when the page opens, and
// fills in as the engine works its parts out, the quick ones first. Every line leads to its place in the timeline.

import "./summary.css";

import type { Change } from "../../app";
import type { Summary } from "../../engine/engine";
import { make } from "../../ui/dom";
import { isText, recall, remember } from "../../ui/memory";
import { isAsked } from "../ask";
import { Panel } from "../panel";
import { adviceCard } from "./advice_card";
import { tiles } from "./figure_tiles";
import { partsCard } from "./parts_card";
import { topCards } from "./top_cards";

const MEMORY = "summary";
const CLOSED = "closed";

/** Whether a page that no link leads to opens with it: there is something to tell, and the reader did not close it the last time. */
export function opensAtStart({ events, map }: { events: number; map: boolean }): boolean {
  return events > 0 && !map && recall(MEMORY, isText, "") !== CLOSED;
}

export class SummaryPanel extends Panel {
  readonly name = "summary";
  readonly title = "Summary";
  protected readonly shows: readonly Change[] = ["summary", "advice", "theme"];
  private before: string | null = null;

  protected build(): void {
    this.before = this.app.state.panel;
    this.app.listen((changed) => {
      if (changed.has("panel")) this.rememberClosed();
    });
  }

  /** Another panel in its place does not mean that the reader does without it. */
  private rememberClosed(): void {
    const { panel } = this.app.state;
    if (panel === this.name) remember(MEMORY, "open");
    else if (panel === null && this.before === this.name) remember(MEMORY, CLOSED);
    this.before = panel;
  }

  protected draw(): void {
    const { summary, about } = this.app.state;
    const held = this.element.contains(document.activeElement) ? this.focused() : -1;
    if (about.events === 0) this.element.replaceChildren(make("p", { class: "empty" }, "The report has no events."));
    else if (!summary) this.element.replaceChildren(make("p", { class: "empty", role: "status" }, "Computing the summary …"));
    else this.element.replaceChildren(...this.content(summary));
    if (about.events > 0 && !summary?.complete && isAsked(about)) this.element.setAttribute("aria-busy", "true");
    else this.element.removeAttribute("aria-busy");
    if (held >= 0) this.lines()[held]?.focus();
  }

  private content(summary: Summary): HTMLElement[] {
    const cards = [partsCard(this.app, summary), adviceCard(this.app, summary), ...topCards(this.app, summary)].filter((card) => card !== null);
    const job = summary.late ? [make("p", { class: "summary-job" }, summary.late)] : [];
    return [...job, tiles(summary), make("div", { class: "summary-cards" }, ...cards)];
  }

  /** The line with the keyboard: a new part of the summary must not take it away. */
  private lines(): HTMLElement[] {
    return [...this.element.querySelectorAll<HTMLElement>("button")];
  }

  private focused(): number {
    return this.lines().indexOf(document.activeElement as HTMLElement);
  }
}
