// Notes as they were kept: a file beside the report that people pass on and edit, the document, or the browser's storage. What is
// no note in it is left out, so that nothing behind this line meets anything else.

import type { About, Filter, Note, NoteTable } from "./engine";

const isTime = (value: unknown): value is number => typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
const count = (value: unknown, otherwise: number) => (Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : otherwise);
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const PARTS = ["pid", "tid", "device", "stream"] as const;

function readTable(value: unknown): NoteTable | null {
  if (!isObject(value)) return null;
  if (typeof value["statement"] === "string") return { statement: value["statement"] };
  if (typeof value["report"] !== "string" || !/^[\w:=.,-]{1,200}$/.test(value["report"])) return null;
  const given = isObject(value["part"]) ? value["part"] : {};
  const part: Filter = Object.fromEntries(PARTS.filter((name) => Number.isSafeInteger(given[name])).map((name) => [name, given[name]]));
  return { report: value["report"], part };
}

function readNote(value: unknown, index: number): Note | null {
  if (!isObject(value)) return null;
  const { id, time, to, row, colour } = value;
  if (!isTime(time)) return null;
  return {
    id: typeof id === "string" && /^[\w-]{1,64}$/.test(id) ? id : `note-${index}`,
    time,
    to: isTime(to) ? to : null,
    row: count(row, -1),
    text: text(value["text"]),
    colour: count(colour, 0),
    note: text(value["note"]),
    place: text(value["place"]),
    table: readTable(value["table"]),
  };
}

/** The parts of a link that stay true when the report became a part of itself: times, which shift, and what is no number of a row. */
const KEPT = ["v", "s", "q", "m", "c", "p", "r", "h"];

function moved(place: string, by: number): string {
  const given = new URLSearchParams(place);
  const parts = KEPT.flatMap((name): [string, string][] => {
    const value = given.get(name);
    if (value === null) return [];
    const span = name === "v" || name === "s" ? /^(-?\d{1,17})-(-?\d{1,17})$/.exec(value) : null;
    return [[name, span ? `${Number(span[1]) + by}-${Number(span[2]) + by}` : value]];
  });
  return parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}

type Whose = Pick<About, "origin" | "events">;

/** What is kept: the notes, and of which report they are. */
export function keptNotes(notes: readonly Note[], { origin, events }: Whose): string {
  return JSON.stringify({ notes, origin, events });
}

/** Notes that were kept; those of the whole report find their time in a part of it, where rows and events have other numbers. */
export function readNotes(kept: unknown, about: Whose): Note[] {
  const { notes: list, origin, events } = isObject(kept) ? kept : { notes: kept, origin: undefined, events: undefined };
  const notes = Array.isArray(list) ? list.map(readNote).filter((note) => note !== null) : [];
  if (typeof origin !== "string" || !/^-?\d{1,20}$/.test(origin) || !/^-?\d{1,20}$/.test(about.origin)) return notes;
  const by = Number(BigInt(origin) - BigInt(about.origin));
  if (by === 0 && events === about.events) return notes;
  return notes.map((note) => ({ ...note, time: note.time + by, to: note.to === null ? null : note.to + by, row: -1, place: note.place && moved(note.place, by) }));
}
