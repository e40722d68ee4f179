// What the colours mean: the kinds of work of the rows in sight, below the picture, and the states of threads. A click on a kind dims
// all others.

import { make } from "../ui/dom";
import type { Line } from "./layout";
import { KINDS } from "./kinds";
import type { Palette } from "./palette";

/** States that are no work, by the type of the rows that have them; the numbers are those of src/view/load/derived.h. */
const STATES: readonly { type: string; state: number; name: string; what: string }[] = [
  { type: "state", state: 1, name: "Runnable", what: "The thread could run, but other threads had the CPUs" },
  { type: "state", state: 2, name: "Blocked", what: "The thread waits for I/O, a lock, a timer or another thread" },
  { type: "gil", state: 4, name: "Waits for the GIL", what: "The thread waits for Python's global interpreter lock" },
];

export class Legend {
  readonly element = make("div", { class: "legend", role: "group", "aria-label": "Kinds of events", hidden: true });
  /** The kind that is highlighted. */
  kind: number | null = null;
  private shown = "";

  constructor(private readonly changed: () => void) {}

  /** Called each frame; writes to the document only what changed. */
  show(lines: readonly Line[], palette: Palette): void {
    const there = new Set(lines.flatMap(({ drawn }) => drawn?.kinds ?? []));
    const kinds = KINDS.map((_, kind) => kind).filter((kind) => there.has(kind) && KINDS[kind]!.lane >= 0);
    const types = new Set(lines.map(({ drawn }) => drawn?.type));
    const states = STATES.filter(({ type }) => types.has(type));
    if (this.kind !== null && !there.has(this.kind)) this.choose(null);
    const shown = `${kinds.join()} ${states.map(({ state }) => state).join()} ${palette.dark} ${this.kind}`;
    if (shown === this.shown) return;
    this.shown = shown;
    this.element.hidden = kinds.length === 0;
    const focused = document.activeElement instanceof HTMLElement && this.element.contains(document.activeElement) ? document.activeElement.dataset["kind"] : undefined;
    this.element.replaceChildren(...kinds.map((kind) => this.chip(kind, palette)), ...states.map(({ state, name, what }) => this.sign(palette.state(state).css, name, what)));
    if (focused !== undefined) this.element.querySelector<HTMLElement>(`[data-kind="${focused}"]`)?.focus();
  }

  private chip(kind: number, palette: Palette): HTMLElement {
    const on = this.kind === kind;
    const { name, what } = KINDS[kind]!;
    const chip = make("button", { type: "button", class: "legend-kind", "data-kind": kind, "aria-pressed": String(on), title: `${what}. Click to ${on ? "show all kinds alike" : "highlight"}` }, make("i", { "aria-hidden": "true" }), name);
    (chip.firstElementChild as HTMLElement).style.backgroundColor = palette.kind(kind);
    chip.addEventListener("click", () => this.choose(on ? null : kind));
    return chip;
  }

  private sign(colour: string, name: string, what: string): HTMLElement {
    const sign = make("span", { class: "legend-state", title: what }, make("i", { "aria-hidden": "true" }), name);
    (sign.firstElementChild as HTMLElement).style.backgroundColor = colour;
    return sign;
  }

  private choose(kind: number | null): void {
    this.kind = kind;
    this.changed();
  }
}
