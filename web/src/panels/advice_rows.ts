// Advice as rows: what each finding saves, its cause, the operator and the line of the program, and the kernel that came next. The
// order is that of `tacho analyze`: causes that a replay judged, then other rules by their impact, then lists of places to look at.

import type { Advice, Event } from "../engine/engine";

type Finding = Advice["advice"][number];

export interface AdviceRow {
  /** About; 0: not known. */
  saves: number;
  /** The saving is of a step, as a replay judged it, and not of the whole run. The two are never in one list. */
  ofStep: boolean;
  cause: string;
  where: string;
  place: Event | null;
  row: Finding;
}

function rowOf(finding: Finding): AdviceRow {
  const { about, impact, order, what, title, where, row, event, from, to } = finding;
  const ofStep = order >= 0;
  const place = { row: event >= 0 ? row : -1, event, name: title, from, to };
  return { saves: ofStep ? (about ?? 0) : impact, ofStep, cause: what || title, where, place: to >= from ? place : null, row: finding };
}

/** Every finding, those that matter most first. */
export function adviceRows({ advice, rules }: Pick<Advice, "advice" | "rules">): AdviceRow[] {
  const causes = advice.filter(({ order }) => order >= 0).sort((a, b) => a.order - b.order);
  const others = rules.flatMap(({ name }) => advice.filter(({ rule, order }) => rule === name && order < 0).sort((a, b) => b.impact - a.impact));
  return [...causes, ...others].map(rowOf);
}

/** What to change first: causes, and of each other rule the finding with the largest impact. */
export function ranked(advice: Pick<Advice, "advice" | "rules">): AdviceRow[] {
  const seen = new Set<string>();
  return adviceRows(advice).filter(({ row: { rule, order, impact } }) => {
    const first = order >= 0 || (impact > 0 && !seen.has(rule));
    seen.add(rule);
    return first;
  });
}
