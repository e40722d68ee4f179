// What the engine tells of an event in a tooltip, below its name and length: why it failed, the causes of a gap, the operator that it
// belongs to, and the first line of the program's own code.

import type { EventDetails, Frame } from "../engine/engine";
import { make } from "../ui/dom";
import { gapWords } from "../ui/gap";
import { cut, whereOf } from "../ui/text";

const FRAMES = 4;
/** Where the tables say why a call failed. */
const REASONS = ["returnValue", "errno"];
/** The types of rows whose ranges stand in for an operator. */
const RANGES = ["nvtx", "torch", "library"];

export interface TipLines {
  /** What a call that failed returned. */
  reason: string;
  /** Of a gap: its causes, and the line of the largest. */
  causes: readonly string[];
  /** The operator, or the range, that the event belongs to; "" if it is not known. */
  operator: string;
  /** The innermost frame of the program's own code. */
  own: Frame | null;
  /** If there is no such frame: the innermost ones of libraries. */
  frames: readonly Frame[];
}

function reasonOf({ fields }: EventDetails): string {
  const field = fields.find(({ name, value }) => REASONS.includes(name) && value !== 0);
  if (!field) return "";
  return field.label === "" ? `${field.name === "errno" ? "errno " : ""}${field.value}` : `${field.label} (${field.value})`;
}

function causesOf({ gap, from, to }: EventDetails): string[] {
  return gap ? [gapWords(gap, to - from), gap.chain.find(({ kind }) => kind === "line")?.text ?? ""].filter((words) => words !== "") : [];
}

/** typeOf: the type of a row. */
export function tipLines(details: EventDetails, typeOf: (row: number) => string | undefined): TipLines {
  const { python, stack, around, operator, gap } = details;
  const inner = around[around.length - 1];
  const range = inner && RANGES.includes(typeOf(inner.row) ?? "") ? inner.name : "";
  const stacks = [python?.frames ?? [], stack?.frames ?? []];
  const own = stacks.flat().find(({ library }) => library === undefined) ?? null;
  const frames = own ? [] : (stacks.find((list) => list.length > 0) ?? []).slice(0, FRAMES);
  const causes = causesOf(details);
  // The line of a gap is that of its largest cause, which need not be that of the launch behind it.
  return { reason: reasonOf(details), causes, operator: operator?.name ?? range, own: gap ? null : own, frames: gap ? [] : frames };
}

function frameWords(frame: Frame): HTMLElement[] {
  const where = whereOf(frame).split("/").pop() ?? "";
  return [make("bdi", { dir: "auto" }, cut(frame.name, 80)), ...(where === "" ? [] : [make("span", {}, ` ${where}`)])];
}

/** In the order in which they stand in the tooltip. */
export function tipElements({ causes, operator, own, frames }: TipLines): HTMLElement[] {
  const elements: HTMLElement[] = causes.map((words) => make("div", { class: "tip-cause" }, make("bdi", { dir: "auto" }, cut(words, 200))));
  if (operator !== "") elements.push(make("div", { class: "tip-operator" }, "in ", make("bdi", { dir: "auto" }, cut(operator, 120))));
  if (own) elements.push(make("div", { class: "tip-own" }, ...frameWords(own)));
  if (frames.length > 0) elements.push(make("ol", { class: "tip-frames" }, ...frames.map((frame) => make("li", {}, ...frameWords(frame)))));
  return elements;
}
