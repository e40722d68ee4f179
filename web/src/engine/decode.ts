// The two binary answers, tiles and the overview, as typed arrays. docs/view-api.md has their layout; an answer that does not
// have it is an error here, so that nothing above needs to look.

import type { Kind, Overview, Tile } from "./engine";

const KINDS: readonly Kind[] = ["group", "slices", "ticks", "states", "counter"];
const ROW_BYTES = 16, SLICE_BYTES = 32, DENSE_BYTES = 16;

const bad = () => new Error("The reader sent an invalid tile.");

function expect(bytes: ArrayBuffer, magic: string): void {
  const start = new Uint8Array(bytes, 0, Math.min(bytes.byteLength, 4));
  if (bytes.byteLength < 8 || String.fromCharCode(...start) !== magic) throw bad();
}

function slicesOf(bytes: ArrayBuffer, at: number, count: number): Tile["slices"] {
  const reals = new Float64Array(bytes, at, count * 4), words = new Uint32Array(bytes, at, count * 8);
  const octets = new Uint8Array(bytes, at, count * SLICE_BYTES);
  const slices = {
    count, from: new Float64Array(count), to: new Float64Array(count), row: new Uint32Array(count), event: new Uint32Array(count), name: new Uint32Array(count),
    lane: new Uint16Array(count), work: new Uint8Array(count), colour: new Uint8Array(count), flags: new Uint8Array(count),
  };
  for (let i = 0; i < count; i++) {
    slices.from[i] = reals[i * 4];
    slices.to[i] = reals[i * 4 + 1];
    slices.event[i] = words[i * 8 + 4];
    slices.name[i] = words[i * 8 + 5];
    slices.lane[i] = octets[i * 32 + 24];
    slices.work[i] = octets[i * 32 + 25];
    slices.colour[i] = octets[i * 32 + 26];
    slices.flags[i] = octets[i * 32 + 27];
    slices.row[i] = words[i * 8 + 7];
  }
  return slices;
}

function pointsOf(bytes: ArrayBuffer, at: number, count: number): Tile["points"] {
  const reals = new Float64Array(bytes, at, count * 4);
  const points = { count, time: new Float64Array(count), min: new Float64Array(count), max: new Float64Array(count), last: new Float64Array(count) };
  for (let i = 0; i < count; i++) {
    points.time[i] = reals[i * 4];
    points.min[i] = reals[i * 4 + 1];
    points.max[i] = reals[i * 4 + 2];
    points.last[i] = reals[i * 4 + 3];
  }
  return points;
}

function denseOf(bytes: ArrayBuffer, at: number, count: number): Tile["dense"] {
  const words = new Uint32Array(bytes, at, count * 4), halves = new Uint16Array(bytes, at, count * 8);
  const octets = new Uint8Array(bytes, at, count * DENSE_BYTES);
  const dense = {
    count, pixel: new Uint16Array(count), pixels: new Uint16Array(count), events: new Uint32Array(count), name: new Uint32Array(count),
    lane: new Uint16Array(count), work: new Uint8Array(count), colour: new Uint8Array(count), busy: new Uint8Array(count),
  };
  for (let i = 0; i < count; i++) {
    dense.pixel[i] = halves[i * 8];
    dense.pixels[i] = halves[i * 8 + 1];
    dense.events[i] = words[i * 4 + 1];
    dense.name[i] = words[i * 4 + 2];
    dense.lane[i] = octets[i * 16 + 12];
    dense.work[i] = octets[i * 16 + 13];
    dense.colour[i] = octets[i * 16 + 14];
    dense.busy[i] = octets[i * 16 + 15];
  }
  return dense;
}

export function decodeTiles(bytes: ArrayBuffer): Tile[] {
  expect(bytes, "TILE");
  const count = new Uint32Array(bytes, 4, 1)[0];
  const tiles: Tile[] = [];
  let at = 8;
  for (let i = 0; i < count; i++) {
    if (at + ROW_BYTES > bytes.byteLength) throw bad();
    const [row, kindNumber, items, dense] = new Uint32Array(bytes, at, 4) as unknown as [number, number, number, number];
    at += ROW_BYTES;
    const kind = KINDS[kindNumber];
    const end = at + items * SLICE_BYTES + dense * DENSE_BYTES;
    if (!kind || end > bytes.byteLength) throw bad();
    const counter = kind === "counter";
    tiles.push({
      row, kind,
      slices: slicesOf(bytes, at, counter ? 0 : items),
      points: pointsOf(bytes, at, counter ? items : 0),
      dense: denseOf(bytes, at + items * SLICE_BYTES, dense),
    });
    at = end;
  }
  return tiles;
}

export function decodeOverview(bytes: ArrayBuffer): Overview {
  expect(bytes, "OVER");
  const width = new Uint32Array(bytes, 4, 1)[0];
  if (bytes.byteLength < 8 + width * 8) throw bad();
  return { gpu: new Float32Array(bytes, 8, width), cpu: new Float32Array(bytes, 8 + width * 4, width) };
}
