// The chain of an event: what launched it and what it launched, its operator, the ranges around it, what it waited for, its forward
// or backward partner. Focus shows the rows of these events alone, with the few arrows that matter most.

import type { Engine, Event, EventDetails, Row } from "../engine/engine";
import { MARKED } from "./links";

/** More arrows cannot be followed by the eye. */
export const MOST_ARROWS = 8;
/** The most arrows of one kind, so that the kernels of an operator leave room for the rest of the chain. */
const OF_A_KIND = 3;
const MOST_ASKED = 4;

/** The kinds of links that lead on, the most telling first; others come behind them. */
const TELLING = ["launched-by", "launches", "lock-holder", "waits-for", "awaited-by", "forward", "backward", "message-from", "message-to", "kernels"];

interface Link {
  kind: string;
  /** The event whose link it is, and the other one. */
  of: Event;
  to: Event;
}

export interface Chain {
  /** The selected event. */
  event: Event;
  links: Link[];
  /** All rows of its events. */
  rows: ReadonlySet<number>;
}

const rankOf = (kind: string): number => (TELLING.includes(kind) ? TELLING.indexOf(kind) : TELLING.length);
const keyOf = ({ row, event }: Pick<Event, "row" | "event">): string => `${row}.${event}`;

/** The links of some events, each pair once, in the order of their kinds; of many of a kind the longest events. */
export function chainLinks(all: readonly EventDetails[]): Link[] {
  const links: Link[] = [];
  const told = new Set<string>();
  for (const details of all) {
    const kinds = new Map<string, EventDetails["links"]>();
    for (const link of details.links) if (link.kind !== MARKED) kinds.set(link.kind, [...(kinds.get(link.kind) ?? []), link]);
    for (const [kind, some] of kinds) {
      const longest = [...some].sort((a, b) => b.to - b.from - (a.to - a.from) || a.from - b.from).slice(0, OF_A_KIND);
      for (const to of longest) {
        const pair = [keyOf(details), keyOf(to)].sort().join();
        if (told.has(pair)) continue;
        told.add(pair);
        links.push({ kind, of: details, to });
      }
    }
  }
  return links.sort((a, b) => rankOf(a.kind) - rankOf(b.kind)).slice(0, MOST_ARROWS);
}

/** Events whose own links belong to the chain: the operator, the call that launched it, what it launched first, its partner. */
function further(details: EventDetails): Event[] {
  const first = (kind: string): Event[] => details.links.filter((link) => link.kind === kind).slice(0, 1);
  const events = [...(details.operator ? [details.operator] : []), ...["launched-by", "launches", "kernels", "forward", "backward"].flatMap(first)];
  const known = new Set([keyOf(details)]);
  return events.filter((event) => !known.has(keyOf(event)) && known.add(keyOf(event))).slice(0, MOST_ASKED);
}

/** The states of the threads whose events these are, which tell whether they ran. */
function statesOf(rows: readonly Row[], some: ReadonlySet<number>): number[] {
  const threads = new Set(rows.filter(({ id, tid }) => some.has(id) && tid !== undefined).map(({ parent }) => parent));
  return rows.filter(({ type, parent }) => type === "state" && threads.has(parent)).map(({ id }) => id);
}

export async function chainOf(engine: Engine, rows: readonly Row[], details: EventDetails): Promise<Chain> {
  const others = await Promise.all(further(details).map((event) => engine.event(event.row, event.event)));
  const links = chainLinks([details, ...others]);
  const events: Event[] = [details, ...(details.operator ? [details.operator] : []), ...details.around, ...links.flatMap(({ of, to }) => [of, to])];
  const some = new Set(events.map(({ row }) => row));
  for (const id of statesOf(rows, some)) some.add(id);
  return { event: details, links, rows: some };
}
