// The time ruler: steps of 1, 2 or 5 in the unit that fits. Where steps are short against the time itself, whole values of the
// next larger unit are written in full and the steps between them as offsets, so that no label repeats ten equal digits.

import type { Surface } from "../ui/surface";
import { TIME_UNITS } from "../units";
import type { Lens } from "./lens";
import { FONT } from "./paint";
import type { Palette } from "./palette";

export const RULER = 40;
const ROOM = 88;
const ROOM_LONG = 112;
const STEPS_LONG = [6e10, 1.2e11, 3e11, 6e11, 1.2e12, 1.8e12, 3.6e12, 7.2e12, 1.8e13, 3.6e13, 8.64e13];
const MAIN_FONT = `600 ${FONT}`;

/** The distance of ticks: 1, 2 or 5 of a power of ten up to half a minute, whole minutes and hours above. */
export function tickStep(nsPerPixel: number): number {
  const least = Math.max(1, nsPerPixel * (nsPerPixel > 1e7 ? ROOM_LONG : ROOM));
  if (least > 3e10) return STEPS_LONG.find((step) => step >= least) ?? Math.ceil(least / 8.64e13) * 8.64e13;
  const power = 10 ** Math.floor(Math.log10(least) + 1e-9);
  const step = [1, 2, 5, 10].find((times) => times * power >= least * (1 - 1e-9)) ?? 10;
  return step * power;
}

function unitOf(ns: number): readonly [unit: string, ns: number] {
  return TIME_UNITS.find(([, one]) => ns >= one) ?? ["ns", 1];
}

/** A round moment without needless zeros: in one unit, from a minute on as hours, minutes and seconds. */
function label(time: number, step: number): string {
  const minutes = Math.floor(Math.abs(time) / 6e10);
  if (minutes > 0) {
    const rest = Math.abs(time) - minutes * 6e10;
    const hours = Math.floor(minutes / 60);
    const parts = [hours > 0 ? `${hours} h` : "", minutes % 60 > 0 ? `${minutes % 60} min` : "", rest > 0 ? label(rest, Math.min(step, 1e9)) : ""];
    return `${time < 0 ? "−" : ""}${parts.filter(Boolean).join(" ")}`;
  }
  const [unit, one] = unitOf(Math.max(Math.abs(time), step));
  if (time === 0) return "0";
  const decimals = Math.max(0, Math.ceil(Math.log10(one / step) - 1e-9));
  const value = (Math.abs(time) / one).toFixed(Math.min(decimals, 9)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  const [whole = "", fraction = ""] = value.split(".");
  const groups = fraction.replace(/(\d{3})(?=\d)/g, "$1\u202f");
  return `${time < 0 ? "−" : ""}${whole}${groups ? `.${groups}` : ""} ${unit}`;
}

interface Tick {
  time: number;
  text: string;
  /** A whole value of the larger unit. */
  main: boolean;
}

/** The labelled moments of a view. */
export function ticksOf(lens: Lens): { ticks: Tick[]; step: number; base: string | null } {
  const step = tickStep(1 / lens.scale);
  const [, one] = unitOf(step);
  const larger = one * 1000;
  const offsets = step < 1e9 && Math.max(Math.abs(lens.from), Math.abs(lens.to)) >= larger;
  const ticks: Tick[] = [];
  for (let i = Math.ceil(lens.from / step); i * step <= lens.to; i++) {
    const time = i * step;
    const base = Math.floor(time / larger) * larger;
    const main = !offsets || time === base;
    ticks.push({ time, main, text: main || base === 0 ? label(time, step) : `+${label(time - base, step)}` });
  }
  const left = Math.floor(lens.from / larger) * larger;
  return { ticks, step, base: offsets && left !== 0 ? label(left, larger) : null };
}

/** Faint lines through all rows. */
export function drawGrid(surface: Surface, lens: Lens, palette: Palette, top: number, bottom: number): void {
  surface.fillStyle = palette.line;
  for (const { time } of ticksOf(lens).ticks) surface.fillRect(Math.round(lens.x(time)), top, 1, bottom - top);
}

export function drawRuler(surface: Surface, lens: Lens, palette: Palette): void {
  const { ticks, step, base } = ticksOf(lens);
  surface.fillStyle = palette.paper;
  surface.fillRect(0, 0, lens.width, RULER);
  surface.fillStyle = palette.line;
  surface.fillRect(0, RULER - 1, lens.width, 1);
  minor(surface, lens, palette, step);
  surface.textBaseline = "middle";
  surface.textAlign = "left";
  let firstMain = Infinity;
  for (const tick of ticks) {
    const x = Math.round(lens.x(tick.time));
    surface.fillStyle = tick.main ? palette.secondary : palette.dimInk;
    surface.fillRect(x, RULER - (tick.main ? 14 : 10), 1, tick.main ? 14 : 10);
    surface.font = tick.main ? MAIN_FONT : FONT;
    surface.fillStyle = tick.main ? palette.ink : palette.secondary;
    surface.fillText(tick.text, x + 4, RULER - 16);
    if (tick.main) firstMain = Math.min(firstMain, x);
  }
  // Not where a whole value stands so close that the two would be read as one.
  if (base !== null && firstMain >= 96) {
    surface.font = MAIN_FONT;
    surface.fillStyle = palette.ink;
    surface.fillText(`${base} +`, 4, 9);
  }
}

/** Unlabelled fifths or halves of a step. */
function minor(surface: Surface, lens: Lens, palette: Palette, step: number): void {
  const part = step / (step % 5 === 0 ? 5 : step % 2 === 0 ? 4 : 1);
  if (part < 1 || part * lens.scale < 6) return;
  surface.fillStyle = palette.line;
  for (let i = Math.ceil(lens.from / part); i * part <= lens.to; i++) {
    surface.fillRect(Math.round(lens.x(i * part)), RULER - 6, 1, 5);
  }
}
