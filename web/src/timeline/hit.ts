// What lies under a point of the picture: the line, the lane, the moment, and the event or dense part there. Looks only at
// tiles that are drawn, so that an answer is there at once.

import type { Row } from "../engine/engine";
import { laneAt, type Line } from "./layout";
import type { Lens } from "./lens";
import type { Piece, Tiles } from "./tiles";

const REACH = 3;

interface HitSlice {
  /** The row of the event: in a folded group one below it. */
  row: number;
  event: number;
  name: number;
  from: number;
  to: number;
  lane: number;
  /** As tiles have them. */
  flags: number;
}
interface HitDense {
  count: number;
  /** The kind of work, and the share of the time in which there was some, 0 … 1. */
  work: number;
  busy: number;
  name: number;
  from: number;
  to: number;
}
export interface Hit {
  line: Line;
  /** The row that is drawn there. */
  row: Row;
  lane: number;
  time: number;
  slice: HitSlice | null;
  dense: HitDense | null;
  value: { last: number; min: number; max: number } | null;
}

/** y is from the top of the line. */
export function hitLine(line: Line, y: number, x: number, lens: Lens, tiles: Tiles, firstLane: number): Hit | null {
  const row = line.drawn;
  if (!row) return null;
  const lane = laneAt(line, y, firstLane);
  const hit: Hit = { line, row, lane: Math.max(0, lane), time: lens.time(x), slice: null, dense: null, value: null };
  const pieces: Piece[] = [];
  const reach = REACH / lens.scale;
  tiles.pieces(row.id, lens.level, hit.time - reach, hit.time + reach, pieces);
  if (pieces.some(({ tile }) => tile.kind === "counter")) {
    hit.value = valueAt(pieces, hit.time);
    return hit;
  }
  if (lane < 0) return hit;
  for (const piece of pieces) {
    hit.slice = nearest(piece, hit, reach);
    hit.dense ??= denseAt(piece, hit);
  }
  if (hit.dense && hit.slice && (hit.slice.from > hit.time || hit.slice.to < hit.time)) hit.slice = null;
  return hit;
}

function nearest({ tile }: Piece, hit: Hit, reach: number): HitSlice | null {
  const { slices } = tile;
  let best = hit.slice;
  let distance = best ? Math.max(best.from - hit.time, hit.time - best.to, 0) : reach;
  for (let i = 0; i < slices.count; i++) {
    if (slices.lane[i] !== hit.lane) continue;
    const [from, to] = [slices.from[i]!, slices.to[i]!];
    const away = Math.max(from - hit.time, hit.time - to, 0);
    if (away > distance || (away === distance && best && best.to - best.from <= to - from)) continue;
    distance = away;
    best = { row: slices.row[i]!, event: slices.event[i]!, name: slices.name[i]!, from, to, lane: hit.lane, flags: slices.flags[i]! };
  }
  return best;
}

function denseAt({ tile, start, level }: Piece, hit: Hit): HitDense | null {
  const { dense } = tile;
  const pixel = 2 ** level;
  let best: HitDense | null = null;
  for (let i = 0; i < dense.count; i++) {
    const from = start + dense.pixel[i]! * pixel;
    const to = from + dense.pixels[i]! * pixel;
    const busy = dense.busy[i]! / 255;
    if (dense.lane[i] !== hit.lane || from > hit.time || hit.time >= to || (best && best.busy >= busy)) continue;
    best = { count: dense.events[i]!, name: dense.name[i]!, work: dense.work[i]!, busy, from, to };
  }
  return best;
}

function valueAt(pieces: readonly Piece[], time: number): Hit["value"] {
  let value: Hit["value"] = null;
  for (const { tile } of pieces) {
    const { points } = tile;
    for (let i = 0; i < points.count && points.time[i]! <= time; i++) value = { last: points.last[i]!, min: points.min[i]!, max: points.max[i]! };
  }
  return value;
}

/** The lane of an event in the tiles of a row that is drawn, its own or a folded group, if one in sight shows it by itself. */
export function laneOf(tiles: Tiles, drawn: number, row: number, event: number, from: number, to: number, lens: Lens): number | null {
  const pieces: Piece[] = [];
  tiles.pieces(drawn, lens.level, Math.max(from, lens.from), Math.min(Math.max(to, from + 1), lens.to), pieces);
  for (const { tile } of pieces) {
    for (let i = 0; i < tile.slices.count; i++) if (tile.slices.event[i] === event && tile.slices.row[i] === row) return tile.slices.lane[i]!;
  }
  return null;
}

/** The begin or end of an event that is nearest to a time, and not further away than `reach`. */
export function nearestEdge(pieces: readonly Piece[], time: number, reach: number): number | null {
  let best: number | null = null;
  let distance = reach;
  for (const { tile: { slices } } of pieces) {
    for (let i = 0; i < slices.count; i++) {
      for (const edge of [slices.from[i]!, slices.to[i]!]) {
        if (Math.abs(edge - time) > distance) continue;
        distance = Math.abs(edge - time);
        best = edge;
      }
    }
  }
  return best;
}
