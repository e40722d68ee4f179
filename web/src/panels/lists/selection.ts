// The panel Selection: what the events of the selected span sum up to, in some rows or in all: how many, how long, how long at least
// one of them ran, and the same by name and by row.

import type { Change } from "../../app";
import type { Selection } from "../../engine/engine";
import { button, choice, make } from "../../ui/dom";
import { count, duration, moment } from "../../units";
import { Grid } from "../grid";
import { Latest, Panel } from "../panel";
import { pathOf } from "../parts";

type By = "name" | "row";

export class SelectionPanel extends Panel {
  readonly name = "selection";
  readonly title = "Selection";
  protected readonly shows: readonly Change[] = ["span"];
  private readonly latest = new Latest();
  private readonly bar = make("div", { class: "bar" });
  private readonly facts = make("p", { class: "selection-facts", role: "status" });
  private grid!: Grid;
  private by: By = "name";
  private known: Selection | null = null;

  protected build(): void {
    this.grid = new Grid((error) => this.app.fail(error));
    this.element.append(this.bar, this.facts, this.grid.element);
  }

  override focus(): void {
    this.grid.focus();
  }

  protected draw(): void {
    const { span, rows } = this.app.state;
    const which = span?.rows ? (span.rows.length === 1 ? pathOf(rows, span.rows[0]!) : `${count(span.rows.length)} rows`) : "All rows";
    const when = span ? `${duration(span.to - span.from)} from ${moment(span.from)}` : "Whole report";
    const by = choice("Group by", [["name", "By name"], ["row", "By row"]], this.by, (value) => {
      this.by = value;
      this.fill();
    });
    const list = button("List events", () => this.app.listEvents(span?.rows ? { of: "rows", rows: span.rows, inSpan: true } : { of: "all", inSpan: true }), { title: "List the events of the selection" });
    const all = button("All rows", () => span && this.app.set({ span: { from: span.from, to: span.to }, panel: "selection" }), { class: "quiet", title: "Totals of all rows in this span" });
    this.bar.replaceChildren(by, make("bdi", { class: "line events-what" }, `${which}, ${when}`), list, ...(span?.rows ? [all] : []), this.grid.tools);
    void this.ask();
  }

  private async ask(): Promise<void> {
    const { span, engine } = this.app.state;
    this.element.setAttribute("aria-busy", "true");
    try {
      const answer = await this.latest.of((signal) => engine.selection({ ...(span ? { from: span.from, to: span.to } : {}), ...(span?.rows ? { rows: span.rows } : {}) }, signal));
      if (answer) {
        this.known = answer;
        this.fill();
      }
    } catch (error) {
      this.facts.textContent = (error as Error).message;
    }
    if (!this.latest.isOpen) this.element.removeAttribute("aria-busy");
  }

  private fill(): void {
    const { known } = this;
    if (!known) return;
    const { span, about, rows } = this.app.state;
    const length = span ? span.to - span.from : about.to - about.from;
    const share = length > 0 ? ` (${((100 * known.busy) / length).toFixed(1)} %)` : "";
    this.facts.replaceChildren(make("strong", {}, `${count(known.count)} events`), `, ${duration(known.total)} in total; at least one event active for `, make("strong", {}, `${duration(known.busy)}${share}`));
    const longest = Math.max(1, ...(this.by === "name" ? known.names : known.rows).map(({ total }) => total));
    const figures = [
      { title: "Total", copied: "Total (ns)", numeric: true, words: (cell: unknown) => duration(Number(cell)), bar: (cell: unknown) => Number(cell) / longest },
      { title: "Events", numeric: true, words: (cell: unknown) => count(Number(cell)) },
      { title: "Mean", copied: "Mean (ns)", numeric: true, words: (cell: unknown) => duration(Number(cell)) },
    ];
    const mean = (total: number, events: number): number => (events > 0 ? Math.round(total / events) : 0);
    this.grid.fill({
      label: this.by === "name" ? "Selection by name" : "Selection by row",
      columns: [{ title: this.by === "name" ? "Name" : "Row", numeric: false }, ...figures],
      rows: this.by === "name" ? known.names.map(({ id, name, total, count: events }) => [name || "(no name)", total, events, mean(total, events), id]) : known.rows.map(({ row, total, count: events }) => [pathOf(rows, row), total, events, mean(total, events), row]),
      lead: 0,
      act: (cells) => {
        const chosen = span?.rows ?? rows.filter(({ parent }) => parent < 0).map(({ id }) => id);
        this.app.listEvents(this.by === "name" ? { of: "rows", rows: chosen, name: Number(cells[4]), inSpan: true } : { of: "rows", rows: [Number(cells[4])], inSpan: true });
      },
    });
  }
}
