// Draws the events of lines: dense parts and thin slices as columns, wide slices as boxes with their name, states, ticks and
// counters. It reads tiles that are there and asks for nothing but names; a picture on paper comes from the same code.

import { FLAG_FAILED, FLAG_NO_END, FLAG_WAITING, type Row } from "../engine/engine";
import { heatOf } from "../ui/colour";
import type { Surface } from "../ui/surface";
import type { Columns } from "./columns";
import { isStrip, laneBox, type Line, type Scale } from "./layout";
import type { Lens } from "./lens";
import type { Names } from "./names";
import { BRIGHT, DIM, keyOf, TICK, type Palette } from "./palette";
import type { Piece, Tiles } from "./tiles";

export const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const LABELLED = 22;
/** A lane that is lower has no names. */
const LETTERS = 9.5;
/** How strong a moment is whose thread did not run, against one whose thread did. */
const PALE = 0.4;

/** Which names stand out. */
interface Emphasis {
  /** When a search is on, all others are dimmed. */
  found: ReadonlySet<number> | null;
  same: number | null;
  /** The kind of work that was chosen: all others are dimmed. */
  kind: number | null;
}

export interface Scene {
  lens: Lens;
  palette: Palette;
  tiles: Tiles;
  names: Names;
  emphasis: Emphasis;
  /** The first lane shown of a row that has more than fit. */
  firstLane: (row: number) => number;
  /** The end of the report: what is in use is so until then. */
  end: number;
}

interface Label {
  name: number;
  x: number;
  y: number;
  width: number;
  ink: string;
}

/** Boxes gathered by colour, so that the colour is set once for all of them. */
class Boxes {
  private byColour = new Map<string, number[]>();

  add(colour: string, x: number, y: number, width: number, height: number): void {
    let boxes = this.byColour.get(colour);
    if (!boxes) this.byColour.set(colour, (boxes = []));
    boxes.push(x, y, width, height);
  }

  draw(surface: Surface): void {
    for (const [colour, boxes] of this.byColour) {
      surface.fillStyle = colour;
      for (let i = 0; i < boxes.length; i += 4) surface.fillRect(boxes[i]!, boxes[i + 1]!, boxes[i + 2]!, boxes[i + 3]!);
    }
  }
}

/** Boxes that lie on each other, in the order in which they came. */
class Stack {
  private boxes: { colour: string; x: number; y: number; width: number; height: number }[] = [];

  add(colour: string, x: number, y: number, width: number, height: number): void {
    this.boxes.push({ colour, x, y, width, height });
  }

  draw(surface: Surface): void {
    for (const { colour, x, y, width, height } of this.boxes) {
      surface.fillStyle = colour;
      surface.fillRect(x, y, width, height);
    }
  }
}

export class Painter {
  private boxes = new Boxes();
  /** Of folded groups: below the columns. */
  private under = new Stack();
  private labels: Label[] = [];
  private pieces: Piece[] = [];
  private last = new Int32Array(0);
  private graphs: (() => void)[] = [];

  constructor(
    private readonly surface: Surface,
    private readonly columns: Columns,
    private readonly ratio: number,
    private readonly scene: Scene,
  ) {}

  /** Gathers what a line shows; `finish` draws it. */
  line(line: Line, top: number): void {
    const row = line.drawn;
    if (!row) return;
    const { lens, tiles } = this.scene;
    this.pieces.length = 0;
    tiles.pieces(row.id, lens.level, lens.from, lens.to, this.pieces);
    if (this.pieces.length === 0) return;
    if (isStrip(row)) {
      this.strip(row, line.scale, top + line.inset, line.laneHeight);
    } else if (row.kind === "counter") {
      const pieces = [...this.pieces];
      this.graphs.push(() => this.counter(row, line.scale, pieces, top + line.inset, line.laneHeight));
    } else if (row.kind === "group") {
      this.folded(line, top);
    } else {
      this.slices(line, row, top);
    }
  }

  finish(flush: (columns: Columns) => void): void {
    this.under.draw(this.surface);
    flush(this.columns);
    this.boxes.draw(this.surface);
    this.write();
    for (const graph of this.graphs) graph();
  }

  private snap(x: number): number {
    return Math.round(x * this.ratio) / this.ratio;
  }

  private slices(line: Line, row: Row, top: number): void {
    const { lens, palette, emphasis } = this.scene;
    const first = this.scene.firstLane(row.id);
    const gap = line.laneHeight >= 10 ? 1 : 0;
    const topOf = (lane: number): number => this.snap(top + line.inset + lane * line.laneHeight);
    const height = this.snap(line.laneHeight - gap);
    const base = this.columns.lane(topOf(0), height);
    for (let lane = 1; lane < line.lanes; lane++) this.columns.lane(topOf(lane), height);
    if (this.last.length < line.lanes) this.last = new Int32Array(line.lanes);
    this.last.fill(-1, 0, line.lanes);
    const states = row.kind === "states";
    const ticks = row.kind === "ticks";
    const thin = 2 / this.ratio;
    const edge = lens.width + 4;

    for (const { tile, level, start, from, to } of this.pieces) {
      const { slices, dense } = tile;
      const pixel = 2 ** level;
      for (let i = 0; i < dense.count; i++) {
        const lane = dense.lane[i]! - first;
        if (lane < 0 || lane >= line.lanes) continue;
        const begin = Math.max(from, start + dense.pixel[i]! * pixel);
        const end = Math.min(to, start + (dense.pixel[i]! + dense.pixels[i]!) * pixel);
        if (begin >= end || end < lens.from || begin > lens.to) continue;
        const name = dense.name[i]!;
        const colour = states ? palette.state(dense.colour[i]!).pixel : palette.word[ticks ? this.tick(dense.work[i]!, name, emphasis) : this.shade(dense.work[i]!, dense.colour[i]!, name, emphasis)]!;
        const busy = dense.busy[i]! / 255;
        const strength = 80 + 175 * (ticks ? Math.min(1, dense.events[i]! / dense.pixels[i]! / 4) : busy);
        this.columns.put(base + lane, lens.x(begin), lens.x(end), colour, Math.round(ticks ? strength * (PALE + (1 - PALE) * busy) : strength));
      }
      for (let i = 0; i < slices.count; i++) {
        const lane = slices.lane[i]! - first;
        const begin = slices.from[i]!;
        const end = slices.to[i]!;
        if (lane < 0 || lane >= line.lanes || end < lens.from || begin > lens.to || begin >= to || end < from) continue;
        if (this.last[lane] === slices.event[i]) continue;
        this.last[lane] = slices.event[i]!;
        const x0 = Math.max(-4, lens.x(begin));
        const x1 = Math.min(edge, lens.x(end));
        const name = slices.name[i]!;
        const shade = ticks ? this.tick(slices.work[i]!, name, emphasis) : this.shade(slices.work[i]!, slices.colour[i]!, name, emphasis);
        const state = states ? palette.state(slices.colour[i]!) : null;
        const flags = slices.flags[i]!;
        if (x1 - x0 < thin) {
          const alpha = ticks && flags & FLAG_WAITING ? Math.round(255 * PALE) : 255;
          this.columns.put(base + lane, x0, begin === end ? x0 + 2 : x1, state ? state.pixel : palette.word[shade]!, alpha);
          continue;
        }
        const left = this.snap(x0);
        const width = Math.max(1 / this.ratio, this.snap(x1) - left - (x1 - x0 > 4 ? 1 / this.ratio : 0));
        const y = topOf(lane);
        this.boxes.add(state ? state.css : palette.fill[shade]!, left, y, width, height);
        if (flags & FLAG_FAILED) this.boxes.add(palette.warning, left, y + height - 2, width, 2);
        if (flags & FLAG_NO_END && width > 6) this.boxes.add(palette.paper, left + width - 3, y + 3, 1, height - 6);
        if ((!states || row.type === "idle") && !ticks && width >= LABELLED && height >= 10) {
          const inside = Math.max(0, left);
          this.labels.push({ name, x: inside + 4, y: y + height / 2, width: Math.min(lens.width, left + width) - inside - 7, ink: state ? state.ink : palette.inks[shade]! });
        }
      }
    }
  }

  /** A folded group: long events of all rows below it, the shortest on top, and over them the share of time that all others fill. */
  private folded(line: Line, top: number): void {
    const { lens, palette, emphasis } = this.scene;
    const places = new Map<number, { y: number; height: number; column: number; free: Uint8Array }>();
    for (const { lane } of line.slots) {
      const box = laneBox(line, lane, 0)!;
      const y = this.snap(top + box.top);
      const height = Math.max(1 / this.ratio, this.snap(top + box.top + box.height) - y);
      places.set(lane, { y, height, column: this.columns.lane(y, height), free: new Uint8Array(Math.ceil(lens.width) + 1).fill(1) });
    }
    for (const { tile, level, start, from, to } of this.pieces) {
      const { slices, dense } = tile;
      const pixel = 2 ** level;
      for (let i = 0; i < dense.count; i++) {
        const place = places.get(dense.lane[i]!);
        const begin = Math.max(from, start + dense.pixel[i]! * pixel);
        const end = Math.min(to, start + (dense.pixel[i]! + dense.pixels[i]!) * pixel);
        if (!place || begin >= end || end < lens.from || begin > lens.to) continue;
        const [x0, x1] = [Math.max(0, lens.x(begin)), Math.min(lens.width, lens.x(end))];
        // Moments take no time: their number says how much there is.
        const share = dense.busy[i]! > 0 ? dense.busy[i]! / 255 : Math.min(1, dense.events[i]! / dense.pixels[i]! / 4) / 2;
        const colour = palette.word[this.shade(dense.work[i]!, dense.colour[i]!, dense.name[i]!, emphasis)]!;
        this.columns.put(place.column, x0, x1, colour, Math.round(80 + 175 * share));
        place.free.fill(0, Math.floor(x0), Math.ceil(x1));
      }
      for (let i = slices.count - 1; i >= 0; i--) this.foldedLabel(places, tile, i, from, to);
      for (let i = 0; i < slices.count; i++) {
        const place = places.get(slices.lane[i]!);
        const [left, right] = [this.snap(Math.max(-4, lens.x(Math.max(from, slices.from[i]!)))), this.snap(Math.min(lens.width + 4, lens.x(Math.min(to, slices.to[i]!))))];
        if (!place || right < 0 || left > lens.width) continue;
        const edge = slices.to[i]! <= to && right - left > 4 ? 1 / this.ratio : 0;
        const width = Math.max(1 / this.ratio, right - left - edge);
        this.under.add(palette.fill[this.shade(slices.work[i]!, slices.colour[i]!, slices.name[i]!, emphasis)]!, left, place.y, width, place.height);
        if (edge > 0) this.under.add(palette.faint, left + width, place.y, edge, place.height);
        if (slices.flags[i]! & FLAG_FAILED) this.under.add(palette.warning, left, place.y + place.height - 2, width, 2);
      }
    }
  }

  /** The name of a slice of a folded group, in the first place where nothing lies on it. */
  private foldedLabel(places: ReadonlyMap<number, { y: number; height: number; free: Uint8Array }>, { slices }: Piece["tile"], i: number, from: number, to: number): void {
    const { lens, palette, emphasis } = this.scene;
    const place = places.get(slices.lane[i]!);
    const left = Math.max(0, Math.ceil(lens.x(Math.max(from, slices.from[i]!))));
    const right = Math.min(Math.floor(lens.width), Math.floor(lens.x(Math.min(to, slices.to[i]!))));
    if (!place || right <= left) return;
    for (let x = left; x < right && place.height >= LETTERS; ) {
      let end = x;
      while (end < right && place.free[end] === 1) end++;
      if (end - x >= LABELLED) {
        this.labels.push({ name: slices.name[i]!, x: x + 4, y: place.y + place.height / 2, width: end - x - 7, ink: palette.inks[this.shade(slices.work[i]!, slices.colour[i]!, slices.name[i]!, emphasis)]! });
        break;
      }
      x = end + 1;
    }
    place.free.fill(0, left, right);
  }

  private shade(work: number, colour: number, name: number, emphasis: Emphasis): number {
    const key = keyOf(work, colour);
    if (emphasis.kind !== null && work !== emphasis.kind) return DIM + key;
    if (name === emphasis.same) return BRIGHT + key;
    if (!emphasis.found) return key;
    return (emphasis.found.has(name) ? BRIGHT : DIM) + key;
  }

  /** Moments are too thin for the colour of a name to be told; they are alike but for those that are looked for. */
  private tick(work: number, name: number, emphasis: Emphasis): number {
    const shade = this.shade(work, 0, name, emphasis);
    return shade < DIM ? TICK : shade;
  }

  private write(): void {
    const { surface, labels } = this;
    const { names } = this.scene;
    surface.font = FONT;
    surface.textBaseline = "middle";
    surface.textAlign = "left";
    let now: string | null = null;
    for (const { name, x, y, width, ink } of labels) {
      const text = names.fitting(name, width);
      if (text === "") continue;
      if (ink !== now) surface.fillStyle = now = ink;
      surface.fillText(text, x, y + 0.5);
    }
  }

  /** A rank of a map: the darker, the busier it was. Where several bins share a pixel, the busiest counts. */
  private strip(row: Row, [, high]: Scale, top: number, height: number): void {
    const { lens, palette } = this.scene;
    const most = Math.max(1, high);
    const y = this.snap(top);
    const add = (x0: number, x1: number, value: number): void => {
      const left = this.snap(Math.max(0, x0));
      const right = this.snap(Math.min(lens.width, x1));
      if (right > left) this.boxes.add(heatOf(palette.heat, value / most), left, y, right - left, height);
    };
    let before: { x: number; value: number } | null = null;
    for (const { tile, from, to } of this.pieces) {
      const { points } = tile;
      for (let i = 0; i < points.count; i++) {
        const time = points.time[i]!;
        if (before && (time < from || time >= to)) continue;
        const x = lens.x(time);
        if (before && x - before.x < 1 / this.ratio) {
          before.value = Math.max(before.value, points.max[i]!);
          continue;
        }
        if (before) add(before.x, x, before.value);
        before = { x, value: points.max[i]! };
      }
    }
    if (before) add(before.x, lens.x(row.to), before.value);
  }

  private counter(row: Row, [low, high]: Scale, pieces: readonly Piece[], top: number, height: number): void {
    const { surface } = this;
    const { lens, palette } = this.scene;
    const y = (value: number): number => top + height - ((value - low) / (high - low || 1)) * height;
    const points: { x: number; min: number; max: number; last: number }[] = [];
    for (const { tile, from, to } of pieces) {
      const { points: p } = tile;
      for (let i = 0; i < p.count; i++) {
        const time = p.time[i]!;
        if (points.length > 0 && (time < from || time >= to)) continue;
        points.push({ x: lens.x(time), min: y(p.min[i]!), max: y(p.max[i]!), last: y(p.last[i]!) });
      }
    }
    if (points.length === 0) return;
    const held = row.type === "memory" ? this.scene.end : row.to;
    const end = Math.min(lens.width + 1, Math.max(lens.x(held), points[points.length - 1]!.x + 2));
    surface.fillStyle = palette.accentSoft;
    surface.beginPath();
    this.steps(points, end);
    surface.lineTo(Math.max(end, points[0]!.x), top + height);
    surface.lineTo(points[0]!.x, top + height);
    surface.closePath();
    surface.fill();
    surface.fillStyle = palette.band;
    for (let i = 0; i < points.length; i++) {
      const { x, min, max } = points[i]!;
      if (min - max < 1) continue;
      const next = Math.max(x + 1, Math.min(points[i + 1]?.x ?? end, x + 1.5));
      surface.fillRect(x, max, next - x, min - max);
    }
    surface.strokeStyle = palette.accent;
    surface.lineWidth = 1;
    surface.beginPath();
    this.steps(points, end);
    surface.stroke();
  }

  private steps(points: readonly { x: number; last: number }[], end: number): void {
    const { surface } = this;
    surface.moveTo(points[0]!.x, points[0]!.last);
    for (let i = 1; i < points.length; i++) {
      surface.lineTo(points[i]!.x, points[i - 1]!.last);
      surface.lineTo(points[i]!.x, points[i]!.last);
    }
    if (end > points[points.length - 1]!.x) surface.lineTo(end, points[points.length - 1]!.last);
  }
}
