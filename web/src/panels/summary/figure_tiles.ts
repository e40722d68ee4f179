// The figures of the run in one line: the step, how busy the GPU was, time, memory.

import type { Summary } from "../../engine/engine";
import { bytes } from "../../units";
import { make } from "../../ui/dom";
import { numberOf, percent, rowsOf, tableOf, textOf, time } from "./summary_lines";

interface Tile {
  name: string;
  figure: string;
  note?: string;
  /** What exactly is measured, where the name alone may mislead. */
  what?: string;
  /** 0 … 100 */
  meter?: number;
}

function runTime(summary: Summary, name: string): number | null {
  const row = rowsOf(tableOf(summary, "run_sum")).find(({ cells }) => cells["Name"] === name);
  return row ? numberOf(row.cells["Time"]) : null;
}

/** Before the mean step is known, the GPU with the most work tells how busy they are. */
function busy(summary: Summary): Tile[] {
  const { figures } = summary;
  if (figures && figures.busy !== null) {
    const of = figures.steps > 0 ? "of the steps" : "of the GPU's part of the run";
    return [{ name: "GPU busy", figure: percent(figures.busy), note: of, meter: figures.busy }];
  }
  return rowsOf(tableOf(summary, "cuda_gpu_busy"))
    .slice(0, 1)
    .map(({ cells }) => ({ name: "GPU busy", figure: percent(numberOf(cells["Busy"])), note: `of ${time(numberOf(cells["Span"]))} · ${textOf(cells["Name"])}`, meter: numberOf(cells["Busy"]) }));
}

function tilesOf(summary: Summary): Tile[] {
  const { figures, memory } = summary;
  const list = busy(summary);
  if (figures && figures.steps > 0) list.push({ name: "Step", figure: time(figures.step), note: `mean ${figures.words}`, what: "Mean time from the completion of one step, GPU work included, to the completion of the next" });
  if (figures && figures.mfu !== null) list.push({ name: "MFU", figure: percent(figures.mfu), note: `of ${Math.round((figures.peak ?? 0) / 1e12)} TFLOP/s peak`, meter: figures.mfu });
  if (figures && figures.tensor !== null) {
    const unknown = (figures.unknown ?? 0) > 1 ? `; ${percent(figures.unknown!)} unknown` : "";
    list.push({ name: "Tensor cores", figure: percent(figures.tensor), note: `of kernel time${unknown}`, meter: figures.tensor });
  }
  const [recorded, whole, cpu] = [runTime(summary, "Recorded time"), runTime(summary, "Process time"), runTime(summary, "CPU time")];
  if (cpu !== null && whole !== null && whole > 0) list.push({ name: "CPU time", figure: time(cpu), note: `${(cpu / whole).toFixed(2)} CPUs busy on average in the process time` });
  if (recorded !== null) list.push({ name: "Recorded time", figure: time(recorded), what: "How long recording was on: the whole capture, or its ranges. The timeline shows the time in which there are events." });
  if (whole !== null) list.push({ name: "Process time", figure: time(whole), what: "From the start of the program to its end, whatever was recorded of it" });
  if (memory) list.push({ name: "Peak memory", figure: bytes(memory.bytes), note: memory.device });
  return list;
}

export function tiles(summary: Summary): HTMLElement {
  const list = make("dl", { class: "summary-tiles" });
  for (const { name, figure, note, what, meter } of tilesOf(summary)) {
    const tile = make("div", { class: "tile" }, make("dt", {}, name), make("dd", { class: "figure" }, figure));
    tile.title = [what, note].filter(Boolean).join("\n"); // the note may be cut off
    if (note) tile.append(make("dd", { class: "note" }, make("bdi", {}, note)));
    if (meter !== undefined) {
      const bar = make("dd", { class: "meter", "aria-hidden": "true" });
      bar.style.setProperty("--share", String(Math.min(100, Math.max(0, meter)) / 100));
      tile.append(bar);
    }
    list.append(tile);
  }
  return list;
}
