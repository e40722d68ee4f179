// Which rows stand where: the tree of rows with the reader's choices (folded, pinned, moved, filtered) laid out as lines from
// the top. Made anew when a choice changes, never per frame; nothing here knows the screen.

import type { Row } from "../engine/engine";
import type { RowChoices } from "../app";
import { slotsOf, type Slot } from "./kinds";

const LANE = 18;
const PADDING = 3;
const HEADING = 24;
const GRAPH = 48;
/** A rank of a map: many must be in sight at once. */
const STRIP = 16;
export const FEW_LANES = 8;
const MANY_LANES = 200;

export type Scale = readonly [low: number, high: number];

/** From 0 to 100 for percents, so that little looks little; `own`: up to the row's own maximum. */
function scaleOf({ min = 0, max = 0, unit }: Row, own: boolean): Scale {
  return [Math.min(0, min), Math.max(0, max, unit === "%" && !own ? 100 : 0)];
}

/** One row on the screen. */
export interface Line {
  row: Row;
  /** The row whose tiles are drawn here: the row itself, or none for an open group. */
  drawn: Row | null;
  depth: number;
  /** From the top of its section, the pinned or the scrolled one. */
  y: number;
  height: number;
  lanes: number;
  laneHeight: number;
  /** Where the first lane begins within the line. */
  inset: number;
  /** Of a folded group: the places of its lanes, which differ in height. */
  slots: readonly Slot[];
  /** Lanes that do not fit; the first lane shown is chosen by scrolling. */
  hidden: number;
  /** Of a graph: the values that its lower and upper edge stand for. */
  scale: Scale;
  parent: boolean;
  open: boolean;
  pinned: boolean;
  /** The rows around a pinned one, whose place no longer tells them. */
  around: string;
}

export interface Layout {
  pinned: Line[];
  lines: Line[];
  pinnedHeight: number;
  height: number;
  /** The line of each row that is shown; of a pinned row the pinned one. */
  byRow: Map<number, Line>;
}

/** The rows as a tree that can be asked. */
export class Tree {
  readonly byId = new Map<number, Row>();
  rows: readonly Row[] = [];
  private readonly firstOrder = new Map<number, Row[]>();
  /** In the order of the reader. */
  private children = new Map<number, Row[]>();

  constructor(rows: readonly Row[]) {
    this.fill(rows);
  }

  /** Takes other rows in place of those that it has. */
  fill(rows: readonly Row[]): void {
    this.rows = rows;
    this.byId.clear();
    this.firstOrder.clear();
    for (const row of rows) this.byId.set(row.id, row);
    for (const row of rows) {
      const siblings = this.firstOrder.get(row.parent);
      if (siblings) siblings.push(row);
      else this.firstOrder.set(row.parent, [row]);
    }
    this.children = this.firstOrder;
  }

  order(moves: RowChoices["moved"]): void {
    this.children = new Map(this.firstOrder);
    for (const [id, before] of moves) {
      const row = this.byId.get(id);
      if (!row) continue;
      const siblings = (this.children.get(row.parent) ?? []).filter((sibling) => sibling !== row);
      const at = siblings.findIndex((sibling) => sibling.id === before);
      siblings.splice(at < 0 ? siblings.length : at, 0, row);
      this.children.set(row.parent, siblings);
    }
  }

  of(parent: number): readonly Row[] {
    return this.children.get(parent) ?? [];
  }

  /** From the top down to the row itself. */
  path(id: number): Row[] {
    const path: Row[] = [];
    for (let row = this.byId.get(id); row; row = this.byId.get(row.parent)) path.unshift(row);
    return path;
  }
}

/** A rank of a map, or a folded group of such: a strip that is the darker, the busier it was. */
export function isStrip({ type, kind, unit }: Row): boolean {
  return type === "map" || (kind === "group" && unit === "%");
}

function measured(drawn: Row | null, tall: boolean): Pick<Line, "height" | "lanes" | "laneHeight" | "inset" | "slots" | "hidden"> {
  const fixed = { slots: [], hidden: 0 };
  if (!drawn) return { height: HEADING, lanes: 0, laneHeight: 0, inset: PADDING, ...fixed };
  if (isStrip(drawn)) return { height: STRIP, lanes: 1, laneHeight: STRIP - 1, inset: 0, ...fixed };
  if (drawn.kind === "counter") return { height: GRAPH, lanes: 1, laneHeight: GRAPH - 8, inset: 4, ...fixed };
  if (drawn.kind === "group") {
    const slots = slotsOf(drawn.kinds, LANE);
    return { height: HEADING, lanes: slots.length, laneHeight: LANE / Math.max(1, slots.length), inset: PADDING, slots, hidden: 0 };
  }
  if ((drawn.kind === "states" && drawn.type !== "idle") || drawn.kind === "ticks") return { height: HEADING, lanes: 1, laneHeight: 12, inset: 6, ...fixed };
  const lanes = Math.max(1, drawn.lanes);
  const shown = Math.min(lanes, tall ? MANY_LANES : FEW_LANES);
  return { height: shown * LANE + 2 * PADDING, lanes: shown, laneHeight: LANE, inset: PADDING, slots: [], hidden: lanes - shown };
}

/** Where a lane of the line's tiles is, from the top of the line; `first` is the first lane that is shown. Null: it is not shown. */
export function laneBox(line: Line, lane: number, first: number): { top: number; height: number } | null {
  if (line.slots.length > 0) {
    const slot = line.slots.find((one) => one.lane === lane);
    return slot ? { top: line.inset + slot.top, height: slot.height } : null;
  }
  const at = lane - first;
  return at < 0 || at >= line.lanes ? null : { top: line.inset + at * line.laneHeight, height: line.laneHeight };
}

/** The lane of the line's tiles at a height; -1 above and below them. */
export function laneAt(line: Line, y: number, first: number): number {
  if (line.slots.length > 0) return line.slots.find(({ top, height }) => y >= line.inset + top && y < line.inset + top + height)?.lane ?? -1;
  const at = Math.floor((y - line.inset) / line.laneHeight);
  return at < 0 || at >= line.lanes ? -1 : at + first;
}

/** Rows that a filter keeps: those whose name has the text, what lies below them, and what leads to them. */
function filtered(tree: Tree, text: string): Set<number> | null {
  const needle = text.trim().toLowerCase();
  if (needle === "") return null;
  const kept = new Set<number>();
  const visit = (row: Row, above: boolean): boolean => {
    const self = above || `${row.label} ${row.detail}`.toLowerCase().includes(needle);
    let below = false;
    for (const child of tree.of(row.id)) below = visit(child, self) || below;
    if (self || below) kept.add(row.id);
    return self || below;
  };
  for (const row of tree.of(-1)) visit(row, false);
  return kept;
}

const labelsAround = (tree: Tree, id: number): string => tree.path(id).slice(0, -1).reverse().map(({ label }) => label).join(", ");

/** Some rows alone, each below the other, with what is around them in words. */
export function layOutSome(tree: Tree, { tall }: RowChoices, some: ReadonlySet<number>): Layout {
  const layout: Layout = { pinned: [], lines: [], pinnedHeight: 0, height: 0, byRow: new Map() };
  for (const row of tree.rows) {
    if (!some.has(row.id) || row.kind === "group") continue;
    const isTall = tall.includes(row.id);
    const around = labelsAround(tree, row.id);
    const line: Line = { row, drawn: row, depth: 0, y: layout.height, parent: false, open: false, pinned: false, around, scale: scaleOf(row, isTall), ...measured(row, isTall) };
    layout.height += line.height;
    layout.lines.push(line);
    layout.byRow.set(row.id, line);
  }
  return layout;
}

export function layOut(tree: Tree, choices: RowChoices, empty: ReadonlySet<number>): Layout {
  const layout: Layout = { pinned: [], lines: [], pinnedHeight: 0, height: 0, byRow: new Map() };
  const toggled = new Set(choices.toggled);
  const tall = new Set(choices.tall);
  const pins = new Set(choices.pinned);
  tree.order(choices.moved);
  const kept = filtered(tree, choices.filter);

  const lineOf = (row: Row, depth: number, pinned: boolean): Line => {
    const parent = tree.of(row.id).length > 0;
    const open = parent && (kept !== null || row.open !== toggled.has(row.id));
    const drawn = row.kind !== "group" ? row : (open && !pinned) || (row.kinds.length === 0 && !isStrip(row)) ? null : row;
    const around = pinned ? labelsAround(tree, row.id) : "";
    return { row, drawn, depth, y: 0, parent, open, pinned, around, scale: scaleOf(drawn ?? row, tall.has(row.id)), ...measured(drawn, tall.has(row.id)) };
  };
  const shows = (row: Row): boolean => {
    if (kept && !kept.has(row.id)) return false;
    if (!choices.hideEmpty) return true;
    const children = tree.of(row.id);
    return children.length > 0 ? children.some(shows) || (row.kind !== "group" && !empty.has(row.id)) : !empty.has(row.id);
  };
  const visit = (row: Row, depth: number): void => {
    if (!shows(row)) return;
    const line = lineOf(row, depth, false);
    line.y = layout.height;
    layout.height += line.height;
    layout.lines.push(line);
    layout.byRow.set(row.id, line);
    if (line.open) for (const child of tree.of(row.id)) visit(child, depth + 1);
  };
  for (const row of tree.of(-1)) if (!pins.has(row.id)) visit(row, 0);
  for (const id of choices.pinned) {
    const row = tree.byId.get(id);
    if (!row) continue;
    const line = lineOf(row, 0, true);
    line.y = layout.pinnedHeight;
    layout.pinnedHeight += line.height;
    layout.pinned.push(line);
    layout.byRow.set(id, line);
  }
  return layout;
}

/** The first line that reaches below y. */
export function lineAt(lines: readonly Line[], y: number): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const line = lines[middle]!;
    if (line.y + line.height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}
