// The frames of a stack with the program's own lines in front: frames of libraries are folded, and the first line outside of them is
// bold. Where nothing was recorded, the option that records it.

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

export function recordHint({ data, option }: { data: string; option: string }): HTMLElement {
  return make("p", { class: "muted" }, `Not recorded: ${data}. `, make("code", {}, `tacho profile ${option}`), " records it.");
}
