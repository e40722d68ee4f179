// The tables of `tacho stats` for exactly the span that is selected on the timeline, or for all of the report without one. A line
// goes to the next event of its name, so that a table leads back to the picture.

import type { Change } from "../app";
import type { Cell, Column, Filter, Table } from "../engine/engine";
import { bytes, count, duration, moment } from "../units";
import { button, choice, make } from "./dom";
import { Grid, type GridColumn } from "./grid";
import { isText, recall, remember } from "./memory";
import { Latest, Panel } from "./panel";

const MOST_ROWS = 100_000;

const WORDS: Partial<Record<Column["unit"], (value: number, column: Column) => string>> = {
  ns: (value) => duration(value),
  bytes: (value) => bytes(value),
  percent: (value, column) => `${value.toFixed(Math.max(1, column.decimals))} %`,
  id: (value) => String(value),
};

function look(column: Column): GridColumn {
  const numeric = column.kind !== "text";
  const words = (cell: Cell): string => {
    if (typeof cell !== "number") return String(cell);
    const how = WORDS[column.unit];
    return how ? how(cell, column) : count(column.kind === "real" ? Number(cell.toFixed(column.decimals)) : cell);
  };
  const percent = column.unit === "percent";
  return { title: column.name, numeric, words, ...(percent ? { bar: (cell: Cell) => (typeof cell === "number" ? cell / 100 : 0) } : {}) };
}

export class TablesPanel extends Panel {
  readonly name = "tables";
  readonly title = "Tables";
  protected readonly shows: readonly Change[] = ["span", "about"];
  private readonly latest = new Latest();
  private readonly place = make("p", { class: "tables-span", role: "status" });
  private readonly bar = make("div", { class: "bar" });
  private grid!: Grid;
  private report = recall("tables.report", isText, "");

  protected build(): void {
    this.grid = new Grid((error) => this.app.fail(error));
    this.element.append(this.bar, this.grid.element);
  }

  override focus(): void {
    this.grid.focus();
  }

  protected draw(): void {
    const { about, span } = this.app.state;
    if (about.reports.length === 0) {
      this.bar.replaceChildren(make("p", { class: "empty" }, "This report has no data for any table."));
      return;
    }
    if (!about.reports.includes(this.report)) this.report = about.reports[0]!;
    const reports = choice("Table", about.reports.map((report) => [report, report.replaceAll("_", " ")]), this.report, (report) => {
      this.report = report;
      remember("tables.report", report);
      this.redraw();
    });
    this.place.replaceChildren(span ? `${duration(span.to - span.from)} from ${moment(span.from)}` : "Whole report");
    const whole = button("Whole report", () => this.app.set({ span: null }), { class: "quiet", title: "Let go of the span" });
    this.bar.replaceChildren(reports, this.place, ...(span ? [whole] : []), this.grid.tools);
    void this.fill();
  }

  private async fill(): Promise<void> {
    const { engine, span } = this.app.state;
    const filter: Filter = span ? { from: span.from, to: span.to } : {};
    this.element.setAttribute("aria-busy", "true");
    try {
      const table = await this.latest.of(engine.table(this.report, filter, MOST_ROWS));
      if (table) this.show(table, filter);
    } catch (error) {
      this.grid.fill({ label: this.report, columns: [{ title: "Message", numeric: false }], rows: [[(error as Error).message]] });
    }
    this.element.removeAttribute("aria-busy");
  }

  private show(table: Table, filter: Filter): void {
    const { name_column: names } = table;
    if (table.total > table.rows.length) this.place.append(`; the first ${count(table.rows.length)} of ${count(table.total)} rows`);
    this.grid.fill({
      label: table.title,
      columns: table.columns.map(look),
      rows: table.rows,
      ...(names === null ? {} : { act: (row: readonly Cell[]) => void this.goTo(String(row[names]), filter) }),
    });
  }

  /** The next event of that name behind the selected one, and at the end the first again; inside the span where there is one. */
  private async goTo(name: string, filter: Filter): Promise<void> {
    const { engine, details } = this.app.state;
    const query = { text: name, mode: "exact", case: true } as const;
    const start = (filter.from ?? this.app.state.about.from) - 1;
    const inside = (time: number): boolean => time >= start && time < (filter.to ?? Infinity);
    try {
      const after = details && details.name === name && inside(details.from) ? details : undefined;
      let event = await engine.next(query, after?.from ?? start, false, after);
      if (after && (!event || !inside(event.from))) event = await engine.next(query, start, false);
      if (event) this.app.select(event, event);
      else this.app.fail(new Error("No event of the timeline has this name."));
    } catch (error) {
      this.app.fail(error as Error);
    }
  }
}
