// The flame graph of the samples (or of a row's events) inside the span: which functions the time was spent in, and who called
// them. A click fills the width with a function, a search lights up names, and what is seen can be kept as SVG.

import type { Change } from "../app";
import type { Filter, Flame, Row } from "../engine/engine";
import { button, choice, make, textbox } from "../ui/dom";
import { FlameTree } from "./flame_tree";
import { FlameView } from "./flame_view";
import { isText, recall, remember } from "../ui/memory";
import { Latest, Panel } from "./panel";
import { partChoice, pathOf } from "./parts";
import { savePicture } from "../ui/picture";
import { line } from "../ui/text";

const SOURCES = [["cpu", "CPU samples"], ["python", "Python samples"], ["events", "Events of a row"]] as const;
type Source = (typeof SOURCES)[number][0];

/** What a report can have graphs of. */
const HAS: Readonly<Record<Source, (row: Row) => boolean>> = {
  cpu: (row) => row.type === "samples",
  python: (row) => row.type === "python-samples",
  events: (row) => row.kind === "slices",
};

/** Rows whose events hold each other, the ones to begin with. */
const STACKED: readonly string[] = ["python", "torch", "nvtx"];

export class FlamePanel extends Panel {
  readonly name = "flame";
  readonly title = "Flame graph";
  protected readonly shows: readonly Change[] = ["span", "event"];
  private readonly latest = new Latest();
  private readonly bar = make("div", { class: "bar" });
  private readonly words = make("span", { class: "muted", role: "status" });
  private readonly trail = make("nav", { class: "trail", "aria-label": "Callers of this function" });
  private readonly view = new FlameView((node) => this.zoomed(node));
  private source: Source = "cpu";
  private thread: Filter = {};
  private threads!: HTMLSelectElement;
  private row: Row | undefined;
  private asked = "";

  protected build(): void {
    const find = textbox("Find a function", (text) => this.say(this.view.find(text)));
    find.classList.add("small");
    find.addEventListener("keydown", (event) => {
      if (event.key === "Escape") event.stopPropagation(); // leaves the graph as it is
    });
    const { rows } = this.app.state;
    const sources = SOURCES.filter(([source]) => rows.some(HAS[source]));
    this.source = (sources.find(([source]) => source === recall("flame.source", isText, "cpu")) ?? sources[0] ?? SOURCES[0])[0];
    this.row = rows.filter((row) => STACKED.includes(row.type) && HAS.events(row)).sort((a, b) => b.lanes - a.lanes)[0] ?? rows.find(HAS.events);
    this.threads = partChoice(rows, ["thread"], "All threads", (thread) => {
      this.thread = thread;
      this.redraw();
    });
    this.bar.append(
      choice("Source of the graph", sources, this.source, (source) => {
        this.source = source;
        remember("flame.source", source);
        this.redraw();
      }),
      this.threads,
      find,
      this.words,
      make("span", { class: "spacer" }),
      button("Flip", () => this.view.flip(), { icon: "flip", title: "Invert the graph", class: "quiet" }),
      button("SVG", () => this.save(), { icon: "picture", title: "Save this flame graph as SVG", class: "quiet" }),
    );
    this.element.append(this.bar, this.trail, this.view.element);
  }

  override focus(): void {
    this.view.focus();
  }

  protected draw(): void {
    const { span, event, rows } = this.app.state;
    const selected = event && rows.find((row) => row.id === event.row && HAS.events(row));
    if (selected) this.row = selected;
    this.threads.hidden = this.source === "events"; // a row is of one thread already
    const filter: Filter & { row?: number } = { ...span };
    if (this.source !== "events") Object.assign(filter, this.thread);
    else if (this.row) filter.row = this.row.id;
    const question = JSON.stringify([this.source, filter]);
    if (question === this.asked) return; // another event of the same row
    this.asked = question;
    void this.fill(filter);
  }

  private async fill(filter: Filter & { row?: number }): Promise<void> {
    this.element.setAttribute("aria-busy", "true");
    try {
      const flame = await this.latest.of((signal) => this.app.state.engine.flame(this.source, filter, signal));
      if (flame) this.show(flame);
    } catch (error) {
      this.view.show(null);
      this.words.textContent = (error as Error).message;
    }
    if (!this.latest.isOpen) this.element.removeAttribute("aria-busy");
  }

  private show(flame: Flame): void {
    const empty = flame.nodes.length <= 1;
    this.view.show(empty ? null : new FlameTree(flame));
    if (empty) this.words.textContent = this.app.state.span ? "No data of this kind in the selected span." : "No data of this kind in this report.";
  }

  private say(match: { total: number; share: number } | null): void {
    const where = this.source === "events" && this.row ? ` of ${pathOf(this.app.state.rows, this.row.id)}` : "";
    const { tree } = this.view;
    const found = match && tree ? `${(match.share * 100).toFixed(1)} % found: ${tree.amount(match.total)}` : "";
    this.words.textContent = found || (tree ? tree.amount(tree.total(0)) + where : "");
  }

  private zoomed(node: number): void {
    const { tree } = this.view;
    this.say(this.view.found());
    this.trail.replaceChildren();
    this.trail.hidden = node === 0 || !tree;
    if (!tree || node === 0) return;
    const way = tree.way(node);
    const shown = way.length > 8 ? [way[0]!, ...way.slice(-6)] : way;
    shown.forEach((step, index) => {
      if (index > 0) this.trail.append(make("span", { class: "muted", "aria-hidden": "true" }, way.length > 8 && index === 1 ? "› … ›" : "›"));
      const link = button("", () => this.view.zoom(step), { class: "link" });
      link.append(line(tree.name(step)));
      this.trail.append(link);
    });
  }

  private save(): void {
    const drawing = this.view.drawing(`Flame graph of ${this.app.state.about.name}`);
    if (drawing) savePicture(drawing, "svg", "flame").catch((error: Error) => this.app.fail(error));
  }
}
