// Advice and notes on the picture: bars and flags at the foot of the ruler that say what they mean when pointed at. Of many on
// one pixel one is drawn, but all are told.

import type { State } from "../app";
import { noteColour } from "../ui/colour";
import type { Surface } from "../ui/surface";
import type { Lens } from "./lens";
import type { Palette } from "./palette";
import { RULER } from "./ruler";

const REACH = 5;
const FLAG = 9;

export interface Mark {
  kind: "advice" | "note";
  from: number;
  to: number;
  row: number;
  event: number;
  title: string;
  text: string;
  colour: number;
}

export function marksOf({ advice, notes }: Pick<State, "advice" | "notes">): Mark[] {
  const marks: Mark[] = [];
  for (const { from, to, row, event, title, text } of advice?.advice ?? []) marks.push({ kind: "advice", from, to, row, event, title, text, colour: 0 });
  for (const { time, to, row, text, colour } of notes) {
    marks.push({ kind: "note", from: time, to: to ?? time, row, event: -1, title: "Note", text, colour });
  }
  return marks;
}

export function drawMarks(surface: Surface, marks: readonly Mark[], lens: Lens, palette: Palette): void {
  let drawn = -Infinity;
  for (const mark of marks) {
    if (mark.to < lens.from || mark.from > lens.to) continue;
    const x = lens.x(mark.from);
    const width = Math.max(2, lens.x(mark.to) - x);
    if (mark.kind === "advice") {
      if (Math.round(x) === drawn && width <= 2) continue;
      drawn = Math.round(x);
      surface.fillStyle = palette.warning;
      surface.globalAlpha = 0.85;
      surface.fillRect(Math.max(0, x), RULER - 4, Math.min(width, lens.width - Math.max(0, x)), 3);
      surface.globalAlpha = 1;
    } else {
      surface.fillStyle = noteColour(mark.colour, palette.dark);
      surface.fillRect(x, RULER - 18, 1, 18);
      surface.beginPath();
      surface.moveTo(x, RULER - 18);
      surface.lineTo(x + FLAG, RULER - 14);
      surface.lineTo(x, RULER - 10);
      surface.closePath();
      surface.fill();
      if (mark.to > mark.from) surface.fillRect(x, RULER - 3, width, 2);
    }
  }
}

/** A line below what a mark is about, in its row. */
export function drawRowMarks(surface: Surface, marks: readonly Mark[], lens: Lens, palette: Palette, footOf: (row: number) => number | null): void {
  for (const mark of marks) {
    if (mark.row < 0 || mark.to < lens.from || mark.from > lens.to) continue;
    const y = footOf(mark.row);
    if (y === null) continue;
    const left = Math.max(0, lens.x(mark.from));
    surface.fillStyle = mark.kind === "advice" ? palette.warning : noteColour(mark.colour, palette.dark);
    surface.fillRect(left, y, Math.max(2, Math.min(lens.width, lens.x(mark.to)) - left), 2);
  }
}

/** What is advised or noted about an event, or a moment of its row. */
export function marksOn(marks: readonly Mark[], row: number, event: number, from: number, to: number): Mark[] {
  return marks.filter((mark) => mark.row === row && (mark.event >= 0 ? mark.event === event : mark.from <= to && mark.to >= from));
}

/** The marks at a place of the ruler, the shortest first: what is small is meant. */
export function marksAt(marks: readonly Mark[], x: number, lens: Lens): Mark[] {
  return marks
    .filter(({ from, to }) => lens.x(from) - REACH <= x && x <= lens.x(to) + REACH)
    .sort((a, b) => a.to - a.from - (b.to - b.from));
}
