// What to change first: the ranked advice, each with its saving and the line of the program.

import type { App } from "../../app";
import type { Advice, Summary } from "../../engine/engine";
import { button, make } from "../../ui/dom";
import { ranked } from "../advice_rows";
import { rulesPending } from "../ask";
import { card, line, list, numberOf, rowsOf, tableOf, time } from "./summary_lines";

const MOST_OF_STEP = 5;
const MOST_OF_RUN = 2;
const TITLE = "What to change first";

/** The findings of one kind; `whole`: the time that their bars are a share of. */
function linesOf(app: App, advice: Advice, ofStep: boolean, whole: number): HTMLElement[] {
  return ranked(advice)
    .filter((row) => row.ofStep === ofStep)
    .slice(0, ofStep ? MOST_OF_STEP : MOST_OF_RUN)
    .map(({ saves, cause, where, place, row }) =>
      line(app, {
        figures: [saves > 0 ? time(saves) : "–"],
        share: whole > 0 ? saves / whole : 0,
        name: cause,
        full: row.text,
        where,
        place,
      }),
    );
}

function group(heading: string, lines: readonly HTMLElement[]): HTMLElement[] {
  if (lines.length === 0) return [];
  const element = list(lines, "auto");
  element.classList.add("wrapping");
  element.setAttribute("aria-label", heading);
  return [make("p", { class: "muted group" }, heading), element];
}

export function adviceCard(app: App, summary: Summary): HTMLElement {
  const { figures } = summary;
  const { advice } = app.state;
  if (!advice) return card(TITLE, rulesPending(app, "muted"));
  const recorded = numberOf(rowsOf(tableOf(summary, "run_sum")).find(({ cells }) => cells["Name"] === "Recorded time")?.cells["Time"]);
  const found = [
    ...group(figures && figures.steps > 0 ? "Estimated saving per step" : "Estimated saving in the GPU's part of the run", linesOf(app, advice, true, figures?.step ?? 0)),
    ...group("Of the whole run", linesOf(app, advice, false, recorded)),
  ];
  if (found.length === 0) return card(TITLE, make("p", { class: "muted" }, "The rules found nothing to improve."));
  const all = button("All advice", () => app.set({ panel: "advice" }), { class: "link" });
  return card(TITLE, ...found, make("p", { class: "more" }, all));
}
