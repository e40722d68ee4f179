// All steps below each other on one axis from the step's begin: what the GPUs did in each, with the median step as a ghost, so that
// a step that differs sticks out. Also one step of all ranks, and the steps of two runs in pairs.

import type { Change, State } from "../app";
import type { Row, Steps, StepsBy, StepsQuery, Strip } from "../engine/engine";
import { addressOfRun } from "../engine/http";
import { choice, make, textbox } from "../ui/dom";
import { isText, recall, remember } from "../ui/memory";
import { partVariable, type PartName } from "../ui/tones";
import { count, duration } from "../units";
import { Panel } from "./panel";
import { pathOf } from "./parts";
import { StripList } from "./strip_list";

const PARTS: readonly (readonly [part: PartName, words: string])[] = [["compute", "Compute"], ["communication", "Communication"], ["copies", "Copies"], ["idle", "Idle"]];
/** Steps are fetched in pages of this size. */
const PAGE = 50;
const BINS = 200;

const rowsOfSteps = (rows: readonly Row[]): Row[] => rows.filter(({ type }) => type === "steps");
export const hasSteps = ({ rows }: Pick<State, "rows">): boolean => rowsOfSteps(rows).length > 0;

export class StepsPanel extends Panel {
  readonly name = "steps";
  readonly title = "Steps";
  protected readonly shows: readonly Change[] = ["theme"];
  private readonly bar = make("div", { class: "bar" });
  private readonly facts = make("p", { class: "tables-span", role: "status" });
  private readonly list = new StripList((index) => this.fetch(index), (strip) => this.goTo(strip), (strip) => this.wordsOf(strip));
  private by: StepsBy = "steps";
  private order: StepsQuery["order"] = recall("steps.order", isText, "time") === "duration" ? "duration" : "time";
  private row: number | undefined;
  private step = 0;
  private pages = new Map<number, Steps | "asked">();
  private asked: AbortController | null = null;
  private median: Strip | null = null;

  protected build(): void {
    const { about, rows } = this.app.state;
    const steps = rowsOfSteps(rows);
    if (about.other !== undefined) this.by = "runs";
    else if (steps.length > 1) this.row = steps[0]!.id;
    this.element.append(this.bar, this.list.element);
  }

  override focus(): void {
    this.list.focus();
  }

  protected draw(): void {
    this.fillBar();
    this.restart();
  }

  private fillBar(): void {
    const { about, rows } = this.app.state;
    const steps = rowsOfSteps(rows);
    const ways: (readonly [StepsBy, string])[] = [["steps", "Steps of one process"]];
    if (steps.length > 1) ways.push(["ranks", "One step across ranks"]);
    if (about.other !== undefined) ways.push(["runs", "Both runs"]);
    const again = (change: () => void): void => {
      change();
      this.fillBar();
      this.restart();
    };
    const by = choice("Compare", ways, this.by, (value) => again(() => (this.by = value)));
    const orders = [["time", "By start time"], ["duration", this.by === "runs" ? "Largest slowdown first" : "Longest first"]] as const;
    const order = choice("Order", orders, this.order, (value) => again(() => {
      this.order = value;
      remember("steps.order", value);
    }));
    const which = choice("Process", steps.map(({ id }) => [String(id), pathOf(rows, id)] as const), String(this.row ?? ""), (id) => again(() => (this.row = Number(id))));
    const number = textbox("Step", (text) => /^\d{1,9}$/.test(text) && again(() => (this.step = Number(text))));
    number.value = String(this.step);
    number.classList.add("small");
    const legend = make("span", { class: "steps-legend" }, ...PARTS.map(([part, words]) => this.sign(part, words)), make("span", { class: "steps-ghost" }, "Median step"));
    this.bar.replaceChildren(...(ways.length > 1 ? [by] : []), ...(this.by === "steps" && steps.length > 1 ? [which] : []), ...(this.by === "ranks" ? [number] : []), order, this.facts, make("span", { class: "spacer" }), legend);
  }

  private sign(part: PartName, words: string): HTMLElement {
    const mark = make("span", { class: "note-mark", "aria-hidden": "true" });
    mark.style.backgroundColor = partVariable(part);
    return make("span", { class: "steps-sign" }, mark, words);
  }

  private restart(): void {
    this.asked?.abort();
    this.asked = new AbortController();
    this.pages = new Map();
    this.median = null;
    this.list.clear();
    this.ask(0);
  }

  /** The strips at a place of the list; undefined: they are on their way. */
  private fetch(index: number): readonly Strip[] | undefined {
    const page = Math.floor(index / PAGE);
    const here = this.pages.get(page);
    if (here === undefined) this.ask(page);
    return here === undefined || here === "asked" ? undefined : here.strips[index - page * PAGE]?.items;
  }

  private ask(page: number): void {
    const { signal } = (this.asked ??= new AbortController());
    const query: StepsQuery = {
      by: this.by, order: this.order, bins: BINS, first: page * PAGE, count: PAGE,
      ...(this.by === "steps" && this.row !== undefined ? { row: this.row } : {}), ...(this.by === "ranks" ? { step: this.step } : {}),
    };
    this.pages.set(page, "asked");
    this.app.state.engine.steps(query, signal).then(
      (steps) => {
        if (signal.aborted) return;
        this.pages.set(page, steps);
        this.median = steps.median;
        const what = this.by === "ranks" ? "ranks" : this.by === "runs" ? "steps of both runs" : steps.total === 1 ? "step" : "steps";
        this.facts.textContent = `${count(steps.total)} ${what}, median ${duration(steps.median.to - steps.median.from)}`;
        this.list.show(steps, this.by === "runs" ? 2 : 1);
      },
      (error: Error) => {
        if (signal.aborted) return;
        this.pages.delete(page);
        this.facts.textContent = error.message;
      },
    );
  }

  private wordsOf(strip: Strip): { title: string; main: string } {
    const { about } = this.app.state;
    const length = strip.to - strip.from;
    const median = this.median ? this.median.to - this.median.from : length;
    const share = median > 0 ? (100 * (length - median)) / median : 0;
    const off = Math.abs(share) < 0.05 ? "as long as the median" : `${Math.abs(share).toFixed(1)} % ${share > 0 ? "longer" : "shorter"} than the median`;
    const where = this.by === "runs" ? `${strip.run === 0 ? about.name : (about.other ?? "")}: ` : this.by === "ranks" && strip.rank !== undefined ? `rank ${strip.rank}: ` : "";
    return {
      title: `${where}${strip.name}`,
      main: `${duration(length)}, ${off}; ${PARTS.map(([part, words]) => `${words.toLowerCase()} ${duration(strip[part])}`).join(", ")}`,
    };
  }

  private goTo(strip: Strip): void {
    const view = { from: strip.from - (strip.to - strip.from) * 0.02, to: strip.to + (strip.to - strip.from) * 0.02 };
    if (strip.run === 1) location.assign(addressOfRun(1, `#v=${Math.round(view.from)}-${Math.round(view.to)}&e=${strip.row}.${strip.event}&p=steps`));
    else {
      this.app.select(strip);
      this.app.set({ view });
    }
  }
}
