// The Engine as requests of docs/view-api.md: what both engines share. They differ in how a request is carried (carry) and in
// where notes live. Requests that cannot go at once wait for their turn, so that a long one never holds up the picture.

import { decodeOverview, decodeTiles } from "./decode";
import type {
  About, Advice, Diff, Engine, Event, EventDetails, EventFilter, EventPage, EventPageWanted, Filter, FindQuery, Flame, Found, Idle, Matrix, MatrixArea, Note, Overview, Row, Selection, Siblings, Span, SqlResult, Steps, StepsQuery, Summary, Table, Tile,
} from "./engine";
import { isMade, MadeRows } from "./made_rows";

type Value = string | number | boolean | undefined;

/** "name?argument=value&…"; what is undefined or false is left out. */
export function requestOf(name: string, values: { readonly [argument: string]: Value } = {}): string {
  const parts = Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([argument, value]) => `${argument}=${encodeURIComponent(value === true ? 1 : value!)}`);
  return parts.length ? `${name}?${parts.join("&")}` : name;
}

/** Whole nanoseconds: what a pointer on a screen means may lie between two, or in the margin behind the last that there is. */
const LAST_TIME = 2 ** 53;
const within = (time: number) => Math.max(-LAST_TIME, Math.min(LAST_TIME, time));
const floor = (time: number) => within(Math.floor(time));
const ceil = (time: number) => within(Math.ceil(time));
const whole = (filter: Filter) => ({
  ...filter,
  from: filter.from === undefined ? undefined : floor(filter.from),
  to: filter.to === undefined ? undefined : ceil(filter.to),
});

const placeOf = (event: { row: number; event: number } | undefined) => (event ? `${event.row},${event.event}` : undefined);

const filterOf = ({ from, to, rows, same, search, least, most }: EventFilter) => ({
  ...whole({ ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }),
  rows: rows?.filter((row) => !isMade(row)).join(","),
  same: placeOf(same),
  ...search,
  row: undefined,
  least,
  most,
});

/** The order of waiting requests: quick answers first, then pictures, then long requests. */
enum Turn { Quick, Picture, Long }

interface Waiting {
  turn: Turn;
  signal: AbortSignal | undefined;
  start: () => void;
  refuse: (error: Error) => void;
}

/** After this time without a request for a tile, the reader does not move through the report. */
const CALM_MS = 1000;

/** Long requests leave this number of connections free for quick ones and pictures. */
const KEPT_FREE = 2;

const wasCancelled = () => new Error("The request was cancelled.");
const wasClosed = () => new Error("The report was closed.");

export abstract class RequestEngine implements Engine {
  private waiting: Waiting[] = [];
  private running = 0;
  private longRunning = 0;
  private shared = new Map<string, Promise<ArrayBuffer>>();
  private closed = false;
  private facts: Promise<About> | null = null;
  private pictureAsked = -Infinity;

  /** atOnce: how many requests are under way at a time. */
  constructor(private readonly atOnce: number) {}

  protected abstract carry(request: string, body?: string, signal?: AbortSignal): Promise<ArrayBuffer>;
  abstract notes(): Promise<Note[]>;
  readonly made = new MadeRows();
  abstract saveNotes(notes: readonly Note[]): Promise<void>;

  /** Asked once: notes are stored under it, and saving them while the page closes must not wait for a busy engine. */
  about(): Promise<About> {
    return (this.facts ??= this.json("about"));
  }

  async rows(): Promise<Row[]> {
    return (await this.json<{ rows: Row[] }>("rows")).rows;
  }

  async tiles(rows: readonly number[], level: number, index: number): Promise<Tile[]> {
    if (rows.length === 0) return [];
    const own = rows.filter((row) => !isMade(row));
    if (own.length < rows.length) {
      const tiles = new Map((await this.tiles(own, level, index)).map((tile) => [tile.row, tile]));
      return rows.map((row) => tiles.get(row) ?? this.made.tile(row, level, index));
    }
    this.pictureAsked = performance.now();
    return decodeTiles(await this.ask(`tile?rows=${rows.join(",")}&level=${level}&index=${index}`, undefined, Turn.Picture));
  }

  async names(ids: readonly number[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const own = ids.filter((id) => this.made.name(id) === null);
    if (own.length < ids.length) {
      const texts = await this.names(own);
      let next = 0;
      return ids.map((id) => this.made.name(id) ?? texts[next++] ?? "");
    }
    return (await this.json<{ names: string[] }>(`names?ids=${ids.join(",")}`)).names;
  }

  async overview(width: number): Promise<Overview> {
    return decodeOverview(await this.ask(requestOf("overview", { width: Math.max(1, Math.round(width)) }), undefined, Turn.Picture));
  }

  async event(row: number, event: number): Promise<EventDetails> {
    if (isMade(row)) return this.made.details(row, event);
    return this.json(requestOf("event", { row, event }));
  }

  async brief(row: number, event: number, signal: AbortSignal): Promise<EventDetails> {
    if (isMade(row)) return this.made.details(row, event);
    return this.json(requestOf("event", { row, event, brief: true }), undefined, Turn.Quick, signal);
  }

  async at(row: number, time: number, lane: number, slack: number): Promise<Event | null> {
    if (isMade(row)) return this.made.at(row, time, lane, slack);
    return this.json(requestOf("at", { row, time: floor(time), lane, slack: ceil(slack) }));
  }

  find(query: FindQuery, signal?: AbortSignal): Promise<Found> {
    return this.json(requestOf("find", { ...query }), undefined, Turn.Long, signal);
  }

  next(query: FindQuery, at: number, back: boolean, after?: Event): Promise<Event | null> {
    return this.json(requestOf("next", { ...query, at: floor(at), back, after: placeOf(after) }));
  }

  async events(filter: EventFilter, wanted: EventPageWanted, signal?: AbortSignal): Promise<EventPage> {
    if (filter.rows?.some(isMade)) return this.made.page(filter, wanted);
    if (filter.same && isMade(filter.same.row)) return this.made.page({ rows: [filter.same.row] }, wanted);
    const { sort, down, offset, limit, bins } = wanted;
    const at = wanted.at && isMade(wanted.at.row) ? undefined : wanted.at;
    return this.json(requestOf("events", { ...filterOf(filter), sort, down, offset, limit, at: placeOf(at), bins }), undefined, Turn.Long, signal);
  }

  async siblings(row: number, event: number, signal?: AbortSignal): Promise<Siblings> {
    if (isMade(row)) throw new Error("A row of a query has no durations to compare.");
    return this.json(requestOf("siblings", { row, event }), undefined, Turn.Long, signal);
  }

  selection(filter: EventFilter, signal?: AbortSignal): Promise<Selection> {
    return this.json(requestOf("selection", filterOf(filter)), undefined, Turn.Long, signal);
  }

  matrix(area: MatrixArea | null, span: Span | null, signal?: AbortSignal): Promise<Matrix> {
    return this.json(requestOf("matrix", { ...area, ...whole({ ...span }) }), undefined, Turn.Long, signal);
  }

  table(report: string, filter: Filter & { options?: string }, limit: number, signal?: AbortSignal): Promise<Table> {
    return this.json(requestOf("table", { report, ...whole(filter), limit }), undefined, Turn.Long, signal);
  }

  steps(query: StepsQuery, signal?: AbortSignal): Promise<Steps> {
    return this.json(requestOf("steps", { ...query }), undefined, Turn.Long, signal);
  }

  diff(report: string | undefined, all: boolean, limit: number, signal?: AbortSignal): Promise<Diff> {
    return this.json(requestOf("diff", { report, all, limit }), undefined, Turn.Long, signal);
  }

  flame(source: "cpu" | "python" | "events", filter: Filter & { row?: number }, signal?: AbortSignal): Promise<Flame> {
    const { tid, ...rest } = filter;
    return this.json(requestOf("flame", { source, ...whole(rest), thread: tid, row: filter.row }), undefined, Turn.Long, signal);
  }

  /** isLong: the causes take seconds, so they wait until the view rests, as the rules of the advice do. */
  async idle(isLong: boolean): Promise<Idle> {
    if (isLong && this.stir() > 0) await this.calm();
    return this.json("idle", undefined, Turn.Long);
  }

  /** Rule by rule, and none while the view moves: a rule over millions of events would delay the picture. */
  async advice(): Promise<Advice> {
    for (;;) {
      if (this.stir() > 0) await this.calm();
      const advice = await this.json<Advice & { complete: boolean }>("advice?step=1", undefined, Turn.Long);
      if (advice.complete) return advice;
    }
  }

  /** The parts of the summary that are read quickly. */
  quickSummary(): Promise<Summary> {
    return this.json("summary?quick=1", undefined, Turn.Long);
  }

  /** The whole summary, part by part; a part that may take seconds waits until the view rests. */
  async summary(each: (summary: Summary) => void): Promise<void> {
    for (let isLong = false; ; ) {
      if (isLong && this.stir() > 0) await this.calm();
      const summary = await this.json<Summary>("summary?step=1", undefined, Turn.Long);
      each(summary);
      if (summary.complete) return;
      isLong = summary.long;
    }
  }

  /** The time in ms until the view counts as resting; 0 or less: it rests. */
  private stir(): number {
    return this.pictureAsked + CALM_MS - performance.now();
  }

  private async calm(): Promise<void> {
    for (let left; (left = this.stir()) > 0; ) await new Promise((resolve) => setTimeout(resolve, left));
  }

  sql(statement: string, signal?: AbortSignal, first = false): Promise<SqlResult> {
    return this.json(requestOf("sql", { first }), statement, Turn.Long, signal);
  }

  close(): void {
    this.closed = true;
    for (const { refuse } of this.waiting.splice(0)) refuse(wasClosed());
  }

  protected async json<Answer>(request: string, body?: string, turn = Turn.Quick, signal?: AbortSignal): Promise<Answer> {
    return JSON.parse(new TextDecoder().decode(await this.ask(request, body, turn, signal))) as Answer;
  }

  /** Equal requests under way share one answer, unless the caller may cancel its own (signal). */
  protected ask(request: string, body?: string, turn = Turn.Quick, signal?: AbortSignal): Promise<ArrayBuffer> {
    if (body !== undefined || signal) return this.queue(turn, () => this.carry(request, body, signal), signal);
    let answer = this.shared.get(request);
    if (!answer) {
      const forget = () => void this.shared.delete(request);
      answer = this.queue(turn, () => this.carry(request));
      this.shared.set(request, answer);
      answer.then(forget, forget);
    }
    return answer;
  }

  private queue<Answer>(turn: Turn, work: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    if (this.closed) return Promise.reject(wasClosed());
    const long = turn === Turn.Long ? 1 : 0;
    return new Promise((resolve, refuse) => {
      const start = () => {
        this.running++;
        this.longRunning += long;
        work().then(resolve, refuse).finally(() => {
          this.running--;
          this.longRunning -= long;
          this.startNext();
        });
      };
      this.waiting.push({ turn, signal, start, refuse });
      this.startNext();
    });
  }

  private startNext(): void {
    for (const { signal, refuse } of this.waiting) if (signal?.aborted) refuse(wasCancelled());
    this.waiting = this.waiting.filter(({ signal }) => !signal?.aborted);
    const mostLong = Math.max(1, this.atOnce - KEPT_FREE);
    while (this.running < this.atOnce && this.waiting.length > 0) {
      const at = this.nextPlace();
      if (this.waiting[at]!.turn === Turn.Long && this.longRunning >= mostLong) return;
      this.waiting.splice(at, 1)[0]!.start();
    }
  }

  /** In the order in which they came, but of pictures the newest: after a quick movement it is the only one that matters. */
  private nextPlace(): number {
    const turns = this.waiting.map(({ turn }) => turn);
    const first = turns.reduce((least, turn) => Math.min(least, turn), Turn.Long);
    return first === Turn.Picture ? turns.lastIndexOf(first) : turns.indexOf(first);
  }
}
