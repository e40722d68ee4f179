// Rows that the page makes itself from the answer to a query. The engine's other rows know nothing of them: their numbers are above all
// others, and so are those of their names, and every request about them is answered here. They last as long as the page.

import { TILE_PIXELS, type Cell, type Event, type EventDetails, type EventFilter, type EventPage, type EventPageWanted, type Field, type Row, type SqlResult, type Tile } from "./engine";

export const MADE_ROW = 1_000_000_000;
/** The kind of work that results of queries are drawn as. */
const RANGE = 9;
const MADE_NAME = 0xc000_0000;

export const isMade = (row: number): boolean => row >= MADE_ROW;

/** The columns of an answer that say when, how long and what; null: it has no time. */
export interface EventColumns {
  start: number;
  end: number;
  length: number;
  name: number;
}
export function eventColumns({ columns, kinds }: SqlResult): EventColumns | null {
  const of = (kind: string, after = -1): number => kinds.findIndex((own, index) => index > after && own === kind);
  const titled = (pattern: RegExp): number => columns.findIndex((title, index) => kinds[index] === "time" && pattern.test(title));
  const start = titled(/start|begin/i) >= 0 ? titled(/start|begin/i) : of("time");
  if (start < 0) return null;
  const end = titled(/end|stop/i);
  return { start, end: end === start ? -1 : end, length: of("duration"), name: of("text") };
}

interface Made extends Event {
  lane: number;
  cells: readonly Cell[];
}

interface MadeRow {
  row: Row;
  /** By lane, then by start. */
  events: Made[];
  result: SqlResult;
}

/** The first lane that is free; events come by start. */
function intoLanes(events: Made[]): number {
  const ends: number[] = [];
  for (const event of events) {
    const free = ends.findIndex((end) => end <= event.from);
    event.lane = free < 0 ? ends.length : free;
    ends[event.lane] = Math.max(event.to, event.from + 1);
  }
  return ends.length;
}

function colourOf(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return (hash >>> 8) & 255;
}

export class MadeRows {
  private readonly rows = new Map<number, MadeRow>();
  private readonly names = new Map<string, number>();
  private readonly texts: string[] = [];
  private next = MADE_ROW;

  /** Makes a row from an answer; null: no line of it has a time. */
  add(result: SqlResult, label: string): Row | null {
    const columns = eventColumns(result);
    if (!columns) return null;
    const cell = (cells: readonly Cell[], at: number): number | null => (at >= 0 && typeof cells[at] === "number" ? cells[at] : null);
    const events = result.rows.flatMap((cells): Made[] => {
      const from = cell(cells, columns.start);
      if (from === null) return [];
      const to = Math.max(from, cell(cells, columns.end) ?? from + (cell(cells, columns.length) ?? 0));
      return [{ row: this.next, event: 0, name: String(cells[columns.name] ?? label).slice(0, 4096), from, to, lane: 0, cells }];
    });
    if (events.length === 0) return null;
    events.sort((a, b) => a.from - b.from);
    const lanes = intoLanes(events);
    events.sort((a, b) => a.lane - b.lane || a.from - b.from).forEach((event, index) => (event.event = index));
    const row: Row = {
      id: this.next++, parent: -1, kind: events.some(({ from, to }) => to > from) ? "slices" : "ticks", type: "query", label, detail: "SQL", lanes, kinds: [RANGE], events: events.length, open: true,
      from: events.reduce((least, { from }) => Math.min(least, from), Infinity), to: events.reduce((most, { to }) => Math.max(most, to), -Infinity),
    };
    this.rows.set(row.id, { row, events, result });
    return row;
  }

  remove(row: number): void {
    this.rows.delete(row);
  }

  private nameOf(text: string): number {
    let id = this.names.get(text);
    if (id === undefined) {
      id = MADE_NAME + this.texts.push(text) - 1;
      this.names.set(text, id);
    }
    return id;
  }

  name(id: number): string | null {
    return id >= MADE_NAME ? (this.texts[id - MADE_NAME] ?? "") : null;
  }

  tile(row: number, level: number, index: number): Tile {
    const made = this.rows.get(row);
    const [from, to] = [index * TILE_PIXELS * 2 ** level, (index + 1) * TILE_PIXELS * 2 ** level];
    const events = (made?.events ?? []).filter((event) => event.from < to && event.to >= from);
    const none = { count: 0, pixel: new Uint16Array(), pixels: new Uint16Array(), events: new Uint32Array(), name: new Uint32Array(), lane: new Uint16Array(), work: new Uint8Array(), colour: new Uint8Array(), busy: new Uint8Array() };
    return {
      row,
      kind: made?.row.kind ?? "slices",
      slices: {
        count: events.length, from: Float64Array.from(events, (event) => event.from), to: Float64Array.from(events, (event) => event.to), row: new Uint32Array(events.length).fill(row), event: Uint32Array.from(events, (event) => event.event),
        name: Uint32Array.from(events, (event) => this.nameOf(event.name)), lane: Uint16Array.from(events, (event) => event.lane), work: new Uint8Array(events.length).fill(RANGE), colour: Uint8Array.from(events, (event) => colourOf(event.name)), flags: new Uint8Array(events.length),
      },
      dense: none,
      points: { count: 0, time: new Float64Array(), min: new Float64Array(), max: new Float64Array(), last: new Float64Array() },
    };
  }

  details(row: number, event: number): EventDetails {
    const made = this.rows.get(row);
    const found = made?.events[event];
    if (!made || !found) throw new Error("The row of the query was removed.");
    const { columns, kinds } = made.result;
    const fields = columns.flatMap((name, at): Field[] => {
      const value = found.cells[at] ?? null;
      return value === null ? [] : [{ name, label: "", value, kind: (typeof value === "string" ? "text" : (kinds[at] ?? "int")) as Field["kind"] }];
    });
    const { name, from, to } = found;
    return { row, event, name, from, to, text: name, table: "SQL", rowid: event + 1, fields, around: [], operator: null, python: null, stack: null, unrecorded: null, collective: null, gap: null, links: [] };
  }

  at(row: number, time: number, lane: number, slack: number): Event | null {
    const away = (event: Made): number => Math.max(event.from - time, time - event.to, 0);
    const near = (this.rows.get(row)?.events ?? []).filter((event) => event.lane === lane && away(event) <= slack);
    return near.reduce<Made | null>((best, event) => (best === null || away(event) < away(best) ? event : best), null);
  }

  /** A page of the events of such rows; of a filter only rows and times count. */
  page({ rows = [], from = -Infinity, to = Infinity }: EventFilter, { sort = "start", down = false, offset = 0, limit = 200, at }: EventPageWanted): EventPage {
    const events = rows.flatMap((row) => this.rows.get(row)?.events ?? []).filter((event) => event.from < to && event.to >= from);
    const number = { start: (event: Made) => event.from, duration: (event: Made) => event.to - event.from, name: (event: Made) => event.name, row: (event: Made) => event.row }[sort];
    events.sort((a, b) => {
      const [left, right] = [number(a), number(b)];
      return (left === right ? 0 : (left < right ? -1 : 1) * (down ? -1 : 1)) || a.from - b.from;
    });
    const position = at ? events.findIndex((event) => event.row === at.row && event.event === at.event) : -1;
    return { total: events.length, position: position < 0 ? null : position, events: events.slice(offset, offset + limit) };
  }
}
