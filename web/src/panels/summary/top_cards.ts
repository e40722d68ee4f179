// The first rows of the tables that tell most: why GPUs were idle, kernels, operators, functions, waits, calls, memory.

import type { App } from "../../app";
import type { Cell, Summary } from "../../engine/engine";
import { bytes, count } from "../../units";
import { make } from "../../ui/dom";
import { stateVariable, UNKNOWN_CAUSE } from "../../ui/tones";
import { card, line, list, numberOf, percent, rowsOf, tableOf, textOf, time, type Line } from "./summary_lines";

type Cells = Record<string, Cell>;

interface Top {
  report: string;
  title: string;
  rows: number;
  line: (cells: Cells, summary: Summary) => Omit<Line, "place">;
  /** Rows that say nothing are left out. */
  tells?: (cells: Cells) => boolean;
}

/** "void cudnn::bn_bw_1C11_kernel_new<float, …>(float, …)" as "cudnn::bn_bw_1C11_kernel_new". */
export function shortName(name: string): string {
  let [depth, out] = [0, ""];
  for (const char of name.replace(/^void /, "").replace(/(\(anonymous namespace\)|<unnamed>)::/g, "")) {
    if (char === "(" && depth === 0 && out !== "") break;
    if (char === "<") depth++;
    else if (char === ">" && depth > 0) depth--;
    else if (depth === 0) out += char;
  }
  return out.trim() || name;
}

const base = (path: string): string => path.split("/").pop() ?? path;
const share = (cells: Cells, column: string): number => numberOf(cells[column]) / 100;

const TOPS: readonly Top[] = [
  {
    report: "gpu_idle_sum",
    title: "Why the GPU was idle, whole run",
    rows: 6,
    line: (cells, { causes }) => {
      const cause = textOf(cells["Cause"]);
      return {
        figures: [percent(numberOf(cells["Time"])), time(numberOf(cells["Total Time"]))],
        share: share(cells, "Time"),
        colour: stateVariable(causes[cause] ?? UNKNOWN_CAUSE),
        name: cause,
        where: textOf(cells["Where"]) || "line not recorded",
      };
    },
  },
  {
    report: "cuda_gpu_kern_sum",
    title: "Top kernels",
    rows: 6,
    line: (cells) => ({ figures: [percent(numberOf(cells["Time"])), time(numberOf(cells["Total Time"]))], share: share(cells, "Time"), name: shortName(textOf(cells["Name"])), full: textOf(cells["Name"]), where: `${count(numberOf(cells["Instances"]))} × ${time(numberOf(cells["Avg"]))}` }),
  },
  {
    report: "wall_sum",
    title: "Where the wall time went",
    rows: 6,
    tells: (cells) => numberOf(cells["Time"]) >= 0.5,
    line: (cells) => {
      const [state, call] = [textOf(cells["State"]), textOf(cells["Call"])];
      return {
        figures: [percent(numberOf(cells["Time"])), time(numberOf(cells["Wall Time"]))],
        share: share(cells, "Time"),
        name: textOf(cells["Where"]) || textOf(cells["Process"]),
        where: call === "" ? state : `${state}: ${call}`,
      };
    },
  },
  {
    report: "torch_op_sum",
    title: "Top operators",
    rows: 6,
    tells: (cells) => numberOf(cells["Self CUDA"]) > 0 || numberOf(cells["Self CPU"]) > 0,
    line: (cells) => ({ figures: [percent(numberOf(cells["Time"])), time(numberOf(cells["Self CUDA"]))], share: share(cells, "Time"), name: textOf(cells["Name"]), where: `${count(numberOf(cells["Calls"]))} calls · ${time(numberOf(cells["Self CPU"]))} on the CPU` }),
  },
  {
    report: "torch_memory_peak",
    title: "Allocations at the memory peak",
    rows: 6,
    line: (cells) => ({ figures: [percent(numberOf(cells["Share"])), bytes(numberOf(cells["Bytes"]))], share: share(cells, "Share"), name: textOf(cells["Operator"]) || "allocations", where: textOf(cells["Line"]) || textOf(cells["Module"]) }),
  },
  {
    report: "thread_wait_sum",
    title: "Thread waits",
    rows: 6,
    tells: (cells) => !textOf(cells["Waited For"]).startsWith("[off CPU"),
    line: (cells) => {
      const [held, where] = [textOf(cells["Held By"]), textOf(cells["Where"])];
      return {
        figures: [time(numberOf(cells["Total Time"]))],
        share: share(cells, "Time"),
        name: `${textOf(cells["Thread"])}: ${textOf(cells["Waited For"])}`,
        where: [held === "" ? "" : `held by ${held}`, where].filter((part) => part !== "").join(" · "),
      };
    },
  },
  {
    report: "cpu_sample_sum",
    title: "CPU time by function",
    rows: 6,
    tells: (cells) => numberOf(cells["Self"]) >= 0.05,
    line: (cells) => ({ figures: [percent(numberOf(cells["Self"])), time(numberOf(cells["Self Time"]))], share: share(cells, "Self"), name: textOf(cells["Function"]), where: base(textOf(cells["Module"])) }),
  },
  {
    report: "python_sample_sum",
    title: "Python functions",
    rows: 6,
    tells: (cells) => numberOf(cells["Self"]) >= 0.05,
    line: (cells) => ({ figures: [percent(numberOf(cells["Self"]))], share: share(cells, "Self"), name: textOf(cells["Function"]), where: textOf(cells["Module"]) }),
  },
  {
    report: "osrt_sum",
    title: "OS calls and I/O",
    rows: 6,
    tells: (cells) => numberOf(cells["Time"]) >= 0.05,
    line: (cells) => ({ figures: [percent(numberOf(cells["Time"])), time(numberOf(cells["Total Time"]))], share: share(cells, "Time"), name: textOf(cells["Name"]), where: numberOf(cells["Num Calls"]) === 1 ? "1 call" : `${count(numberOf(cells["Num Calls"]))} calls` }),
  },
];

function topCard(app: App, summary: Summary, { report, title, rows, line: words, tells }: Top): HTMLElement | null {
  const all = rowsOf(tableOf(summary, report)).filter(({ cells }) => tells?.(cells) ?? true);
  const shown = all.slice(0, rows).map(({ cells, place }): Line => ({ ...words(cells, summary), place }));
  if (shown.length === 0) return null;
  const [{ colour, figures }] = shown as [Line];
  const columns = [...(colour === undefined ? [] : ["12px"]), ...figures.map(() => "auto")].join(" ");
  const element = card(title, list(shown.map((one) => line(app, one)), columns));
  element.dataset["report"] = report;
  element.querySelector("h3")?.append(make("span", { class: "muted", title: `All rows: tacho stats -r ${report}` }, report));
  return element;
}

export function topCards(app: App, summary: Summary): HTMLElement[] {
  return TOPS.map((top) => topCard(app, summary, top)).filter((element) => element !== null);
}
