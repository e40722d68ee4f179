// What to change first: the ranked advice, each with its saving and the line of the program.

import type { App } from "../../app";
import type { Advice, Summary } from "../../engine/engine";
import { button, make } from "../../ui/dom";
import { ranked } from "../advice_rows";
import { rulesPending } from "../ask";
import { card, line, list, time } from "./summary_lines";

const MOST = 5;
const TITLE = "What to change first";

function linesOf(app: App, advice: Advice, whole: number): HTMLElement[] {
  return ranked(advice)
    .slice(0, MOST)
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

export function adviceCard(app: App, { figures }: Summary): HTMLElement {
  const { advice } = app.state;
  if (!advice) return card(TITLE, rulesPending(app, "muted"));
  const found = linesOf(app, advice, figures?.step ?? 0);
  if (found.length === 0) return card(TITLE, make("p", { class: "muted" }, "The rules found nothing to improve."));
  const all = button("All advice", () => app.set({ panel: "advice" }), { class: "link" });
  const lines = list(found, "auto");
  lines.classList.add("wrapping");
  return card(TITLE, lines, make("p", { class: "more" }, figures && figures.steps > 0 ? "Estimated saving per step. " : "", all));
}
