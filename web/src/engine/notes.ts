// Notes as they were kept: a file beside the report that people pass on and edit, or the browser's storage. What is no note in
// it is left out, so that nothing behind this line meets anything else.

import type { Note } from "./engine";

const isTime = (value: unknown): value is number => typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
const count = (value: unknown, otherwise: number) => (Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : otherwise);

function readNote(value: unknown, index: number): Note | null {
  if (typeof value !== "object" || value === null) return null;
  const { id, time, to, row, text, colour } = value as Record<keyof Note, unknown>;
  if (!isTime(time)) return null;
  return {
    id: typeof id === "string" && /^[\w-]+$/.test(id) ? id : `note-${index}`,
    time,
    to: isTime(to) ? to : null,
    row: count(row, -1),
    text: typeof text === "string" ? text : "",
    colour: count(colour, 0),
  };
}

export function readNotes(kept: unknown): Note[] {
  return Array.isArray(kept) ? kept.map(readNote).filter((note) => note !== null) : [];
}
