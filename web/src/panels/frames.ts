// The frames of a stack with the program's own lines in front: frames of libraries are folded, and the first line outside of them is
// bold. Where nothing was recorded, the option that records it.

import type { State } from "../app";
import type { Frame } from "../engine/engine";
import { count } from "../units";
import { make } from "../ui/dom";
import { line, whereOf } from "../ui/text";

/** Fewer frames are shown as they are. */
const FEWEST_FOLDED = 2;

function frameItem(frame: Frame, isOwn: boolean): HTMLElement {
  const where = whereOf(frame);
  const item = make("li", { class: `frame ${frame.kind}${isOwn ? " own" : ""}` }, line(frame.name));
  if (where !== "") item.append(make("span", { class: "where", title: where }, make("bdi", { dir: "ltr" }, where)));
  return item;
}

/** Frames one after the other that are all of libraries, or all of the program. */
export function runs(frames: readonly Frame[]): Frame[][] {
  const list: Frame[][] = [];
  for (const frame of frames) {
    const last = list[list.length - 1];
    if (last && (last[0]!.library === undefined) === (frame.library === undefined)) last.push(frame);
    else list.push([frame]);
  }
  return list;
}

/** "12 frames of torch, torchvision" */
export function foldedWords(frames: readonly Frame[]): string {
  return `${count(frames.length)} frames of ${[...new Set(frames.map(({ library }) => library ?? ""))].join(", ")}`;
}

function folded(frames: readonly Frame[]): HTMLElement {
  const words = make("summary", {}, make("bdi", { dir: "auto", class: "line" }, foldedWords(frames)));
  return make("li", { class: "folded" }, make("details", {}, words, make("ol", { class: "frames" }, ...frames.map((frame) => frameItem(frame, false)))));
}

/** The innermost first, as debuggers print them. */
export function frameList(frames: readonly Frame[]): HTMLElement {
  const own = frames.find(({ library }) => library === undefined);
  const items = runs(frames).flatMap((run) => (own && run[0]!.library !== undefined && run.length >= FEWEST_FOLDED ? [folded(run)] : run.map((frame) => frameItem(frame, frame === own))));
  return make("ol", { class: "frames" }, ...items);
}

/** By the type of a row: what `tacho profile` needs to record the call stacks of its events, in a program of Python and in others. */
const OPTIONS: Readonly<Record<string, readonly [python: string, native: string]>> = {
  torch: ["--pytorch-stacks=true", "--pytorch-stacks=true"],
  stream: ["--python-backtrace=cuda", "--cudabacktrace=all"],
  "gpu-nvtx": ["--python-backtrace=cuda", "--cudabacktrace=all"],
  "cuda-api": ["--python-backtrace=cuda", "--cudabacktrace=all"],
  library: ["--python-backtrace=cuda", "--cudabacktrace=all"],
  osrt: ["--osrt-backtrace-threshold=0", "--osrt-backtrace-threshold=0"],
};

export function recordHint({ rows }: Pick<State, "rows">, row: number): HTMLElement | null {
  const options = OPTIONS[rows.find(({ id }) => id === row)?.type ?? ""];
  if (!options) return null;
  const isPython = rows.some(({ type, label }) => type === "torch" || type === "python" || type === "python-samples" || (type === "process" && /\bpython/i.test(label)));
  return make("p", { class: "muted" }, "None was recorded. ", make("code", {}, `tacho profile ${options[isPython ? 0 : 1]}`), " records it.");
}
