// window.tachoTest: what is on the picture, for tests that press keys and look. It reads; nothing runs unless it is called.

import { laneBox } from "./layout";
import { RULER } from "./ruler";
import type { Piece } from "./tiles";
import type { Timeline } from "./timeline";

interface DrawnEvent {
  row: number;
  /** The kind of work. */
  work: number;
  event: number;
  nameId: number;
  /** Known only once it was needed on the picture; `named` has all. */
  name: string | undefined;
  lane: number;
  from: number;
  to: number;
  x: number;
  y: number;
  w: number;
  h: number;
}

interface Seen {
  view: { from: number; to: number };
  /** It changes of itself: it glides, a frame is due, or rows that turned out to be empty are about to go. */
  moving: boolean;
  pending: number;
  /** The view has come to rest, and the address leads to what is shown. */
  linked: boolean;
  /** The view that was rested on last. */
  rested: { from: number; to: number } | null;
  /** Whether the causes of idle GPUs have come. */
  causes: boolean;
  rows: { id: number; label: string; type: string; x: number; y: number; w: number; h: number; open: boolean; pinned: boolean; drawn: number | null }[];
  events: DrawnEvent[];
  dense: { row: number; lane: number; work: number; count: number; x: number; w: number }[];
  arrows: { kind: string; fromX: number; fromY: number; toX: number; toY: number }[];
  /** The selected collective on the ranks in sight. */
  instance: { row: number; x: number; y: number; width: number; height: number; last: boolean }[];
  marks: { kind: string; title: string; x: number; y: number; w: number }[];
  /** Stretches in sight of which there is but an overview. */
  outlined: { from: number; to: number }[];
  /** Parts of the overview strip with a match. */
  ticks: number;
  frames: number[];
  tileBytes: number;
}

declare global {
  interface Window {
    tachoTest?: { seen(): Seen; named(): Promise<Seen> };
  }
}

/** Places are from the corner of the page, so that a test can point there. */
export function provideHook(timeline: Timeline): void {
  window.tachoTest = {
    seen: () => look(timeline),
    named: async () => {
      const seen = look(timeline);
      const unknown = seen.events.filter(({ name }) => name === undefined);
      const texts = await timeline.app.state.engine.names(unknown.map(({ nameId }) => nameId));
      unknown.forEach((event, i) => (event.name = texts[i]));
      return seen;
    },
  };
}

function look(timeline: Timeline): Seen {
  const { lens, tiles, names, motion, height } = timeline;
  const box = timeline.canvas.getBoundingClientRect();
  const seen: Seen = {
    view: motion.shown,
    moving: motion.moving || timeline.isDue,
    pending: tiles.pending + names.pending,
    linked: !timeline.isResting && location.hash === new URL(`#${timeline.app.linkOf(timeline.app.state)}`, location.href).hash,
    rested: timeline.history.present,
    causes: timeline.app.state.idle !== null,
    rows: [],
    events: [],
    dense: [],
    arrows: timeline.picture.arrows().map(({ kind, fromX, fromY, toX, toY }) => ({ kind, fromX: box.left + fromX, fromY: box.top + fromY, toX: box.left + toX, toY: box.top + toY })),
    instance: timeline.picture.instance().map((call) => ({ ...call, x: box.left + call.x, y: box.top + call.y })),
    marks: timeline.marks.filter(({ from, to }) => to >= lens.from && from <= lens.to).map(({ kind, title, from, to }) => ({ kind, title, x: box.left + lens.x(from), y: box.top + RULER - 3, w: (to - from) * lens.scale })),
    outlined: timeline.picture.outlined.map(({ from, to }) => ({ from: Math.max(from, lens.from), to: Math.min(to, lens.to) })).filter(({ from, to }) => from < to),
    ticks: timeline.app.state.ticks?.bins.length ?? 0,
    frames: timeline.frames,
    tileBytes: tiles.heldBytes,
  };
  for (const { line, y } of timeline.visible()) {
    const { row, drawn } = line;
    seen.rows.push({ id: row.id, label: row.label, type: row.type, x: box.left, y: box.top + y, w: lens.width, h: line.height, open: line.open, pinned: line.pinned, drawn: drawn?.id ?? null });
    if (!drawn) continue;
    const pieces: Piece[] = [];
    tiles.pieces(drawn.id, lens.level, lens.from, lens.to, pieces);
    const told = new Set<string>();
    const first = timeline.firstLane(drawn.id);
    for (const { tile, start, level, from, to } of pieces) {
      const { slices, dense } = tile;
      for (let i = 0; i < slices.count; i++) {
        const place = laneBox(line, slices.lane[i]!, first);
        const id = `${slices.row[i]}.${slices.event[i]}`;
        if (!place || slices.to[i]! < lens.from || slices.from[i]! > lens.to || y + place.top > height || told.has(id)) continue;
        told.add(id);
        const x = Math.max(0, lens.x(slices.from[i]!));
        const w = Math.min(lens.width, lens.x(slices.to[i]!)) - x;
        seen.events.push({
          row: slices.row[i]!, work: slices.work[i]!, event: slices.event[i]!, nameId: slices.name[i]!, name: names.known(slices.name[i]!), lane: slices.lane[i]!, from: slices.from[i]!, to: slices.to[i]!,
          x: box.left + x, y: box.top + y + place.top, w, h: place.height,
        });
      }
      for (let i = 0; i < dense.count; i++) {
        const begin = start + dense.pixel[i]! * 2 ** level;
        const end = begin + dense.pixels[i]! * 2 ** level;
        if (end < Math.max(from, lens.from) || begin > Math.min(to, lens.to)) continue;
        seen.dense.push({ row: drawn.id, lane: dense.lane[i]!, work: dense.work[i]!, count: dense.events[i]!, x: box.left + lens.x(begin), w: (end - begin) * lens.scale });
      }
    }
  }
  return seen;
}
