// What of a report is there in detail and what only in outline, where it was cut to be mailed: the latter is hatched, and says so.

import type { Span } from "../engine/engine";
import type { Surface } from "../ui/surface";
import type { Lens } from "./lens";
import { FONT } from "./paint";
import type { Palette } from "./palette";

const APART = 9;
const WORDS = "only an overview";

/** The stretches between and around those that are in detail. */
export function outlined(detail: readonly Span[] | null): Span[] {
  if (!detail) return [];
  const ends = [-Infinity, ...detail.flatMap(({ from, to }) => [from, to]), Infinity];
  const rest: Span[] = [];
  for (let i = 0; i < ends.length; i += 2) if (ends[i + 1]! > ends[i]!) rest.push({ from: ends[i]!, to: ends[i + 1]! });
  return rest;
}

function inSight({ from, to }: Span, lens: Lens): [left: number, right: number] | null {
  const [left, right] = [Math.max(0, lens.x(from)), Math.min(lens.width, lens.x(to))];
  return right > left ? [left, right] : null;
}

/** Behind the events, all the way down. */
export function hatch(surface: Surface, spans: readonly Span[], lens: Lens, palette: Palette, top: number, bottom: number): void {
  for (const span of spans) {
    const place = inSight(span, lens);
    if (!place) continue;
    const [left, right] = place;
    surface.save();
    surface.beginPath();
    surface.rect(left, top, right - left, bottom - top);
    surface.clip();
    surface.fillStyle = palette.faint;
    surface.fillRect(left, top, right - left, bottom - top);
    surface.strokeStyle = palette.line;
    surface.lineWidth = 1;
    surface.beginPath();
    // Fixed to the picture, not to the time: lines that move would be taken for events.
    for (let x = Math.floor((left - (bottom - top)) / APART) * APART; x < right; x += APART) {
      surface.moveTo(x, bottom);
      surface.lineTo(x + bottom - top, top);
    }
    surface.stroke();
    surface.restore();
  }
}

/** In the upper half of the ruler, where it has room. */
export function sayOutlined(surface: Surface, spans: readonly Span[], lens: Lens, palette: Palette): void {
  surface.font = FONT;
  surface.textBaseline = "middle";
  surface.textAlign = "left";
  const wide = surface.measureText(WORDS).width;
  for (const span of spans) {
    const place = inSight(span, lens);
    if (!place || place[1] - place[0] < wide + 24) continue;
    surface.fillStyle = palette.secondary;
    surface.fillText(WORDS, (place[0] + place[1] - wide) / 2, 9);
  }
}
