// What the cards of the summary share: tables by the name of their report, lines that lead to a place, bars of shares.

import type { App } from "../../app";
import type { Cell, Event, Span, Summary } from "../../engine/engine";
import { duration } from "../../units";
import { button, make, type Child } from "../../ui/dom";
import { cut } from "../../ui/text";

export type SummaryTable = Summary["tables"][number];

export function tableOf(summary: Summary, report: string): SummaryTable | null {
  return summary.tables.find((table) => table.report === report) ?? null;
}

/** The rows of a table as objects by the names of the columns, with their places. */
export function rowsOf(table: SummaryTable | null): { cells: Record<string, Cell>; place: Event | null }[] {
  return (table?.rows ?? []).map((row, index) => ({
    cells: Object.fromEntries(table!.columns.map((column, at) => [column.name, row[at] ?? null])),
    place: table!.places[index] ?? null,
  }));
}

export const numberOf = (cell: Cell | undefined): number => (typeof cell === "number" ? cell : 0);
export const textOf = (cell: Cell | undefined): string => (cell === null || cell === undefined ? "" : String(cell));

/** Selects the event, or the span of time where there is none. */
export function goTo(app: App, place: Event): void {
  if (place.row >= 0) {
    app.set({ span: null }); // what was selected before is not what is meant now
    app.select(place, place);
    return;
  }
  const span: Span = { from: place.from, to: place.to };
  app.set(span.to > span.from ? { span, view: app.around(span) } : { view: app.around(span) });
}

export interface Line {
  /** On the right of their columns. */
  figures: readonly string[];
  /** The share of the longest bar, 0 … 1. */
  share?: number;
  /** Of its mark. */
  colour?: string;
  name: string;
  /** The whole name, where `name` is short. */
  full?: string;
  /** A second line: where in the program. */
  where?: string;
  place: Event | null;
}

/** A line of figures and a name; a button where it leads somewhere. */
export function line(app: App, { figures, share, colour, name, full, where, place }: Line): HTMLElement {
  const parts: Child[] = figures.map((figure) => make("span", { class: "figure" }, figure));
  const words = make("bdi", { dir: "auto", class: "line" }, cut(name, 300));
  const text = make("span", { class: "summary-text" }, words);
  if (where) text.append(make("bdi", { dir: "auto", class: "line where" }, cut(where, 300)));
  const title = cut(full ?? name, 1_000);
  if (colour !== undefined) {
    const swatch = make("span", { class: "swatch" });
    swatch.style.background = colour;
    parts.unshift(swatch);
  }
  if (share !== undefined) {
    const bar = make("span", { class: "share", "aria-hidden": "true" });
    bar.style.setProperty("--share", String(Math.min(1, Math.max(0, share))));
    parts.push(bar);
  }
  if (!place) return make("div", { class: "summary-line", title }, ...parts, text);
  const element = button("", () => goTo(app, place), { class: "summary-line leads", title: `Go to ${title}` });
  element.append(...parts, text);
  element.removeAttribute("aria-label"); // its text says it
  return element;
}

/** Lines below each other, their figures in columns. */
export function list(lines: readonly HTMLElement[], columns: string): HTMLElement {
  const element = make("ul", { class: "summary-list" }, ...lines.map((one) => make("li", {}, one)));
  element.style.setProperty("--columns", columns);
  return element;
}

export function card(title: string, ...children: Child[]): HTMLElement {
  return make("section", { class: "summary-card", "aria-label": title }, make("h3", {}, title), ...children);
}

export const percent = (value: number): string => `${value.toFixed(value > 0 && value < 9.95 ? 1 : 0)} %`;
export const time = (ns: number): string => (Math.abs(ns) >= 100e9 || ns === 0 ? duration(ns) : short(ns));

/** Three digits: what a person compares. */
function short(ns: number): string {
  const units: readonly (readonly [number, string])[] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const size = Math.abs(ns);
  const [one, unit] = units.find(([least]) => Number((size / least).toPrecision(3)) >= 1) ?? units[3]!;
  return `${one === 1 ? String(Math.round(ns)) : (ns / one).toPrecision(3)} ${unit}`;
}
