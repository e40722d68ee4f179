// Where the time of a step goes: its parts as one bar and a list, and each step as a bar of its own. Without steps it is the time
// from the first work of the GPU to its last: busy, and idle by cause.

import type { App } from "../../app";
import type { Event, Summary } from "../../engine/engine";
import { count } from "../../units";
import { make } from "../../ui/dom";
import { partVariable, stateVariable, UNKNOWN_CAUSE } from "../../ui/tones";
import { card, goTo, line, list, numberOf, percent, rowsOf, tableOf, textOf, time, type Line } from "./summary_lines";

interface Part {
  name: string;
  colour: string;
  ns: number;
  place: Event | null;
}

/** Parts of less are only in the bar. */
const LEAST_SHARE = 0.005;
/** Of the height of a bar: longer steps are cut. */
const MOST_OF_MEDIAN = 3;

/** Of work, or of the cause for which a GPU is idle, as in the row "Why idle". */
const colourOf = ({ kind, state }: Summary["parts"][number]): string => (kind ? partVariable(kind) : stateVariable(state ?? UNKNOWN_CAUSE));

/** Where a cause took the most time at once. */
function placeOf(summary: Summary, cause: string | undefined): Event | null {
  return rowsOf(tableOf(summary, "gpu_idle_sum")).find(({ cells }) => cells["Cause"] === cause)?.place ?? null;
}

function stepParts(summary: Summary): Part[] {
  const kernel = tableOf(summary, "cuda_gpu_kern_sum")?.places[0] ?? null;
  return summary.parts.map((part) => ({ name: part.name.replace(/^Idle: /, ""), colour: colourOf(part), ns: part.mean, place: part.kind === "compute" ? kernel : placeOf(summary, part.cause) }));
}

/** Of a run without steps. */
function runParts(summary: Summary): Part[] {
  const gpus = rowsOf(tableOf(summary, "cuda_gpu_busy"));
  const busy = gpus.reduce((sum, { cells }) => sum + numberOf(cells["Busy Time"]), 0);
  const byCause = new Map<string, Part>();
  for (const { cells, place } of rowsOf(tableOf(summary, "gpu_idle_sum"))) {
    const cause = textOf(cells["Cause"]);
    const part = byCause.get(cause) ?? { name: cause, colour: stateVariable(summary.causes[cause] ?? UNKNOWN_CAUSE), ns: 0, place };
    part.ns += numberOf(cells["Total Time"]);
    byCause.set(cause, part);
  }
  return busy > 0 ? [{ name: "Busy", colour: partVariable("compute"), ns: busy, place: gpus[0]?.place ?? null }, ...byCause.values()] : [];
}

function stack(parts: readonly Part[], whole: number): HTMLElement {
  const bar = make("div", { class: "stack", "aria-hidden": "true" });
  for (const { colour, ns, name } of parts) {
    if (ns <= 0) continue;
    const piece = make("span", { title: `${name}: ${time(ns)}` });
    piece.style.background = colour;
    piece.style.flexGrow = String(ns / whole);
    bar.append(piece);
  }
  return bar;
}

/** A bar for each step, as high as it is long. One of them has the keyboard; arrows go through the others. */
function stepBars(app: App, summary: Summary): HTMLElement | null {
  const table = tableOf(summary, "step_breakdown");
  const steps = rowsOf(table);
  if (!table || steps.length < 2) return null;
  const times = steps.map(({ cells }) => numberOf(cells["Time"]));
  const median = [...times].sort((a, b) => a - b)[times.length >> 1]!;
  const highest = Math.min(Math.max(...times), MOST_OF_MEDIAN * median); // a first step that loads everything must not hide the others
  const longer = times.filter((ns) => ns > highest).length;
  const colours = summary.parts.map(colourOf);
  const bars = make("div", { class: "step-bars", role: "group", "aria-label": "Steps" });
  steps.forEach(({ cells, place }, index) => {
    const words = `Step ${textOf(cells["Step"])}: ${time(numberOf(cells["Time"]))}`;
    const bar = make("button", { type: "button", class: "step-bar", title: words, "aria-label": words, tabindex: index === 0 ? 0 : -1 });
    const tower = make("span", { class: "tower" });
    tower.style.height = `${Math.min(100, (100 * numberOf(cells["Time"])) / highest)}%`;
    tower.classList.toggle("longer", numberOf(cells["Time"]) > highest);
    for (const [at, { column }] of summary.parts.entries()) {
      const ns = numberOf(cells[column]);
      if (ns <= 0) continue;
      const piece = make("span", {});
      piece.style.background = colours[at]!;
      piece.style.flexGrow = String(ns);
      tower.append(piece);
    }
    bar.append(tower);
    bar.addEventListener("click", () => place && goTo(app, place));
    bars.append(bar);
  });
  bars.addEventListener("keydown", (event) => walk(bars, event));
  const shown = steps.length < table.total ? `the first ${count(steps.length)} of ${count(table.total)} steps` : `${count(steps.length)} steps`;
  return make("figure", { class: "steps" }, bars, make("figcaption", { class: "muted" }, `${shown}, up to ${time(highest)}${longer > 0 ? `; ${count(longer)} longer` : ""}`));
}

function walk(bars: HTMLElement, event: KeyboardEvent): void {
  const all = [...bars.children] as HTMLElement[];
  const at = all.indexOf(event.target as HTMLElement);
  const to: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 };
  const next = all[Math.max(0, Math.min(all.length - 1, to[event.key] ?? -1))];
  if (to[event.key] === undefined || !next) return;
  event.preventDefault();
  event.stopPropagation();
  all[at]!.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

export function partsCard(app: App, summary: Summary): HTMLElement | null {
  const hasSteps = summary.parts.length > 0;
  const parts = hasSteps ? stepParts(summary) : summary.complete ? runParts(summary) : [];
  const whole = parts.reduce((sum, { ns }) => sum + ns, 0);
  if (whole <= 0) return null;
  const lines = parts
    .filter(({ ns }) => ns / whole >= LEAST_SHARE)
    .map(({ name, colour, ns, place }): Line => ({ figures: [time(ns), percent((100 * ns) / whole)], colour, name, place }));
  const bars = hasSteps ? stepBars(app, summary) : null;
  return card(hasSteps ? "Time of a step" : "Time of the GPU", stack(parts, whole), list(lines.map((one) => line(app, one)), "12px auto auto"), ...(bars ? [bars] : []));
}
