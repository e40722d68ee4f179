// Where the time of a step goes: its parts as one bar and a list, and below them a bar for each step (step_bars.ts). Without steps it
// is the time from the first work of the GPU to its last: busy, and idle by cause.

import type { App } from "../../app";
import type { Event, Summary } from "../../engine/engine";
import { make } from "../../ui/dom";
import { partVariable, stateVariable, UNKNOWN_CAUSE } from "../../ui/tones";
import { colourOf, stepBars } from "./step_bars";
import { card, line, list, numberOf, percent, rowsOf, tableOf, textOf, time, type Line } from "./summary_lines";

interface Part {
  name: string;
  colour: string;
  ns: number;
  place: Event | null;
}

/** Parts of less are only in the bar. */
const LEAST_SHARE = 0.005;

/** Where a cause took the most time at once. */
function placeOf(summary: Summary, cause: string | undefined): Event | null {
  return rowsOf(tableOf(summary, "gpu_idle_sum")).find(({ cells }) => cells["Cause"] === cause)?.place ?? null;
}

function stepParts(summary: Summary): Part[] {
  const kernel = tableOf(summary, "cuda_gpu_kern_sum")?.places[0] ?? null;
  return summary.parts.map((part) => ({ name: part.name, colour: colourOf(part), ns: part.mean, place: part.kind === "compute" ? kernel : placeOf(summary, part.cause) }));
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

export function partsCard(app: App, summary: Summary): HTMLElement | null {
  const hasSteps = summary.parts.length > 0;
  const parts = hasSteps ? stepParts(summary) : summary.complete ? runParts(summary) : [];
  const whole = parts.reduce((sum, { ns }) => sum + ns, 0);
  if (whole <= 0) return null;
  const lines = parts
    .filter(({ ns }) => ns / whole >= LEAST_SHARE)
    .map(({ name, colour, ns, place }): Line => ({ figures: [percent((100 * ns) / whole), time(ns)], colour, name, place }));
  const bars = hasSteps ? stepBars(app, summary) : null;
  return card(hasSteps ? "Time of the mean step" : "GPU time breakdown", stack(parts, whole), list(lines.map((one) => line(app, one)), "12px auto auto"), ...(bars ? [bars] : []));
}
