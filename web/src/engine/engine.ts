// What the page knows of a report: the requests of docs/view-api.md with their types. Two engines answer them, a server
// (http.ts) and the C reader in a worker (wasm.ts); nothing above this file can tell which.

import type { MadeRows } from "./made_rows";

export type Kind = "group" | "slices" | "ticks" | "states" | "counter";

export interface Row {
  id: number;
  parent: number;
  kind: Kind;
  type: string;
  label: string;
  detail: string;
  lanes: number;
  events: number;
  from: number;
  to: number;
  open: boolean;
  /** Numbers of the kinds of work that its events are; of a group, that the rows below it are busy with. */
  kinds: number[];
  unit?: string;
  min?: number;
  max?: number;
  pid?: number;
  tid?: number;
  device?: number;
  stream?: number;
  rank?: number;
}

export interface About {
  name: string;
  /** The run that this one is compared with. */
  other?: string;
  program: string;
  version: string;
  /** The profiler that recorded it, "Tacho" or the one whose file was imported; "" if that is not known. */
  recorder: string;
  origin: string;
  utc: string | null;
  from: number;
  to: number;
  /** The stretch to show at first. */
  focus: Span;
  events: number;
  rows: number;
  /** Rows tell how busy each rank was; the events of a rank are on a page of their own. */
  map: boolean;
  gpus: { id: number; name: string }[];
  processes: { pid: number; name: string; rank?: number }[];
  steps: { count: number; source: string } | null;
  warnings: string[];
  /** Of a report that was cut: the stretches whose events are all there; outside of them there is an overview. */
  detail: Span[] | null;
  reports: { name: string; title: string }[];
}

/** A stretch of TILE_PIXELS of one row; the arrays of a part are of equal length. */
export interface Tile {
  row: number;
  kind: Kind;
  /** row: the row of the event, which in the tile of a group is one below it. */
  slices: { count: number; from: Float64Array; to: Float64Array; row: Uint32Array; event: Uint32Array; name: Uint32Array; lane: Uint16Array; work: Uint8Array; colour: Uint8Array; flags: Uint8Array };
  dense: { count: number; pixel: Uint16Array; pixels: Uint16Array; events: Uint32Array; name: Uint32Array; lane: Uint16Array; work: Uint8Array; colour: Uint8Array; busy: Uint8Array };
  points: { count: number; time: Float64Array; min: Float64Array; max: Float64Array; last: Float64Array };
}

/** Flags of a slice. */
export const FLAG_NO_END = 1;
/** Of a sample: its thread did not run. */
export const FLAG_WAITING = 2;
export const FLAG_FAILED = 4;

export const TILE_PIXELS = 1024;
/** A pixel of this level is 2^52 ns, and no tile has a larger one. */
export const MOST_LEVEL = 52;

export interface Event {
  row: number;
  event: number;
  name: string;
  from: number;
  to: number;
}

export interface Frame {
  name: string;
  module?: string;
  file?: string;
  line?: number;
  /** Whose code it is; the program's own has none. */
  library?: string;
  kind: "native" | "kernel" | "python";
}

export interface Field {
  name: string;
  label: string;
  value: string | number;
  kind: "time" | "duration" | "bytes" | "int" | "real" | "text" | "id";
}

export interface EventDetails extends Event {
  text: string;
  table: string;
  rowid: number;
  fields: Field[];
  around: Event[];
  operator: Event | null;
  python: { frames: Frame[]; from: string } | null;
  stack: { frames: Frame[] } | null;
  /** Without either of them: the data that the report lacks, and the option of `tacho profile` that records it. */
  unrecorded: { data: string; option: string } | null;
  /** The instance of a collective on all ranks; last: the one to come last, where that can be told. */
  collective: { ranks: number; last: (Event & { rank: number; lateness: number }) | null } | null;
  /** Of a gap of a GPU: its causes, the largest first, and what led to it, the nearest first. */
  gap: {
    causes: { cause: string; state: number; time: number; line: string; at: Event | null }[];
    /** The number of smaller causes that are not listed. */
    more: number;
    chain: { kind: "work" | "launch" | "operator" | "line" | "wait"; event?: Event; text?: string }[];
  } | null;
  links: (Event & { kind: string; label: string })[];
}

/** Why a GPU was idle: the causes of all gaps of each row "Why idle", the most time first. */
export interface Idle {
  rows: { row: number; causes: { cause: string; state: number; time: number; gaps: number }[] }[];
}

export type FindMode = "substring" | "regex" | "exact";
export interface FindQuery {
  text?: string;
  mode?: FindMode;
  case?: boolean;
  name?: number;
  row?: number;
}
export interface Found {
  total: number;
  rows: { row: number; count: number }[];
  names: number[];
  cut: boolean;
}

export interface Span {
  from: number;
  to: number;
}

export type EventSort = "start" | "duration" | "name" | "row";
/** Which events a list has; a group stands for all rows below it. */
export interface EventFilter extends Partial<Span> {
  rows?: readonly number[];
  /** Events of the name of that one, in rows of the same type. */
  same?: Pick<Event, "row" | "event">;
  search?: FindQuery;
  /** Durations, both inclusive. */
  least?: number;
  most?: number;
}
export interface EventPage {
  total: number;
  /** Of the event that was asked for; null: the list does not have it. */
  position: number | null;
  events: Event[];
  /** The parts of the report's time in which events of the list start, in order. */
  bins?: number[];
}
export interface EventPageWanted {
  sort?: EventSort;
  down?: boolean;
  offset?: number;
  limit?: number;
  at?: Pick<Event, "row" | "event">;
  bins?: number;
}

/** One event among those of its name. */
export interface Siblings {
  name: number;
  count: number;
  /** By start, from 0. */
  position: number;
  shorter: number;
  equal: number;
  min: number;
  median: number;
  max: number;
  total: number;
  /** Durations, both inclusive. */
  bars: { from: number; to: number; count: number }[];
}

interface Sum {
  count: number;
  total: number;
}
/** The figures of the events of some rows in a span; only the part inside of it counts. */
export interface Selection extends Sum {
  /** The time in which at least one of them ran. */
  busy: number;
  rows: ({ row: number } & Sum)[];
  /** How many names there are; `names` has the longest. */
  different: number;
  names: ({ id: number; name: string } & Sum)[];
}
export interface Filter extends Partial<Span> {
  pid?: number;
  tid?: number;
  device?: number;
  stream?: number;
}

export type Cell = string | number | null;
export interface Column {
  name: string;
  kind: "int" | "real" | "text";
  /** time: nanoseconds since the origin. */
  unit: "none" | "ns" | "time" | "percent" | "bytes" | "megabytes" | "id";
  decimals: number;
}
export interface Table {
  report: string;
  title: string;
  columns: Column[];
  rows: Cell[][];
  total: number;
  name_column: number | null;
}

/** A square of ranks; each cell is as many ranks wide and high as `group` says. */
export interface MatrixArea {
  row: number;
  column: number;
  side: number;
}
interface Sent {
  messages: number;
  bytes: number;
  pairs: number;
}
export interface Matrix extends MatrixArea {
  /** In the job: one more than the highest. */
  ranks: number;
  group: number;
  all: Sent;
  /** Messages whose sender or receiver is not known. */
  unknown: Sent;
  cells: (readonly [row: number, column: number, messages: number, bytes: number])[];
}

/** What the GPUs did in a step; each of its moments counts once. */
export interface Strip extends Event {
  run: number;
  rank?: number;
  compute: number;
  communication: number;
  copies: number;
  idle: number;
  /** Nanoseconds of computing, communication and copies in each bin, one after the other. */
  bins: readonly number[];
}
export type StepsBy = "steps" | "ranks" | "runs";
export interface StepsQuery {
  by: StepsBy;
  order: "time" | "duration";
  /** The row of steps; the first one where absent. */
  row?: number;
  /** Of all ranks: the number of the step. */
  step?: number;
  bins: number;
  first: number;
  count: number;
}
/** Some strips, and the step whose duration is the median. */
export interface Steps {
  total: number;
  first: number;
  /** The length of a bin. */
  bin: number;
  median: Strip;
  strips: { place: number; items: Strip[] }[];
}

/** A table of two runs. */
export interface Diff extends Table {
  /** The column whose values are compared. */
  compared: string;
  unchanged: number;
  reports: { name: string; title: string }[];
}

export interface Flame {
  unit: "samples" | "ns";
  frames: Frame[];
  nodes: [parent: number, frame: number, self: number, total: number][];
  samples: number;
}

export interface Advice {
  /** impact: the time that following it could gain at most. about: per step, of a cause that a replay judged, low and high: the range of it, order: its
   * place among them, or -1. what: the finding in a few words; where: its line of the program; next: the work on a GPU that came next. */
  advice: {
    rule: string;
    title: string;
    text: string;
    row: number;
    event: number;
    from: number;
    to: number;
    impact: number;
    what: string;
    where: string;
    operator: string;
    next: string;
    about: number | null;
    low: number | null;
    high: number | null;
    confidence: string;
    order: number;
  }[];
  rules: { name: string; title: string; advice: string; count: number; impact: number }[];
  /** The rules that could not run: the data that the report lacks, and the option of `tacho profile` that records it. */
  unchecked: { name: string; title: string; data: string; option?: string }[];
}

/** The figures of `tacho summary`, as far as they are worked out; see docs/view-api.md. */
export interface Summary {
  /** The rank that all others of the job wait for, in a sentence; "" if there is none. */
  late: string;
  /** Of the mean step; steps is 0 where it is the GPU's part of the run. Percents, peak in FLOP/s. */
  figures: { step: number; steps: number; words: string; busy: number | null; mfu: number | null; peak: number | null; tensor: number | null; unknown: number | null } | null;
  memory: { bytes: number; device: string } | null;
  /** Of a step: they add up to it. */
  parts: { column: string; name: string; kind?: "compute" | "communication" | "copies"; cause?: string; state?: number; mean: number }[];
  /** The number of the state of each cause for which a GPU is idle. */
  causes: Record<string, number>;
  tables: (Table & { places: (Event | null)[] })[];
  /** The next part may take seconds. */
  long: boolean;
  complete: boolean;
}

export interface SqlResult {
  columns: string[];
  kinds: string[];
  rows: Cell[][];
  cut: boolean;
  /** Of a first answer: the table of which only some rows were read. null: the answer is the true one. */
  part: { table: string; rows: number; of: number } | null;
}

/** A table as the question that makes it: one of `tacho stats` about a part of the capture, or a statement. */
export type NoteTable = { report: string; part: Filter } | { statement: string };

/** A bookmark; one with a view is a chapter of the story that the list tells. */
export interface Note {
  id: string;
  time: number;
  to: number | null;
  row: number;
  /** Its title. */
  text: string;
  colour: number;
  /** What there is to say about it. */
  note: string;
  /** The view as the address has it behind #; "" of a bookmark that has none. */
  place: string;
  table: NoteTable | null;
}

export interface Overview {
  gpu: Float32Array;
  cpu: Float32Array;
}

/** Each answer is a promise; one that fails is rejected with an Error whose message is a sentence for the user. What may take long can be
 * called off by a signal, and is rejected then, too. */
export interface Engine {
  /** Rows that the page makes itself. */
  readonly made: MadeRows;
  about(): Promise<About>;
  rows(): Promise<Row[]>;
  /** Row tiles in the order asked. */
  tiles(rows: readonly number[], level: number, index: number): Promise<Tile[]>;
  names(ids: readonly number[]): Promise<string[]>;
  overview(width: number): Promise<Overview>;
  event(row: number, event: number): Promise<EventDetails>;
  /** The same without its links, and of the ranges around it only the innermost: what a tooltip needs, at once. */
  brief(row: number, event: number, signal: AbortSignal): Promise<EventDetails>;
  at(row: number, time: number, lane: number, slack: number): Promise<Event | null>;
  find(query: FindQuery, signal?: AbortSignal): Promise<Found>;
  next(query: FindQuery, at: number, back: boolean, after?: Event): Promise<Event | null>;
  /** A page of a list of events, in its order. */
  events(filter: EventFilter, wanted: EventPageWanted, signal?: AbortSignal): Promise<EventPage>;
  siblings(row: number, event: number, signal?: AbortSignal): Promise<Siblings>;
  selection(filter: EventFilter, signal?: AbortSignal): Promise<Selection>;
  /** options: words behind the report's name, "rank=3:peer=5". */
  table(report: string, filter: Filter & { options?: string }, limit: number, signal?: AbortSignal): Promise<Table>;
  /** Who sent how much to whom; all ranks where no area is given. */
  matrix(area: MatrixArea | null, span: Span | null, signal?: AbortSignal): Promise<Matrix>;
  steps(query: StepsQuery, signal?: AbortSignal): Promise<Steps>;
  /** How the run that is shown differs from the other one in a table of `tacho stats`. */
  diff(report: string | undefined, all: boolean, limit: number, signal?: AbortSignal): Promise<Diff>;
  flame(source: "cpu" | "python" | "events", filter: Filter & { row?: number }, signal?: AbortSignal): Promise<Flame>;
  /** Finds the causes of all gaps; tiles of their rows have the colours of causes from then on. isLong: that takes seconds. */
  idle(isLong: boolean): Promise<Idle>;
  advice(): Promise<Advice>;
  /** The parts of the summary that are read quickly. */
  quickSummary(): Promise<Summary>;
  /** Gives what is known after each part, and ends with the last one. */
  summary(each: (summary: Summary) => void): Promise<void>;
  /** first: an answer at once, from the first rows of long tables; its `part` says so. */
  sql(statement: string, signal?: AbortSignal, first?: boolean): Promise<SqlResult>;
  notes(): Promise<Note[]>;
  saveNotes(notes: readonly Note[]): Promise<void>;
  close(): void;
}
