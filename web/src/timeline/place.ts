// A place as the part of an address behind #, and back. Short, readable, and forgiving: what a link says wrongly is left out,
// so that an old or mangled link still opens the report.

import { PLAIN_CHOICES, type EventList, type Place } from "../app";
import type { FindMode, Span } from "../engine/engine";

const MODES: readonly FindMode[] = ["substring", "regex", "exact"];

const span = ({ from, to }: Span): string => `${Math.round(from)}-${Math.round(to)}`;

/** Ascending numbers with runs as a~b. */
function ranges(numbers: readonly number[]): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let end = i;
    while (end + 1 < sorted.length && sorted[end + 1] === sorted[end]! + 1) end++;
    parts.push(end > i ? `${sorted[i]}~${sorted[end]}` : `${sorted[i]}`);
    i = end + 1;
  }
  return parts.join(".");
}

/** "all", "search", "rows:3~5", "same:4.17:100-200"; ":s" behind it where only the selected span counts. */
function writeList(list: EventList): string {
  const range = list.of === "same" && (list.least !== undefined || list.most !== undefined) ? `:${list.least ?? 0}-${list.most ?? ""}` : "";
  const what = list.of === "rows" ? `:${ranges(list.rows)}` : list.of === "same" ? `:${list.row}.${list.event}${range}` : "";
  return `${list.of}${what}${list.inSpan ? ":s" : ""}`;
}

function readList(text: string, rows: number): EventList | null {
  const [, of, rest = "", span] = /^(all|search|rows|same)(:[\d.~:-]+?)?(:s)?$/.exec(text) ?? [];
  const inSpan = span !== undefined;
  if (of === "all" || of === "search") return { of, inSpan };
  if (of === "rows") return { of, rows: readRanges(rest.slice(1), 0, rows - 1), inSpan };
  const same = /^:(\d{1,9})\.(\d{1,10})(?::(\d{1,17})-(\d{0,17}))?$/.exec(rest);
  if (!same || Number(same[1]) >= rows) return null;
  return { of: "same", row: Number(same[1]), event: Number(same[2]), inSpan, ...(same[3] ? { least: Number(same[3]) } : {}), ...(same[4] ? { most: Number(same[4]) } : {}) };
}

export function writePlace(place: Place): string {
  const { view, span: chosen, event, search, panel, choices, top, chained, chapter } = place;
  const parts: [string, string | null][] = [
    ["v", span(view)],
    ["s", chosen && span(chosen)],
    ["sr", (chosen?.rows && ranges(chosen.rows)) || null],
    ["e", event && `${event.row}.${event.event}`],
    ["q", search?.text ? search.text : null],
    ["m", search?.mode && search.mode !== "substring" ? search.mode : null],
    ["c", search?.case ? "1" : null],
    ["p", panel],
    ["l", place.list && writeList(place.list)],
    ["y", top === null ? null : String(top)],
    ["t", ranges(choices.toggled) || null],
    ["x", ranges(choices.tall) || null],
    ["pin", choices.pinned.join(".") || null],
    ["mv", choices.moved.map(([row, before]) => `${row}:${before}`).join(".") || null],
    ["r", choices.filter || null],
    ["h", choices.hideEmpty ? "1" : null],
    ["ch", chained ? "1" : null],
    ["st", chapter],
  ];
  return parts.filter((part) => part[1] !== null).map(([name, value]) => `${name}=${encodeURIComponent(value ?? "")}`).join("&");
}

function readSpan(text: string | null): Span | null {
  const match = /^(-?\d{1,17})-(-?\d{1,17})$/.exec(text ?? "");
  const [from, to] = [Number(match?.[1]), Number(match?.[2])];
  return match && to >= from ? { from, to } : null;
}

function readRanges(text: string | null, least: number, most: number): number[] {
  const numbers: number[] = [];
  for (const part of (text ?? "").split(".")) {
    const match = /^(\d{1,9})(?:~(\d{1,9}))?$/.exec(part);
    if (!match) continue;
    const last = Math.min(most, Number(match[2] ?? match[1]));
    for (let number = Math.max(least, Number(match[1])); number <= last; number++) numbers.push(number);
  }
  return numbers;
}

/** The parts of a place that a link has; `rows` bounds the numbers of rows. */
export function readPlace(hash: string, rows: number): Partial<Place> {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const place: Partial<Place> = {};
  const view = readSpan(given.get("v"));
  if (view && view.to > view.from) place.view = view;
  place.span = readSpan(given.get("s"));
  const spanRows = readRanges(given.get("sr"), 0, rows - 1);
  if (place.span && spanRows.length > 0) place.span = { ...place.span, rows: spanRows };
  const event = /^(\d{1,9})\.(\d{1,10})$/.exec(given.get("e") ?? "");
  if (event && Number(event[1]) < rows) place.event = { row: Number(event[1]), event: Number(event[2]) };
  const text = given.get("q");
  if (text) {
    const mode = MODES.find((name) => name === given.get("m")) ?? "substring";
    place.search = { text, mode, ...(given.get("c") ? { case: true } : {}) };
  }
  if (/^[a-z]{1,20}$/.test(given.get("p") ?? "")) place.panel = given.get("p");
  const list = readList(given.get("l") ?? "", rows);
  if (list) place.list = list;
  const top = /^\d{1,9}$/.exec(given.get("y") ?? "");
  if (top && Number(top[0]) < rows) place.top = Number(top[0]);
  if (given.get("ch") === "1" && place.event) place.chained = true;
  if (/^[\w-]{1,64}$/.test(given.get("st") ?? "")) place.chapter = given.get("st");
  const names = ["t", "x", "pin", "mv", "r", "h"];
  if (names.some((name) => given.has(name))) {
    const moved = (given.get("mv") ?? "").split(".").map((part) => /^(\d{1,9}):(-?\d{1,9})$/.exec(part));
    place.choices = {
      ...PLAIN_CHOICES,
      toggled: readRanges(given.get("t"), 0, rows - 1),
      tall: readRanges(given.get("x"), 0, rows - 1),
      pinned: (given.get("pin") ?? "").split(".").filter((part) => /^\d{1,9}$/.test(part)).map(Number).filter((row) => row < rows),
      moved: moved.flatMap((match) => (match ? [[Number(match[1]), Number(match[2])] as const] : [])),
      filter: given.get("r") ?? "",
      hideEmpty: given.get("h") === "1",
    };
  }
  return place;
}
