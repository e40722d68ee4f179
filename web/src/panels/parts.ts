// The parts of a capture that a table or a flame graph can be narrowed to, as the rows of the timeline name them: processes,
// threads, GPUs, streams.

import type { Filter, Row } from "../engine/engine";
import { choice } from "../ui/dom";

const FILTERS: Readonly<Record<string, (row: Row) => Filter>> = {
  process: ({ pid }) => (pid === undefined ? {} : { pid }),
  thread: ({ tid }) => (tid === undefined ? {} : { tid }),
  gpu: ({ device }) => (device === undefined ? {} : { device }),
  stream: ({ device, stream }) => (stream === undefined ? {} : { stream, ...(device === undefined ? {} : { device }) }),
};

const known = new WeakMap<readonly Row[], ReadonlyMap<number, Row>>();

/** Rows by their number; there may be tens of thousands. */
function byId(rows: readonly Row[]): ReadonlyMap<number, Row> {
  const map = known.get(rows) ?? new Map(rows.map((row) => [row.id, row]));
  known.set(rows, map);
  return map;
}

/** A row and all that hold it, the outermost first. */
function wayTo(rows: readonly Row[], id: number): Row[] {
  const way: Row[] = [];
  for (let row = byId(rows).get(id); row; row = byId(rows).get(row.parent)) way.unshift(row);
  return way;
}

/** "GPU 0 › Stream 7": where a row stands. Each label is isolated (FSI … PDI), so that one that runs right to left turns no other. */
export function pathOf(rows: readonly Row[], id: number): string {
  return wayTo(rows, id).map((row) => `\u2068${row.label}\u2069`).join(" › ");
}

/** The value of such a choice for what the engine was asked with; "" where no row is meant by it. */
export function partOf(rows: readonly Row[], types: readonly string[], { pid, tid, device, stream }: Filter): string {
  const wanted = JSON.stringify([pid, tid, device, stream]);
  const row = rows.find((candidate) => {
    if (!types.includes(candidate.type)) return false;
    const part = FILTERS[candidate.type]?.(candidate) ?? {};
    return Object.keys(part).length > 0 && JSON.stringify([part.pid, part.tid, part.device, part.stream]) === wanted;
  });
  return row ? String(row.id) : "";
}

/** A choice of parts of some types; the first is all of it. `run` gets what the engine is to be asked with. */
export function partChoice(rows: readonly Row[], types: readonly string[], all: string, run: (filter: Filter) => void): HTMLSelectElement {
  const parts = rows.filter((row) => types.includes(row.type) && Object.keys(FILTERS[row.type]?.(row) ?? {}).length > 0);
  const values = parts.map((row) => [String(row.id), "\u2003".repeat(wayTo(rows, row.id).length - 1) + row.label] as const);
  return choice(all, [["", all], ...values], "", (id) => {
    const row = parts.find((one) => String(one.id) === id);
    run(row ? (FILTERS[row.type]?.(row) ?? {}) : {});
  });
}
