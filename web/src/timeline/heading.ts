// What stands left of the minimap and the ruler: the report in a few words, the filter of rows, and the switches for them. It
// also writes the names of rows into pictures, where there are no elements.

import type { App } from "../app";
import type { Span } from "../engine/engine";
import { addressOf, addressOfRun, ranks, run } from "../engine/http";
import { perform, on } from "../keys";
import { make } from "../ui/dom";
import type { Surface } from "../ui/surface";
import { duration } from "../units";
import type { Palette } from "./palette";
import { FONT } from "./paint";
import type { Shown } from "./row_list";
import { RULER } from "./ruler";

/** As much of a text as a width holds. */
function fitting(surface: Surface, text: string, width: number): string {
  let fits = text.slice(0, 200);
  while (fits.length > 1 && surface.measureText(fits).width > width) fits = `${fits.slice(0, -2)}…`;
  return fits;
}

export class Heading {
  readonly top = make("div", { class: "corner" });
  private readonly length = make("strong", {});
  private readonly part = make("span", {});
  readonly side = make("div", { class: "row-tools" });

  constructor(app: App) {
    this.top.append(this.length, this.part);
    const some = ranks();
    if (some !== null) this.top.append(make("a", { class: "all-ranks", href: addressOf(null, ""), title: `This page shows ${/\D/.test(some) ? "ranks" : "rank"} ${some}` }, "All ranks"));
    const { other } = app.state.about;
    if (other !== undefined) this.top.append(make("a", { class: "all-ranks", href: addressOfRun(1, ""), title: `Show the other run, ${other}` }, "Other run"));
    else if (run() === 1) this.top.append(make("a", { class: "all-ranks", href: addressOfRun(0, ""), title: "Show the first run, with the comparison" }, "First run"));
    const filter = make("input", { type: "search", class: "row-filter", placeholder: "Filter rows", "aria-label": "Filter rows by name", spellcheck: "false", autocomplete: "off" });
    filter.value = app.state.choices.filter;
    filter.addEventListener("input", () => app.set({ choices: { ...app.state.choices, filter: filter.value } }));
    filter.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && event.key !== "Enter") return;
      event.stopPropagation();
      if (event.key === "Escape") {
        filter.value = "";
        app.set({ choices: { ...app.state.choices, filter: "" } });
      }
      filter.blur();
    });
    const empty = make("button", { type: "button", class: "row-switch", title: "Hide rows without events in this view (H)", "aria-pressed": "false" }, "Hide empty");
    empty.addEventListener("click", () => perform("rows-hide-empty"));
    const pressed = (): void => empty.setAttribute("aria-pressed", String(app.state.choices.hideEmpty));
    pressed();
    app.listen((changed) => {
      if (!changed.has("choices")) return;
      pressed();
      if (document.activeElement !== filter) filter.value = app.state.choices.filter;
    });
    on("rows-filter", () => filter.select());
    this.side.append(filter, empty);
  }

  /** How much of the report is shown. */
  show(view: Span, report: Span): void {
    const [shown, all] = [view.to - view.from, report.to - report.from];
    const length = duration(Math.min(shown, all));
    if (this.length.textContent === length) return;
    this.length.textContent = length;
    const share = (100 * shown) / Math.max(all, 1);
    this.part.textContent = share > 99 ? "the whole report" : `${share >= 0.01 ? `${Number(share.toPrecision(2))} %` : "< 0.01 %"} of ${duration(all)}`;
  }

  picture(surface: Surface, shown: readonly Shown[], width: number, height: number, palette: Palette): void {
    surface.fillStyle = palette.paper;
    surface.fillRect(0, 0, width, height);
    surface.textBaseline = "middle";
    surface.textAlign = "left";
    for (const { line, y } of shown) {
      if (y < RULER) continue;
      surface.font = line.row.kind === "group" ? `600 ${FONT}` : FONT;
      surface.fillStyle = palette.ink;
      const left = 10 + line.depth * 12;
      surface.fillText(fitting(surface, line.row.label, width - left - 4), left, y + 12);
      surface.fillStyle = palette.line;
      surface.fillRect(0, y + line.height - 1, width, 1);
    }
    surface.fillStyle = palette.line;
    surface.fillRect(width - 1, 0, 1, height);
  }
}
