// What changed between two runs: the tables of `tacho diff`, the largest change first.

import type { Change } from "../app";
import type { Cell, Diff } from "../engine/engine";
import { addressOfRun } from "../engine/http";
import { button, choice, make } from "../ui/dom";
import { isText, recall, remember } from "../ui/memory";
import { count } from "../units";
import { Grid } from "./grid";
import { Latest, Panel } from "./panel";
import { look } from "./tables";

const ROWS = 10_000;

export class ComparePanel extends Panel {
  readonly name = "compare";
  readonly title = "Compare";
  protected readonly shows: readonly Change[] = [];
  private readonly latest = new Latest();
  private readonly bar = make("div", { class: "bar" });
  private readonly words = make("p", { class: "tables-span", role: "status" });
  private grid!: Grid;
  private report = recall("compare.report", isText, "");
  private all = false;

  protected build(): void {
    this.grid = new Grid((error) => this.app.fail(error));
    this.element.append(this.bar, this.grid.element);
  }

  override focus(): void {
    this.grid.focus();
  }

  protected draw(): void {
    void this.fill();
  }

  private async fill(): Promise<void> {
    const { engine } = this.app.state;
    this.element.setAttribute("aria-busy", "true");
    try {
      const diff = await this.latest.of((signal) => engine.diff(this.report || undefined, this.all, ROWS, signal));
      if (diff) this.show(diff);
    } catch (error) {
      if (this.report !== "") {
        this.report = ""; // of another comparison
        return this.fill();
      }
      this.grid.fill({ label: "Differences", columns: [{ title: "Message", numeric: false }], rows: [[(error as Error).message]] });
    }
    if (!this.latest.isOpen) this.element.removeAttribute("aria-busy");
  }

  private show(diff: Diff): void {
    const { about } = this.app.state;
    const titles = diff.reports.map(({ name, title }) => [name, title] as const);
    const chosen = choice("Table", titles, diff.report, (report) => {
      this.report = report;
      remember("compare.report", report);
      this.redraw();
    });
    const all = button("Unchanged rows", () => {
      this.all = !this.all;
      this.redraw();
    }, { class: "quiet", pressed: this.all, title: "Also list the rows that did not change" });
    const other = make("a", { class: "link", href: addressOfRun(1, "") }, about.other ?? "");
    const left = diff.unchanged > 0 ? `; ${count(diff.unchanged)} rows did not change` : "";
    this.words.replaceChildren(`${diff.compared}: before is `, make("bdi", {}, about.name), ", after is ", make("bdi", {}, other), left);
    const name = make("code", { class: "report-name", title: `In the terminal: tacho diff -r ${diff.report}` }, diff.report);
    this.bar.replaceChildren(chosen, name, all, this.words, this.grid.tools);
    const names = diff.columns.findIndex(({ kind, name: title }) => kind === "text" && title !== "Note");
    this.grid.fill({
      label: `${diff.title}, differences`,
      columns: diff.columns.map((column) => look(column, () => {})).map(({ bar: _, link: __, ...column }) => column),
      rows: diff.rows,
      total: Math.min(diff.total, ROWS),
      lead: names < 0 ? undefined : names,
      act: (row: readonly Cell[]) => void this.goTo(String(row[names] ?? "")),
    });
  }

  /** The next event of that name in the run that is shown. */
  private async goTo(name: string): Promise<void> {
    const { engine, details, about } = this.app.state;
    const query = { text: name, mode: "exact", case: true } as const;
    try {
      const event = (details?.name === name ? await engine.next(query, details.from, false, details) : null) ?? (await engine.next(query, about.from - 1, false));
      if (event) this.app.select(event, event);
      else this.app.say("This run has no event of that name.");
    } catch (error) {
      this.app.fail(error as Error);
    }
  }
}
