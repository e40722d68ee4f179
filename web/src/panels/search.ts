// Search over all names: the box in the toolbar, the steps from match to match, and the panel that says how many each row has.
// What matches is lit up by the timeline, which reads `state.found`.

import type { App, Change } from "../app";
import type { Event, FindMode, FindQuery } from "../engine/engine";
import { count } from "../units";
import { button, choice, make, textbox } from "../ui/dom";
import { Grid } from "./grid";
import { isText, recall, remember } from "../ui/memory";
import { Latest, Panel } from "./panel";
import { pathOf } from "./parts";

const MODES = [["substring", "Contains"], ["regex", "Regular expression"], ["exact", "Whole name"]] as const;
const isMode = (text: string): text is FindMode => MODES.some(([mode]) => mode === text);

/** Typing settles before the engine is asked. */
const SETTLE_MS = 150;

export class SearchBox {
  private readonly latest = new Latest();
  private readonly counted = new Latest();
  private readonly result = button("", () => this.app.set({ panel: "search" }), { class: "quiet search-result", title: "Matches; click to show them by row" });
  private readonly box: HTMLInputElement;
  private readonly mode: HTMLSelectElement;
  private readonly sensitive: HTMLButtonElement;
  private readonly element = make("search", { class: "search" });
  private app!: App;
  private timer = 0;
  private current: Event | null = null;
  private asked: FindQuery | null = null;

  constructor() {
    this.box = textbox("Search names", () => this.settle());
    this.box.type = "search";
    const before = recall("search.mode", isText, "substring");
    this.mode = choice("Match mode", MODES, isMode(before) ? before : "substring", () => void this.ask());
    this.sensitive = button("Aa", () => {
      this.sensitive.setAttribute("aria-pressed", String(!this.isSensitive()));
      void this.ask();
    }, { title: "Match case", pressed: false, class: "quiet" });
  }

  mount(element: HTMLElement, app: App): void {
    this.app = app;
    const previous = button("", () => void this.step(true), { icon: "up", title: "Previous match (Shift+Enter, Shift+N)", class: "quiet" });
    const next = button("", () => void this.step(false), { icon: "down", title: "Next match (Enter, N)", class: "quiet" });
    this.element.append(this.box, this.mode, this.sensitive, this.result, previous, next);
    this.element.setAttribute("role", "search");
    this.result.setAttribute("aria-live", "polite");
    element.append(this.element);
    this.box.addEventListener("keydown", (event) => this.key(event));
    app.listen((changed) => {
      if (changed.has("search") && app.state.search !== this.asked) this.adopt();
    });
    if (app.state.search) this.adopt();
  }

  focus(): void {
    this.box.focus();
    this.box.select();
  }

  /** A search that came from elsewhere: a link, another panel. */
  private adopt(): void {
    const { search } = this.app.state;
    this.asked = search;
    this.box.value = search?.text ?? "";
    if (search?.mode) this.mode.value = search.mode;
    this.sensitive.setAttribute("aria-pressed", String(search?.case === true));
    void this.look(search);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Enter") void this.step(event.shiftKey);
    else if (event.key === "Escape") this.box.blur(); // what was found stays, for N to walk through
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private settle(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.ask(), SETTLE_MS);
  }

  private isSensitive(): boolean {
    return this.sensitive.getAttribute("aria-pressed") === "true";
  }

  private query(): FindQuery | null {
    const text = this.box.value;
    const mode = isMode(this.mode.value) ? this.mode.value : "substring";
    return text === "" ? null : { text, mode, ...(this.isSensitive() ? { case: true } : {}) };
  }

  private async ask(): Promise<void> {
    clearTimeout(this.timer);
    remember("search.mode", this.mode.value);
    this.asked = this.query();
    this.app.set({ search: this.asked });
    await this.look(this.asked);
  }

  private async look(query: FindQuery | null): Promise<void> {
    this.current = null;
    this.element.classList.remove("failed");
    this.result.textContent = "";
    if (!query) {
      void this.latest.of(() => Promise.resolve());
      this.app.set({ found: null });
      return;
    }
    try {
      const found = await this.latest.of((signal) => this.app.state.engine.find(query, signal));
      if (!found) return;
      this.result.textContent = found.total === 0 ? "No matches" : `${found.cut ? "≥ " : ""}${count(found.total)}`;
      this.element.classList.toggle("failed", found.total === 0);
      this.app.set({ found });
    } catch (error) {
      // A pattern that is half typed is no reason for a message across the page.
      this.result.textContent = (error as Error).message;
      this.element.classList.add("failed");
      this.app.set({ found: null });
    }
  }

  /** "3 of 446": which of the matches this one is, by start. */
  private async count(event: Event): Promise<void> {
    const { search, found, engine } = this.app.state;
    if (!search || !found) return;
    try {
      const page = await this.counted.of((signal) => engine.events({ search }, { limit: 0, at: event }, signal));
      if (!page || page.position === null || this.app.state.found !== found) return;
      this.result.textContent = `${count(page.position + 1)} of ${count(page.total)}`;
    } catch {
      // the number of matches stays
    }
  }

  /** To the next match behind the selected event, and at the end round to the first. */
  async step(back: boolean, row?: number): Promise<void> {
    const query = this.query();
    if (!query) {
      this.focus();
      return;
    }
    const stale = JSON.stringify(query) !== JSON.stringify(this.asked);
    if (stale) await this.ask();
    const { engine, about, view, event: selected } = this.app.state;
    const where = row === undefined ? query : { ...query, row };
    const here = this.current && selected && selected.row === this.current.row && selected.event === this.current.event ? this.current : null;
    const start = here ? here.from : back ? view.to : view.from - 1;
    try {
      let event = await engine.next(where, start, back, here ?? undefined);
      event ??= await engine.next(where, back ? about.to + 1 : about.from - 1, back);
      if (!event) return;
      this.current = event;
      this.app.select(event, event);
      void this.count(event);
    } catch (error) {
      this.app.fail(error as Error);
    }
  }
}

export class SearchPanel extends Panel {
  readonly name = "search";
  readonly title = "Search";
  protected readonly shows: readonly Change[] = ["found"];
  private grid!: Grid;
  private readonly bar = make("div", { class: "bar" });
  private readonly words = make("p", { class: "muted" });

  constructor(private readonly box: SearchBox) {
    super();
  }

  protected build(): void {
    this.grid = new Grid((error) => this.app.fail(error));
    const all = button("List events", () => this.app.listEvents({ of: "search", inSpan: false }), { title: "List all matches as events" });
    this.bar.append(this.words, all, this.grid.tools);
    this.element.append(this.bar, this.grid.element);
  }

  override focus(): void {
    this.box.focus();
  }

  protected draw(): void {
    const { found, rows } = this.app.state;
    this.words.textContent = found ? `${count(found.total)} events of ${count(found.rows.length)} rows` : "No search. Type a name in the search box (/).";
    this.grid.fill({
      label: "Matches by row",
      columns: [
        { title: "Row", numeric: false },
        { title: "Matches", numeric: true, words: (cell) => count(Number(cell)) },
      ],
      rows: (found?.rows ?? []).map(({ row, count: matches }) => [pathOf(rows, row), matches, row]), // the third is not shown
      act: (cells) => void this.box.step(false, Number(cells[2])),
    });
  }
}
