// The panel Events: the events of a row, of the selected span, of a search or of one name, as a list that the engine sorts. The
// line of the selected event is marked, and "3 of 446" says which one it is.

import type { Change, EventList } from "../../app";
import type { Event, EventFilter } from "../../engine/engine";
import { button, choice, make } from "../../ui/dom";
import { copy } from "../../ui/text";
import { count, duration, moment } from "../../units";
import { separated } from "../grid";
import { Latest, Panel } from "../panel";
import { pathOf } from "../parts";
import { EventTable } from "./event_table";

/** The most events in one answer of the engine. */
const MOST_COPIED = 10_000;

type Scope = EventList["of"];

export class EventsPanel extends Panel {
  readonly name = "events";
  readonly title = "Events";
  protected readonly shows: readonly Change[] = ["list", "span", "event", "search"];
  private readonly bar = make("div", { class: "bar" });
  private readonly status = make("span", { class: "muted events-status", role: "status" });
  private readonly counting = new Latest();
  private readonly placing = new Latest();
  private table!: EventTable;
  private shown = "";
  private total = 0;
  private isOwnChoice = false;

  protected build(): void {
    this.table = new EventTable({
      page: (sort, down, offset, limit) => this.page(sort, down, offset, limit),
      rowName: (row) => pathOf(this.app.state.rows, row),
      choose: (event) => {
        this.isOwnChoice = true;
        this.app.select(event, event);
      },
      sorted: () => this.refill(),
    });
    this.element.append(this.bar, this.table.element);
  }

  override focus(): void {
    this.table.focus();
  }

  /** What was chosen, or what suits: the row of the selected event, the search, everything. */
  private list(): EventList {
    const { list, event, search } = this.app.state;
    if (list) return list;
    if (event) return { of: "rows", rows: [event.row], inSpan: true };
    return { of: search ? "search" : "all", inSpan: true };
  }

  private filter(): EventFilter | null {
    const { span, search } = this.app.state;
    const list = this.list();
    const within = list.inSpan && span ? { from: span.from, to: span.to } : {};
    if (list.of === "search") return search ? { ...within, search } : null;
    if (list.of === "rows") return { ...within, rows: list.rows, ...(list.name === undefined ? {} : { search: { name: list.name } }) };
    if (list.of !== "same") return within;
    const { row, event, least, most } = list;
    return { ...within, same: { row, event }, ...(least === undefined ? {} : { least }), ...(most === undefined ? {} : { most }) };
  }

  protected draw(): void {
    const filter = this.filter();
    this.fillBar();
    const wanted = JSON.stringify(filter);
    if (wanted !== this.shown) {
      this.shown = wanted;
      this.refill();
    } else void this.place();
  }

  private fillBar(): void {
    const list = this.list();
    const { span, event, search } = this.app.state;
    const scopes: [Scope, string][] = [["all", "All rows"]];
    if (list.of === "rows" || event) scopes.push(["rows", list.of === "rows" && list.rows.length > 1 ? `${count(list.rows.length)} rows` : "Row"]);
    if (list.of === "same" || event) scopes.push(["same", "Same name"]);
    if (search) scopes.push(["search", "Search matches"]);
    const scope = choice("Events to list", scopes, list.of, (of) => this.choose(of));
    const inSpan = button("In span", () => this.app.set({ list: { ...list, inSpan: !list.inSpan } }), { title: "List only events in the selected span", pressed: list.inSpan, class: "quiet" });
    const csv = button("CSV", () => void this.copyAs(","), { icon: "copy", title: "Copy the list as comma-separated values", class: "quiet" });
    const tsv = button("TSV", () => void this.copyAs("\t"), { icon: "copy", title: "Copy the list as tab-separated values", class: "quiet" });
    this.bar.replaceChildren(scope, make("bdi", { class: "line events-what", dir: "auto" }, this.words(list)), ...(span ? [inSpan] : []), this.status, make("span", { class: "spacer" }), csv, tsv);
  }

  private words(list: EventList): string {
    const { span, rows, details, search } = this.app.state;
    const when = list.inSpan && span ? ` in ${duration(span.to - span.from)} from ${moment(span.from)}` : "";
    const what = {
      all: () => "",
      search: () => (search?.text ? `“${search.text}”` : ""),
      rows: () => (list.of === "rows" && list.rows.length === 1 ? pathOf(rows, list.rows[0]!) : ""),
      same: () => {
        if (list.of !== "same") return "";
        const range = list.most === undefined ? "" : ` from ${duration(list.least ?? 0)} to ${duration(list.most)}`;
        const own = details && details.row === list.row && details.event === list.event ? details.name.slice(0, 200) : "";
        return `${own}${range}`;
      },
    }[list.of]();
    return `${what}${when}`.trim();
  }

  private choose(of: Scope): void {
    const { event } = this.app.state;
    const before = this.list();
    const { inSpan } = before;
    if (of === "rows") this.app.set({ list: { of, rows: before.of === "rows" ? before.rows : event ? [event.row] : [], inSpan } });
    else if (of === "same") this.app.set({ list: before.of === "same" || !event ? before : { of, ...event, inSpan } });
    else this.app.set({ list: { of, inSpan } });
  }

  private refill(): void {
    void this.count();
  }

  /** How many there are; the lines follow as they come into sight. */
  private async count(): Promise<void> {
    const filter = this.filter();
    if (!filter) {
      this.table.fill(0);
      this.status.textContent = "Type a name in the search box.";
      return;
    }
    this.element.setAttribute("aria-busy", "true");
    this.status.textContent = "…";
    try {
      const page = await this.counting.of((signal) => this.app.state.engine.events(filter, { limit: 0 }, signal));
      if (!page) return;
      this.total = page.total;
      this.table.fill(page.total);
      this.say(null);
      await this.place();
    } catch (error) {
      this.table.fill(0);
      this.status.textContent = (error as Error).message;
    }
    if (!this.counting.isOpen) this.element.removeAttribute("aria-busy");
  }

  private say(position: number | null): void {
    const all = `${count(this.total)} ${this.total === 1 ? "event" : "events"}`;
    this.status.textContent = position === null ? all : `${count(position + 1)} of ${count(this.total)}`;
  }

  /** Which line the selected event is on. */
  private async place(): Promise<void> {
    const { event, engine } = this.app.state;
    const filter = this.filter();
    const own = this.isOwnChoice;
    this.isOwnChoice = false;
    if (!event || !filter || this.total === 0) {
      this.table.mark(-1);
      return;
    }
    const { sort, down } = this.table;
    try {
      const page = await this.placing.of((signal) => engine.events(filter, { sort, down, limit: 0, at: event }, signal));
      if (!page) return;
      this.say(page.position);
      if (page.position !== null || !own) this.table.mark(page.position ?? -1);
    } catch (error) {
      this.app.fail(error as Error);
    }
  }

  private async page(sort: EventTable["sort"], down: boolean, offset: number, limit: number): Promise<readonly Event[] | undefined> {
    const filter = this.filter();
    if (!filter) return undefined;
    try {
      return (await this.app.state.engine.events(filter, { sort, down, offset, limit })).events;
    } catch (error) {
      this.app.fail(error as Error);
      return undefined;
    }
  }

  private async copyAs(separator: "," | "\t"): Promise<void> {
    const events = await this.page(this.table.sort, this.table.down, 0, MOST_COPIED);
    if (!events) return;
    const columns = ["Start (ns)", "Duration (ns)", "Name", "Row"].map((title, index) => ({ title, numeric: index < 2 }));
    const rows = events.map((event) => [event.from, event.to - event.from, event.name, pathOf(this.app.state.rows, event.row)]);
    try {
      await copy(separated(columns, rows, separator));
      this.status.textContent = events.length < this.total ? `Copied the first ${count(events.length)} of ${count(this.total)}` : `Copied ${count(events.length)} events`;
    } catch (error) {
      this.app.fail(error as Error);
    }
  }
}
