// The figures of a selected step: where its time went (step_breakdown), and those of step_sum. Both are in the summary already, of all
// but very long runs; else the engine is asked for the span of the step.

import type { App } from "../app";
import type { Cell, Column, EventDetails, Table } from "../engine/engine";
import { count } from "../units";
import { make } from "../ui/dom";
import { percent, time } from "./summary/summary_lines";

const REPORTS = ["step_breakdown", "step_sum"] as const;
/** Columns that say which step it is, not how it went. */
const PLACE = new Set(["Step", "Start", "PID", "Rank", "Name"]);

type Figures = { columns: readonly Column[]; row: readonly Cell[] };

/** The row of the step that begins at a time. */
function rowAt(table: Table | undefined, from: number): Figures | null {
  const start = table?.columns.findIndex(({ name }) => name === "Start") ?? -1;
  const row = table?.rows.find((cells) => cells[start] === from);
  return table && row ? { columns: table.columns, row } : null;
}

async function figuresOf(app: App, report: string, { from, to }: EventDetails): Promise<Figures | null> {
  const known = rowAt(app.state.summary?.tables.find((table) => table.report === report), from);
  if (known) return known;
  if (!app.state.about.reports.some(({ name }) => name === report)) return null;
  return rowAt(await app.state.engine.table(report, { from, to }, 100), from);
}

function valueOf({ unit }: Column, cell: Cell): string {
  return typeof cell !== "number" ? String(cell) : unit === "ns" ? time(cell) : count(cell);
}

/** All figures of step_sum; of step_breakdown the parts that took time, as shares of the step. */
function listOf({ columns, row }: Figures, isParts: boolean): HTMLElement {
  const whole = Number(row[columns.findIndex(({ name }) => name === "Time")] ?? 0);
  const list = make("dl", { class: "fields step-figures" });
  columns.forEach((column, at) => {
    const cell = row[at] ?? null;
    if (PLACE.has(column.name) || cell === null || (isParts && (cell === 0 || column.name === "Communication"))) return;
    const share = isParts && column.name !== "Time" && whole > 0 ? ` (${percent((100 * Number(cell)) / whole)})` : "";
    list.append(make("dt", {}, column.name), make("dd", {}, valueOf(column, cell), make("span", { class: "muted" }, share)));
  });
  return list;
}

/** Filled in when the figures are known; null for an event that is no step. */
export function stepFigures(app: App, details: EventDetails): HTMLElement | null {
  if (app.state.rows.find(({ id }) => id === details.row)?.type !== "steps") return null;
  const box = make("div", { class: "step-details" });
  const titles = { step_breakdown: "Where its time went", step_sum: "Figures of the step" };
  void Promise.all(REPORTS.map((report) => figuresOf(app, report, details))).then(
    (all) => {
      all.forEach((figures, index) => {
        const report = REPORTS[index]!;
        if (figures) box.append(make("section", { class: "part" }, make("h3", {}, titles[report]), listOf(figures, report === "step_breakdown")));
      });
    },
    (error: Error) => app.fail(error),
  );
  return box;
}
