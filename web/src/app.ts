// The state of the page, once. The timeline and the panels read it, change it through its functions, and hear of changes; they
// never speak to each other. What a link must carry (view, selection, folded rows, …) is exactly what `Place` holds.

import type { Drawing } from "./ui/picture";
import type { Advice, Engine, About, Event, EventDetails, Found, FindQuery, Idle, Note, Row, Span } from "./engine/engine";
import type { Summary } from "./engine/engine";

/** How the rows are shown, as far as it differs from how the report shows them at first. */
export interface RowChoices {
  /** Rows whose fold is not the one that the engine proposed. */
  toggled: readonly number[];
  pinned: readonly number[];
  /** Rows that show all of their lanes. */
  tall: readonly number[];
  /** Moved rows, in the order in which they were moved: [row, the sibling before which it stands, or -1 for the end]. */
  moved: readonly (readonly [row: number, before: number])[];
  filter: string;
  hideEmpty: boolean;
}

/** The events that the panel Events lists; inSpan: only those in the selected span, if there is one. */
export type EventList = { inSpan: boolean } & (
  | { of: "all" | "search" }
  | { of: "rows"; rows: readonly number[]; name?: number }
  | { of: "same"; row: number; event: number; least?: number; most?: number }
);

/** What a link shows a colleague. */
export interface Place {
  view: Span;
  /** rows: only these rows count, with all below them. */
  span: (Span & { rows?: readonly number[] }) | null;
  event: { row: number; event: number } | null;
  search: FindQuery | null;
  panel: string | null;
  /** null: those of the row of the selected event, else all. */
  list: EventList | null;
  choices: RowChoices;
  /** The first row in sight below the pinned ones; null: the first of all. */
  top: number | null;
  /** Only the rows of the selected event's chain are shown. */
  chained: boolean;
  /** The bookmark whose chapter is being read. */
  chapter: string | null;
}

export interface State extends Place {
  engine: Engine;
  about: About;
  rows: readonly Row[];
  details: EventDetails | null;
  found: Found | null;
  advice: Advice | null;
  idle: Idle | null;
  /** As far as it is known. */
  summary?: Summary;
  notes: readonly Note[];
  /** The distance from one event to another is shown. */
  measure: { from: Event; to: Event } | null;
  /** Where the matches of the search, or the listed events, are: the used ones of `of` parts of the report. */
  ticks: { bins: readonly number[]; of: number } | null;
  hover: { row: number; event: number; name: string } | null;
  theme: "light" | "dark" | "system";
}

export type Change = keyof State;

export const PLAIN_CHOICES: RowChoices = { toggled: [], pinned: [], tall: [], moved: [], filter: "", hideEmpty: false };

/** The one store. `set` merges and tells every listener which parts changed, once per task. */
export class App {
  private listeners: ((changed: ReadonlySet<Change>) => void)[] = [];
  private pending = new Set<Change>();

  constructor(readonly state: State) {}

  listen(listener: (changed: ReadonlySet<Change>) => void): void {
    this.listeners.push(listener);
  }

  set(parts: Partial<State>): void {
    const first = this.pending.size === 0;
    for (const [key, value] of Object.entries(parts) as [Change, never][]) {
      if (this.state[key] === value) continue;
      (this.state as Record<Change, unknown>)[key] = value;
      this.pending.add(key);
    }
    if (first && this.pending.size > 0) queueMicrotask(() => this.tell());
  }

  private tell(): void {
    const changed = this.pending;
    this.pending = new Set();
    for (const listener of this.listeners) listener(changed);
  }

  /** Selects an event and, unless it is in view already, brings it there; its details follow when they are known. */
  select(event: Pick<Event, "row" | "event"> | null, bring?: Event): void {
    this.set({ event, details: null, ...(bring ? { view: this.around(bring) } : {}) });
    if (!event) return;
    this.state.engine.event(event.row, event.event).then(
      (details) => {
        const now = this.state.event;
        if (now && now.row === event.row && now.event === event.event) this.set({ details });
      },
      (error: Error) => this.fail(error),
    );
  }

  /** Lists events in their panel. */
  listEvents(list: EventList): void {
    this.set({ list, panel: "events" });
  }

  /** A view that shows all of an event with as much again on both sides, or the present one where it is shown already. */
  around(event: Span): Span {
    const { view } = this.state;
    const length = event.to - event.from;
    const visible = event.from >= view.from && event.to <= view.to && length * 200 > view.to - view.from;
    if (visible) return view;
    const margin = Math.max(length, 500);
    return { from: event.from - margin, to: event.to + margin };
  }

  /** Told by the timeline when the first picture is whole; what takes the engine long is asked for behind it. */
  pictured: () => void = () => {};
  readonly firstPicture = new Promise<void>((resolve) => (this.pictured = resolve));

  /** Set by the timeline: the present picture, to be drawn again on paper. */
  picture: (() => Drawing) | null = null;

  /** Set by the timeline: the rows in sight. */
  rowsInSight: () => readonly Row[] = () => [];

  /** Set by main: a place as a link has it behind #. */
  linkOf: (place: Place) => string = () => "";

  /** Set by main: shows the place that a link names. */
  goTo: (hash: string) => void = () => {};

  /** Set by the panels: tells the user that something is done. */
  say: (sentence: string) => void = () => {};

  /** Set by the timeline: asks for what is missing, and draws again. */
  redraw: () => void = () => {};

  /** Set by main: shows a sentence to the user. */
  fail: (error: Error) => void = (error) => console.error(error);
}
