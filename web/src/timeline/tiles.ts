// The tiles that the page holds, by level, index and row. What a frame needs and is not here is asked for in one request per
// stretch for all rows together; until it comes, coarser or finer tiles stand in. Bytes are bounded; the longest unused go.

import { MOST_LEVEL, TILE_PIXELS, type Engine, type Span, type Tile } from "../engine/engine";

const LIMIT_BYTES = 96 << 20;
const ROWS_PER_REQUEST = 64;
const REQUESTS_AT_ONCE = 6;
const FINER = 3;

interface Held {
  tile: Tile;
  bytes: number;
  used: number;
}

/** One stretch at one level: the tiles of its rows, and those on their way. */
interface Stretch {
  level: number;
  index: number;
  rows: Map<number, Held>;
  asked: Set<number>;
  /** Of those on their way, the rows whose answer may be of before forget(). */
  stale: Set<number>;
}

/** A tile and the part of the time for which it is to be drawn. */
export interface Piece {
  tile: Tile;
  level: number;
  start: number;
  from: number;
  to: number;
}

/** What a tile takes, with the two dozen arrays that even an empty one has. */
const ARRAYS_BYTES = 4096;

function tileBytes(tile: Tile): number {
  return ARRAYS_BYTES + tile.slices.count * 32 + tile.dense.count * 16 + tile.points.count * 32;
}

export class Tiles {
  private stretches = new Map<number, Stretch>();
  private wanted: { stretch: Stretch; rows: number[] }[] = [];
  private underWay = 0;
  private bytes = 0;
  private clock = 0;

  constructor(
    private readonly engine: Engine,
    private readonly report: Span,
    private readonly arrived: () => void,
    private readonly fail: (error: Error) => void,
  ) {}

  get pending(): number {
    return this.underWay + this.wanted.length;
  }
  get heldBytes(): number {
    return this.bytes;
  }

  /** Starts a frame: requests of the last one that have not begun are dropped, since the view has moved on. */
  begin(): void {
    this.clock++;
    for (const { stretch, rows } of this.wanted) {
      for (const row of rows) stretch.asked.delete(row);
      this.dropEmpty(stretch);
    }
    this.wanted = [];
  }

  /** Wants these rows for all of a span at a level; the first call of a frame is the most urgent. */
  want(rows: readonly number[], level: number, from: number, to: number): void {
    const [first, end] = this.reach(level, from, to);
    for (let index = first; index < end; index++) {
      const stretch = this.stretch(level, index);
      const missing = rows.filter((row) => !stretch.rows.has(row) && !stretch.asked.has(row));
      for (let at = 0; at < missing.length; at += ROWS_PER_REQUEST) {
        const part = missing.slice(at, at + ROWS_PER_REQUEST);
        for (const row of part) stretch.asked.add(row);
        this.wanted.push({ stretch, rows: part });
      }
    }
  }

  /** Sends what was wanted, as far as requests may be under way. */
  send(): void {
    while (this.underWay < REQUESTS_AT_ONCE && this.wanted.length > 0) {
      const { stretch, rows } = this.wanted.shift()!;
      this.underWay++;
      this.engine
        .tiles(rows, stretch.level, stretch.index)
        .then((tiles) => this.keep(stretch, tiles))
        .catch((error: Error) => this.fail(error))
        .finally(() => {
          for (const row of rows) stretch.asked.delete(row);
          this.underWay--;
          this.send();
        });
    }
  }

  /** The tiles that show a span of a row, left to right, with stand-ins where the right ones are missing. */
  pieces(row: number, level: number, from: number, to: number, out: Piece[]): void {
    const [first, end] = this.reach(level, from, to);
    for (let index = first; index < end; index++) this.piece(row, level, index, out, FINER);
  }

  /** The stretches that a span touches, as far as the report goes: beyond it there is nothing to ask for. */
  private reach(level: number, from: number, to: number): [first: number, end: number] {
    const size = TILE_PIXELS * 2 ** level;
    return [Math.floor(Math.max(from, this.report.from) / size), Math.ceil(Math.min(to, this.report.to + 1) / size)];
  }

  /** Lets go of the tiles of some rows, whose events have other names now; those on their way are asked for again. */
  forget(rows: ReadonlySet<number>): void {
    for (const stretch of this.stretches.values()) {
      for (const row of rows) {
        const held = stretch.rows.get(row);
        if (held) this.bytes -= held.bytes;
        stretch.rows.delete(row);
        if (stretch.asked.has(row)) stretch.stale.add(row);
      }
    }
  }

  /** Whether every tile of a span is the right one. */
  complete(row: number, level: number, from: number, to: number): boolean {
    const [first, end] = this.reach(level, from, to);
    for (let index = first; index < end; index++) {
      if (!this.find(row, level, index)) return false;
    }
    return true;
  }

  /** Whether tiles are here for all of a span and show nothing. */
  empty(row: number, level: number, from: number, to: number): boolean {
    if (!this.complete(row, level, from, to)) return false;
    const pieces: Piece[] = [];
    this.pieces(row, level, from, to, pieces);
    return pieces.every(({ tile, start }) => tile.points.count === 0 && !shows(tile, (from - start) / 2 ** level, (to - start) / 2 ** level, from, to));
  }

  private piece(row: number, level: number, index: number, out: Piece[], depth: number): boolean {
    const size = TILE_PIXELS * 2 ** level;
    const [from, to] = [index * size, (index + 1) * size];
    const held = this.find(row, level, index);
    if (held) {
      out.push({ tile: held, level, start: from, from, to });
      return true;
    }
    for (let up = 1; depth === FINER && level + up <= MOST_LEVEL; up++) {
      const above = Math.floor(index / 2 ** up);
      const coarse = this.find(row, level + up, above);
      if (!coarse) continue;
      out.push({ tile: coarse, level: level + up, start: above * size * 2 ** up, from, to });
      return true;
    }
    if (depth === 0 || level === 0) return false;
    const left = this.piece(row, level - 1, index * 2, out, depth - 1);
    const right = this.piece(row, level - 1, index * 2 + 1, out, depth - 1);
    return left || right;
  }

  private find(row: number, level: number, index: number): Tile | undefined {
    const held = this.stretches.get(key(level, index))?.rows.get(row);
    if (!held) return undefined;
    held.used = this.clock;
    return held.tile;
  }

  private stretch(level: number, index: number): Stretch {
    const id = key(level, index);
    let stretch = this.stretches.get(id);
    if (!stretch) {
      stretch = { level, index, rows: new Map(), asked: new Set(), stale: new Set() };
      this.stretches.set(id, stretch);
    }
    return stretch;
  }

  private keep(stretch: Stretch, tiles: readonly Tile[]): void {
    // A stretch that was let go meanwhile comes back with its answer.
    this.stretches.set(key(stretch.level, stretch.index), stretch);
    for (const tile of tiles) {
      if (stretch.stale.delete(tile.row)) continue;
      const bytes = tileBytes(tile);
      this.bytes += bytes - (stretch.rows.get(tile.row)?.bytes ?? 0);
      stretch.rows.set(tile.row, { tile, bytes, used: this.clock });
    }
    if (this.bytes > LIMIT_BYTES) this.letGo();
    this.arrived();
  }

  /** Forgets the tiles longest unused until a quarter of the room is free. */
  private letGo(): void {
    const all: { stretch: Stretch; row: number; held: Held }[] = [];
    for (const stretch of this.stretches.values()) for (const [row, held] of stretch.rows) all.push({ stretch, row, held });
    all.sort((a, b) => a.held.used - b.held.used);
    for (const { stretch, row, held } of all) {
      if (this.bytes <= LIMIT_BYTES * 0.75) break;
      stretch.rows.delete(row);
      this.bytes -= held.bytes;
      this.dropEmpty(stretch);
    }
  }

  private dropEmpty(stretch: Stretch): void {
    if (stretch.rows.size === 0 && stretch.asked.size === 0) this.stretches.delete(key(stretch.level, stretch.index));
  }
}

/** Whether a tile has anything in a part of it, given in its pixels and in time. */
function shows({ slices, dense }: Tile, first: number, end: number, from: number, to: number): boolean {
  for (let i = 0; i < slices.count; i++) if (slices.to[i]! >= from && slices.from[i]! <= to) return true;
  for (let i = 0; i < dense.count; i++) if (dense.pixel[i]! + dense.pixels[i]! > first && dense.pixel[i]! < end) return true;
  return false;
}

/** Level and index in one number: an index is below 2^44 on either side, a level below 53. */
function key(level: number, index: number): number {
  return level * 2 ** 46 + index;
}
