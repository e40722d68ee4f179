// A bar for each step, as high as the step is long. Where there are more steps than bars fit, a bar is of several steps in a row and
// shows the longest of them, so that no slow step is hidden.

import type { App } from "../../app";
import type { Cell, Event, Summary } from "../../engine/engine";
import { count } from "../../units";
import { button, make } from "../../ui/dom";
import { partVariable, stateVariable, UNKNOWN_CAUSE } from "../../ui/tones";
import { goTo, numberOf, rowsOf, tableOf, textOf, time } from "./summary_lines";

/** More would be too thin to see, and to point at. */
const MOST_BARS = 100;
/** Of the height of a bar: longer steps are cut. */
const MOST_OF_MEDIAN = 3;

/** Of work, or of the cause for which a GPU is idle, as in the row "Why idle". */
export const colourOf = ({ kind, state }: Summary["parts"][number]): string => (kind ? partVariable(kind) : stateVariable(state ?? UNKNOWN_CAUSE));

interface Step {
  cells: Record<string, Cell>;
  place: Event | null;
}

const timeOf = ({ cells }: Step): number => numberOf(cells["Time"]);
const nameOf = ({ cells }: Step): string => textOf(cells["Step"]);

/** Neighbours together, as few as needed for at most `most` groups. */
export function inGroups<T>(all: readonly T[], most: number): T[][] {
  const each = Math.max(1, Math.ceil(all.length / most));
  return Array.from({ length: Math.ceil(all.length / each) }, (_, at) => all.slice(at * each, (at + 1) * each));
}

function wordsOf(steps: readonly Step[], longest: Step): string {
  if (steps.length === 1) return `Step ${nameOf(longest)}: ${time(timeOf(longest))}`;
  const mean = steps.reduce((sum, step) => sum + timeOf(step), 0) / steps.length;
  return `Steps ${nameOf(steps[0]!)} to ${nameOf(steps.at(-1)!)}: mean ${time(mean)}, longest ${time(timeOf(longest))} (step ${nameOf(longest)})`;
}

function towerOf({ cells }: Step, highest: number, parts: Summary["parts"]): HTMLElement {
  const tower = make("span", { class: "tower" });
  tower.style.height = `${Math.min(100, (100 * numberOf(cells["Time"])) / highest)}%`;
  tower.classList.toggle("longer", numberOf(cells["Time"]) > highest);
  for (const part of parts) {
    const ns = numberOf(cells[part.column]);
    if (ns <= 0) continue;
    const piece = make("span", {});
    piece.style.background = colourOf(part);
    piece.style.flexGrow = String(ns);
    tower.append(piece);
  }
  return tower;
}

function caption(app: App, total: number, shown: number, each: number, highest: number, longer: number): HTMLElement {
  const words = [
    shown < total ? `first ${count(shown)} of ${count(total)} steps` : `${count(shown)} steps`,
    ...(each > 1 ? [`each bar is the longest of ${each}`] : []),
    `up to ${time(highest)}${longer > 0 ? `; ${count(longer)} longer` : ""}`,
  ];
  const all = each > 1 ? [" ", button("All steps", () => app.set({ panel: "steps" }), { class: "link" })] : [];
  return make("figcaption", { class: "muted" }, words.join(", "), ...all);
}

/** One of the bars has the keyboard; arrows go through the others. */
export function stepBars(app: App, summary: Summary): HTMLElement | null {
  const table = tableOf(summary, "step_breakdown");
  const steps: Step[] = rowsOf(table);
  if (!table || steps.length < 2) return null;
  const times = steps.map(timeOf);
  const median = [...times].sort((a, b) => a - b)[times.length >> 1]!;
  const highest = Math.min(Math.max(...times), MOST_OF_MEDIAN * median); // a first step that loads everything must not hide the others
  const groups = inGroups(steps, MOST_BARS);
  const bars = make("div", { class: "step-bars", role: "group", "aria-label": "Steps" });
  groups.forEach((group, index) => {
    const longest = group.reduce((best, step) => (timeOf(step) > timeOf(best) ? step : best));
    const words = wordsOf(group, longest);
    const bar = make("button", { type: "button", class: "step-bar", title: words, "aria-label": words, tabindex: index === 0 ? 0 : -1 });
    bar.append(towerOf(longest, highest, summary.parts));
    bar.addEventListener("click", () => longest.place && goTo(app, longest.place));
    bars.append(bar);
  });
  bars.addEventListener("keydown", (event) => walk(bars, event));
  const longer = times.filter((ns) => ns > highest).length;
  return make("figure", { class: "steps" }, bars, caption(app, table.total, steps.length, groups[0]!.length, highest, longer));
}

function walk(bars: HTMLElement, event: KeyboardEvent): void {
  const all = [...bars.children] as HTMLElement[];
  const at = all.indexOf(event.target as HTMLElement);
  const to: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 };
  const next = all[Math.max(0, Math.min(all.length - 1, to[event.key] ?? -1))];
  if (to[event.key] === undefined || !next) return;
  event.preventDefault();
  event.stopPropagation();
  all[at]!.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
