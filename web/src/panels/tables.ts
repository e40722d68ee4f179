// The tables of `tacho stats` for exactly the span that is selected on the timeline, or for all of the report without one. A line
// goes to the next event of its name, so that a table leads back to the picture.

import type { Change } from "../app";
import type { Cell, Column, Event, Filter, NoteTable, Table } from "../engine/engine";
import { bytes, count, duration, moment } from "../units";
import { button, choice, make } from "../ui/dom";
import { Grid, type GridColumn } from "./grid";
import { isText, recall, remember } from "../ui/memory";
import { Latest, Panel } from "./panel";
import { partChoice, partOf } from "./parts";

const PARTS = ["process", "thread", "gpu", "stream"] as const;

/** How many rows are fetched at first, and at each further step as the reader comes to their end or wants all of them. The engine works
 * the whole table out each time, so that the steps are large. */
const STEPS = [1_000, 10_000, 100_000] as const;
const MOST_ROWS = STEPS[STEPS.length - 1]!;

/** What is shown first, where the report has it. */
const FIRST = ["cuda_gpu_kern_sum", "nvtx_pushpop_sum", "torch_events", "cpu_sample_sum", "osrt_sum"];

/** As `tacho stats` writes them behind a column's name. */
const SUFFIXES: Partial<Record<Column["unit"], string>> = { ns: " (ns)", time: " (ns)", percent: " (%)", megabytes: " (MB)", bytes: " (B)" };

const WORDS: Partial<Record<Column["unit"], (value: number, column: Column) => string>> = {
  ns: (value) => duration(value),
  time: (value) => moment(value),
  bytes: (value) => bytes(value),
  percent: (value, column) => `${value.toFixed(Math.max(1, column.decimals))} %`,
  id: (value) => String(value),
};

export function look(column: Column, goTo: (time: number) => void): GridColumn {
  const numeric = column.kind !== "text";
  const words = (cell: Cell): string => {
    if (typeof cell !== "number") return String(cell);
    const how = WORDS[column.unit];
    return how ? how(cell, column) : count(column.kind === "real" ? Number(cell.toFixed(column.decimals)) : cell);
  };
  const shown: GridColumn = { title: column.name, copied: column.name + (SUFFIXES[column.unit] ?? ""), numeric, words };
  if (column.kind === "real") shown.copiedCell = (cell) => (typeof cell === "number" ? cell.toFixed(column.decimals) : String(cell));
  if (column.unit === "percent") shown.bar = (cell) => (typeof cell === "number" ? cell / 100 : 0);
  if (column.unit === "time") shown.link = (cell) => goTo(Number(cell));
  return shown;
}

export class TablesPanel extends Panel {
  readonly name = "tables";
  readonly title = "Tables";
  protected readonly shows: readonly Change[] = ["span"];
  private readonly latest = new Latest();
  private readonly place = make("p", { class: "tables-span", role: "status" });
  private readonly bar = make("div", { class: "bar" });
  private grid!: Grid;
  private part: Filter = {};
  private parts!: HTMLSelectElement;
  private report = recall("tables.report", isText, "");

  protected build(): void {
    this.grid = new Grid((error) => this.app.fail(error));
    this.parts = partChoice(this.app.state.rows, PARTS, "All processes and GPUs", (part) => {
      this.part = part;
      this.redraw();
    });
    this.element.append(this.bar, this.grid.element);
  }

  /** Shows a table by its name. */
  choose(report: string): void {
    this.report = report;
    remember("tables.report", report);
    this.redraw();
  }

  override keptTable(): NoteTable | null {
    return this.report === "" ? null : { report: this.report, part: this.part };
  }

  override restoreTable(table: NoteTable): boolean {
    if (!("report" in table)) return false;
    this.part = table.part;
    this.parts.value = partOf(this.app.state.rows, PARTS, table.part);
    if (this.app.state.about.reports.some(({ name }) => name === table.report)) this.report = table.report;
    this.redraw();
    return true;
  }

  override focus(): void {
    this.grid.focus();
  }

  protected draw(): void {
    const { about, span } = this.app.state;
    const reports = about.reports.map(({ name }) => name);
    if (reports.length === 0) {
      this.bar.replaceChildren(make("p", { class: "empty" }, "This report has no data for tables."));
      return;
    }
    if (!reports.includes(this.report)) this.report = FIRST.find((report) => reports.includes(report)) ?? reports[0]!;
    const titles = about.reports.map(({ name, title }) => [name, title] as const).sort(([, a], [, b]) => (a < b ? -1 : 1));
    const chosen = choice("Table", titles, this.report, (report) => this.choose(report));
    this.place.replaceChildren(span ? `${duration(span.to - span.from)} from ${moment(span.from)}` : "Whole report");
    const whole = button("Whole report", () => this.app.set({ span: null }), { class: "quiet", title: "Clear selection" });
    const name = make("code", { class: "report-name", title: `In the terminal: tacho stats -r ${this.report}` }, this.report);
    this.bar.replaceChildren(chosen, name, this.parts, this.place, ...(span ? [whole] : []), this.grid.tools);
    void this.fill();
  }

  private async fill(): Promise<void> {
    const { engine, span } = this.app.state;
    const filter: Filter = { ...span, ...this.part };
    this.element.setAttribute("aria-busy", "true");
    try {
      const table = await this.latest.of((signal) => engine.table(this.report, filter, STEPS[0], signal));
      if (table) this.show(table, filter);
    } catch (error) {
      this.grid.fill({ label: this.report, columns: [{ title: "Message", numeric: false }], rows: [[(error as Error).message]] });
    }
    if (!this.latest.isOpen) this.element.removeAttribute("aria-busy");
  }

  private show(table: Table, filter: Filter): void {
    const { name_column: names } = table;
    const times = table.columns.findIndex((column) => column.unit === "time");
    const { engine } = this.app.state;
    if (table.total > MOST_ROWS) this.place.append(`; the first ${count(MOST_ROWS)} of ${count(table.total)} rows`);
    this.grid.fill({
      label: table.title,
      columns: table.columns.map((column) => look(column, (time) => this.app.set({ view: this.app.around({ from: time, to: time }) }))),
      rows: table.rows,
      total: Math.min(table.total, MOST_ROWS),
      more: async (rows) => (await engine.table(table.report, filter, STEPS.find((step) => step >= rows) ?? MOST_ROWS)).rows,
      lead: names ?? undefined,
      ...(names === null ? {} : { act: (row: readonly Cell[]) => void this.goTo(String(row[names]), filter, times < 0 ? null : row[times]) }),
    });
  }

  /** The event of that name at that time; where the line tells none, the next one behind the selected event, and at the end the first
   * again. An event that began before the span and reaches into it counts, as in the table. */
  private async goTo(name: string, filter: Filter, time?: Cell): Promise<void> {
    const { engine, details, about } = this.app.state;
    const query = { text: name, mode: "exact", case: true } as const;
    const from = typeof time === "number" ? time : (filter.from ?? about.from);
    const inside = (event: Event | null): event is Event => event !== null && event.to >= from && event.from <= (filter.to ?? Infinity);
    const exact = typeof time === "number";
    const after = !exact && details?.name === name && inside(details) ? details : null;
    try {
      const steps = [
        async () => (after ? engine.next(query, after.from, false, after) : null),
        async () => (exact ? null : engine.next(query, from, true)),
        () => engine.next(query, from - 1, false),
      ];
      for (const step of steps) {
        const event = await step();
        if (!inside(event)) continue;
        this.app.select(event, event);
        return;
      }
      this.app.fail(new Error("No event with this name in this part of the timeline."));
    } catch (error) {
      this.app.fail(error as Error);
    }
  }
}
