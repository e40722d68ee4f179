// A list of events of any length, sorted by the engine: only the lines in sight are fetched and are elements. The number of the
// first line is the truth; the scrollbar follows it, since a browser cannot scroll through millions of lines pixel by pixel.

import type { Event, EventSort } from "../../engine/engine";
import { button, make } from "../../ui/dom";
import { cut } from "../../ui/text";
import { count, duration, moment } from "../../units";

const LINE = 24;
const PAGE = 200;
const KEPT_PAGES = 40;
/** Browsers limit the height of an element to some ten million pixels. */
const TALLEST = 6_000_000;

export interface EventTableAnswers {
  page(sort: EventSort, down: boolean, offset: number, limit: number): Promise<readonly Event[] | undefined>;
  rowName(row: number): string;
  choose(event: Event): void;
  sorted(): void;
}

const COLUMNS: readonly { title: string; sort: EventSort | null; numeric: boolean; width: string }[] = [
  { title: "#", sort: null, numeric: true, width: "9ch" },
  { title: "Start", sort: "start", numeric: true, width: "20ch" },
  { title: "Duration", sort: "duration", numeric: true, width: "14ch" },
  { title: "Name", sort: "name", numeric: false, width: "auto" },
  { title: "Row", sort: "row", numeric: false, width: "32%" },
];

export class EventTable {
  readonly element = make("div", { class: "grid event-table" });
  sort: EventSort = "start";
  down = false;
  private readonly scroller = make("div", { class: "grid-scroll", tabindex: 0, role: "grid", "aria-label": "Events", "data-own-keys": "" });
  private readonly space = make("div", { class: "event-space" });
  private readonly table = make("table", { role: "presentation" });
  private readonly head = make("tr", { role: "row", "aria-rowindex": 1 });
  private readonly body = make("tbody", { role: "rowgroup" });
  private pages = new Map<number, readonly Event[]>();
  private asked = new Set<number>();
  private total = 0;
  private top = 0;
  private current = -1;
  private turn = 0;
  /** A line that was chosen before it came. */
  private wish = -1;

  constructor(private readonly answers: EventTableAnswers) {
    const groups = make("colgroup", {}, ...COLUMNS.map(({ width }) => {
      const group = make("col");
      group.style.width = width;
      return group;
    }));
    for (const { title, sort, numeric } of COLUMNS) {
      const label = sort ? button(title, () => this.sortBy(sort), { class: "grid-sort" }) : make("span", { class: "grid-sort" }, title);
      this.head.append(make("th", { role: "columnheader", class: numeric ? "number" : undefined, "data-sort": sort ?? undefined }, label));
    }
    this.table.append(groups, make("thead", { role: "rowgroup" }, this.head), this.body);
    this.space.append(this.table);
    this.scroller.append(this.space);
    this.element.append(this.scroller);
    this.scroller.addEventListener("scroll", () => this.scrolled());
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.scroller.addEventListener("keydown", (event) => this.walk(event));
    this.body.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.show(this.top)).observe(this.scroller);
    this.markSort();
  }

  focus(): void {
    this.scroller.focus();
  }

  /** Another list, or another order: nothing that was fetched holds any more. */
  fill(total: number): void {
    this.turn++;
    this.pages.clear();
    this.asked.clear();
    this.total = total;
    this.current = -1;
    this.wish = -1;
    this.space.style.height = `${Math.min(TALLEST, (total + 1) * LINE)}px`;
    this.scroller.setAttribute("aria-rowcount", String(total + 1));
    this.show(0);
  }

  /** Marks a line and brings it into sight; -1: none. */
  mark(line: number): void {
    this.current = line;
    if (line >= 0 && (line < this.top || line >= this.top + this.lines() - 1)) this.show(line - Math.floor(this.lines() / 2));
    else this.show(this.top);
  }

  private lines(): number {
    return Math.max(1, Math.floor(this.scroller.clientHeight / LINE) - 1);
  }

  private most(): number {
    return Math.max(0, this.total - this.lines());
  }

  private sortBy(sort: EventSort): void {
    this.down = this.sort === sort ? !this.down : sort === "duration";
    this.sort = sort;
    this.markSort();
    this.answers.sorted();
  }

  private markSort(): void {
    for (const cell of this.head.children) {
      const { sort } = (cell as HTMLElement).dataset;
      if (sort) cell.setAttribute("aria-sort", sort === this.sort ? (this.down ? "descending" : "ascending") : "none");
    }
  }

  private scrolled(): void {
    const room = this.scroller.scrollHeight - this.scroller.clientHeight;
    const share = room > 0 ? this.scroller.scrollTop / room : 0;
    const top = Math.round(share * this.most());
    if (Math.abs(this.scrollTop(this.top) - this.scroller.scrollTop) >= 1) this.paintFrom(top);
  }

  private scrollTop(top: number): number {
    const room = this.scroller.scrollHeight - this.scroller.clientHeight;
    return this.most() > 0 ? Math.round((top / this.most()) * room) : 0;
  }

  /** By lines: where a pixel of the scrollbar is thousands of them, the browser's own steps would skip most. */
  private wheel(event: WheelEvent): void {
    if (event.ctrlKey || event.shiftKey || event.deltaY === 0 || this.most() === 0) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY / LINE : event.deltaY;
    this.show(this.top + (Math.abs(lines) < 1 ? Math.sign(lines) : Math.round(lines)));
  }

  private show(top: number): void {
    this.paintFrom(Math.max(0, Math.min(this.most(), top)));
    const wanted = this.scrollTop(this.top);
    if (Math.abs(wanted - this.scroller.scrollTop) >= 1) this.scroller.scrollTop = wanted;
  }

  private paintFrom(top: number): void {
    this.top = top;
    const end = Math.min(this.total, top + this.lines() + 1);
    const lines: HTMLElement[] = [];
    for (let index = top; index < end; index++) lines.push(this.line(index));
    this.body.replaceChildren(...lines);
    if (end > top) for (let page = Math.floor(top / PAGE); page * PAGE < end; page++) void this.fetch(page);
  }

  private async fetch(page: number): Promise<void> {
    if (this.pages.has(page) || this.asked.has(page)) return;
    const { turn } = this;
    this.asked.add(page);
    const events = await this.answers.page(this.sort, this.down, page * PAGE, PAGE);
    if (turn !== this.turn) return;
    this.asked.delete(page);
    if (!events) return;
    this.pages.set(page, events);
    for (const old of this.pages.keys()) if (this.pages.size > KEPT_PAGES && old !== page) this.pages.delete(old);
    this.paintFrom(this.top);
    if (Math.floor(this.wish / PAGE) === page) this.choose(this.wish);
  }

  private eventAt(index: number): Event | undefined {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  private line(index: number): HTMLElement {
    const event = this.eventAt(index);
    const chosen = index === this.current;
    const line = make("tr", { role: "row", class: "acts", id: chosen ? "events-current" : undefined, "data-index": index, "aria-rowindex": index + 2, "aria-selected": chosen ? "true" : undefined });
    const cell = (text: string, numeric: boolean, title?: string): void => {
      const inner = numeric ? text : make("bdi", { dir: "auto" }, text);
      line.append(make("td", { role: "gridcell", class: numeric ? "number" : undefined, title }, inner));
    };
    cell(count(index + 1), true);
    cell(event ? moment(event.from) : "…", true, event && `${event.from} ns`);
    cell(event ? duration(event.to - event.from) : "", true, event && `${event.to - event.from} ns`);
    cell(event ? cut(event.name || "(no name)", 500) : "", false, event && event.name.length > 24 ? cut(event.name, 1_000) : undefined);
    cell(event ? cut(this.answers.rowName(event.row), 300) : "", false);
    return line;
  }

  private click(event: MouseEvent): void {
    const line = event.target instanceof Element ? event.target.closest("tr") : null;
    const index = Number(line?.dataset["index"] ?? NaN);
    if (!Number.isNaN(index)) this.choose(index);
  }

  private choose(index: number): void {
    const event = this.eventAt(index);
    this.current = index;
    this.paintFrom(this.top);
    this.scroller.setAttribute("aria-activedescendant", "events-current");
    this.wish = event ? -1 : index;
    if (event) this.answers.choose(event);
  }

  private walk(event: KeyboardEvent): void {
    if (event.target !== this.scroller) return;
    const page = Math.max(1, this.lines() - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step !== undefined && this.total > 0) {
      const next = Math.max(0, Math.min(this.total - 1, this.current + step));
      this.mark(next);
      this.scroller.setAttribute("aria-activedescendant", "events-current");
    } else if (event.key === "Enter" && this.current >= 0) this.choose(this.current);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
