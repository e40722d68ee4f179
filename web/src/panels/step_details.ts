// The figures of a selected step: where its time went (step_breakdown), those of step_sum, and how well it used the GPU (step_flops).
// The first two are in the summary already, of all but very long runs; else the engine is asked for the span of the step.

import type { App } from "../app";
import type { Cell, Column, EventDetails, Table } from "../engine/engine";
import { count, flops } from "../units";
import { make } from "../ui/dom";
import { percent, time } from "./summary/summary_lines";

const REPORTS = [
  { report: "step_breakdown", title: "Step time breakdown", left: ["Communication"] },
  { report: "step_sum", title: "Step metrics", left: [] },
  { report: "step_flops", title: "FLOPs and utilization", left: ["Time"] },
] as const;
/** Columns that say which step it is, not how it went. */
const PLACE = new Set(["Step", "Start", "PID", "Rank", "Name"]);

type Figures = { columns: readonly Column[]; row: readonly Cell[] };

/** The row of a step: the one that begins with it; of a table without times the only one of its name, as ranks have the same names. */
function rowOf(table: Table | undefined, { from, name: step }: EventDetails): Figures | null {
  const at = (column: string): number => table?.columns.findIndex(({ name }) => name === column) ?? -1;
  const rows = table?.rows.filter((cells) => (at("Start") >= 0 ? cells[at("Start")] === from : cells[at("Name")] === step)) ?? [];
  return table && rows[0] && (at("Start") >= 0 || rows.length === 1) ? { columns: table.columns, row: rows[0] } : null;
}

async function figuresOf(app: App, report: string, step: EventDetails): Promise<Figures | null> {
  const known = rowOf(app.state.summary?.tables.find((table) => table.report === report), step);
  if (known) return known;
  if (!app.state.about.reports.some(({ name }) => name === report)) return null;
  return rowOf(await app.state.engine.table(report, { from: step.from, to: step.to }, 100), step);
}

function valueOf({ unit, name, decimals }: Column, cell: Cell): string {
  if (typeof cell !== "number") return String(cell);
  return unit === "ns" ? time(cell) : unit === "percent" ? percent(cell) : name.endsWith(" FLOPs") ? flops(cell) : count(Number(cell.toFixed(decimals)));
}

/** All figures; of step_breakdown the parts that took time, as shares of the step. */
function listOf({ columns, row }: Figures, isParts: boolean, left: readonly string[]): HTMLElement {
  const whole = Number(row[columns.findIndex(({ name }) => name === "Time")] ?? 0);
  const list = make("dl", { class: "fields step-figures" });
  columns.forEach((column, at) => {
    const cell = row[at] ?? null;
    if (PLACE.has(column.name) || left.includes(column.name) || cell === null || (isParts && cell === 0)) return;
    const share = isParts && column.name !== "Time" && whole > 0 ? ` (${percent((100 * Number(cell)) / whole)})` : "";
    list.append(make("dt", {}, column.name), make("dd", {}, valueOf(column, cell), make("span", { class: "muted" }, share)));
  });
  return list;
}

/** Filled in when the figures are known; null for an event that is no step. */
export function stepFigures(app: App, details: EventDetails): HTMLElement | null {
  if (app.state.rows.find(({ id }) => id === details.row)?.type !== "steps") return null;
  const box = make("div", { class: "step-details" });
  void Promise.all(REPORTS.map(({ report }) => figuresOf(app, report, details))).then(
    (all) => {
      all.forEach((figures, index) => {
        const { report, title, left } = REPORTS[index]!;
        if (figures) box.append(make("section", { class: "part" }, make("h3", {}, title), listOf(figures, report === "step_breakdown", left)));
      });
    },
    (error: Error) => app.fail(error),
  );
  return box;
}
