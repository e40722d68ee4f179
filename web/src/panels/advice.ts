// What the rules of `tacho analyze` and the largest gaps found, as a table: a click on a row goes to its place and shows the finding
// below, with the advice. The order is that of the command: what saves the most first, causes outside of the program last.

import type { Change } from "../app";
import type { Advice } from "../engine/engine";
import { count } from "../units";
import { make } from "../ui/dom";
import { rulesPending } from "./ask";
import { adviceRows, type AdviceRow } from "./advice_rows";
import { Grid, type GridColumn } from "./grid";
import { Panel } from "./panel";
import { goTo, time } from "./summary/summary_lines";
import { whole } from "../ui/text";

const COLUMNS = (title: string, most: number): readonly GridColumn[] => [
  { title, numeric: true, words: (cell) => time(Number(cell)), bar: (cell) => (most > 0 ? Number(cell ?? 0) / most : 0) },
  { title: "Cause", numeric: false },
  { title: "Operator", numeric: false },
  { title: "Python line", numeric: false },
  { title: "Next kernel", numeric: false },
];

export class AdvicePanel extends Panel {
  readonly name = "advice";
  readonly title = "Advice";
  protected readonly shows: readonly Change[] = ["advice"];
  /** Savings per step, and findings of the whole run: their times are not compared, so they are two tables. */
  private groups!: readonly { ofStep: boolean; heading: string; grid: Grid }[];
  private rows: AdviceRow[] = [];
  private readonly sentence = make("div", { class: "advice-sentence", "aria-live": "polite" });

  protected build(): void {
    const grid = (): Grid => new Grid((error) => this.app.fail(error));
    this.groups = [
      { ofStep: true, heading: "Saves per step", grid: grid() },
      { ofStep: false, heading: "Of the whole run", grid: grid() },
    ];
  }

  override focus(): void {
    const first = this.groups.find(({ ofStep }) => this.rows.some((row) => row.ofStep === ofStep));
    if (first) first.grid.focus();
    else super.focus();
  }

  protected draw(): void {
    const { advice } = this.app.state;
    if (!advice) this.element.replaceChildren(rulesPending(this.app, "empty"));
    else this.element.replaceChildren(...this.found(advice), make("div", { class: "rules" }, this.quiet(advice), this.unchecked(advice)));
  }

  private found(advice: Advice): HTMLElement[] {
    this.rows = adviceRows(advice);
    if (this.rows.length === 0) return [make("p", { class: "empty" }, advice.rules.length === 0 ? "No rule was checked: the report has no data for them." : "The rules found nothing to improve.")];
    this.say(this.rows[0]!, advice);
    return [...this.groups.flatMap(({ ofStep, heading, grid }) => this.fillGroup(grid, heading, this.rows.filter((row) => row.ofStep === ofStep), advice)), this.sentence];
  }

  private fillGroup(grid: Grid, heading: string, rows: readonly AdviceRow[], advice: Advice): HTMLElement[] {
    if (rows.length === 0) return [];
    grid.fill({
      label: `Advice: ${heading.toLowerCase()}`,
      columns: COLUMNS(heading, Math.max(...rows.map(({ saves }) => saves))),
      rows: rows.map(({ saves, cause, where, row: { operator, next } }, index) => [saves > 0 ? saves : null, cause, operator || null, where || null, next || null, index]),
      act: (cells) => this.choose(rows[Number(cells[cells.length - 1])]!, advice),
    });
    return [make("div", { class: "bar" }, grid.tools), grid.element];
  }

  private choose(row: AdviceRow, advice: Advice): void {
    this.say(row, advice);
    if (row.place) goTo(this.app, row.place);
  }

  /** The finding in a sentence, and how to act on it. */
  private say({ row, saves }: AdviceRow, { rules }: Advice): void {
    const rule = rules.find(({ name }) => name === row.rule);
    const head = make("p", {}, make("strong", {}, row.title), " ", make("span", { class: "muted" }, this.facts(row, saves, row.confidence, rule?.count ?? 1)));
    this.sentence.replaceChildren(head, make("p", {}, whole(row.text, "finding")));
  }

  private facts({ low, high }: AdviceRow["row"], saves: number, confidence: string, places: number): string {
    const parts = low !== null && high !== null ? [`saves about ${time(saves)} (${time(low)} to ${time(high)})`, confidence] : saves > 0 ? [`up to ${time(saves)} of the run`] : [];
    return [...parts, places > 1 ? `${count(places)} places` : ""].filter((part) => part !== "").join(" · ");
  }

  /** The rules that found nothing: that they looked is worth knowing. */
  private quiet(advice: Advice): HTMLElement {
    const rules = advice.rules.filter((rule) => rule.count === 0);
    const list = make("ul", {}, ...rules.map((rule) => make("li", {}, rule.title)));
    const box = make("details", { class: "rule quiet", hidden: rules.length === 0 }, make("summary", {}, rules.length === 1 ? "1 rule found nothing" : `${count(rules.length)} rules found nothing`), list);
    return box;
  }

  /** The rules without data, and how to record it: nothing may be wrong there, or much. */
  private unchecked({ rules, unchecked }: Advice): HTMLElement {
    const list = make("ul", {}, ...unchecked.map(({ title, data, option }) => make("li", {}, `${title}: the report has no ${data}. `, ...(option ? ["Record it with ", make("code", {}, option), "."] : []))));
    return make("details", { class: "rule quiet unchecked", hidden: unchecked.length === 0, open: rules.length === 0 }, make("summary", {}, unchecked.length === 1 ? "1 rule was not checked" : `${count(unchecked.length)} rules were not checked`), list);
  }
}
