// A table of any length: only the lines in sight are elements. Sorts by every column, filters, walks with the keyboard, and
// copies what it shows as CSV, TSV or Markdown. It knows nothing of what the columns mean; whoever fills it says how a cell looks.

import type { Cell } from "../engine/engine";
import { count } from "../units";
import { button, make, textbox } from "../ui/dom";
import { markdownTable } from "../ui/markdown";
import { copy, cut } from "../ui/text";

export interface GridColumn {
  title: string;
  /** What it is called in a copy, where the unit must stand in the name; and a cell there. */
  copied?: string;
  copiedCell?: (cell: Cell) => string;
  /** Numbers stand on the right and sort from the largest. */
  numeric: boolean;
  /** What a person reads; the cell itself where absent. */
  words?: (cell: Cell) => string;
  /** The share of the cell's width that a bar fills, 0 … 1. */
  bar?: (cell: Cell) => number;
  /** What a click on the cell does instead of what a click on its line does. */
  link?: (cell: Cell) => void;
}

export interface GridContent {
  label: string;
  columns: readonly GridColumn[];
  rows: readonly (readonly Cell[])[];
  /** How many there are, where `rows` has only the first of them; `more` fetches so many of them and more. */
  total?: number;
  more?: (rows: number) => Promise<readonly (readonly Cell[])[]>;
  /** The column that says what a line is about: it is shown first and stays in sight, wherever it stands in a copy. */
  lead?: number | undefined;
  /** What a line does when it is clicked, or Enter is pressed on it. */
  act?: (row: readonly Cell[]) => void;
}

/** Issue trackers limit the length of a text; longer tables are for CSV. */
const MARKDOWN_ROWS = 200;

const LINE = 24;
const SPARE = 8;

function compare(a: Cell, b: Cell): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}

/** RFC 4180: quotes where there must be. TSV has no quoting, so that its separators become spaces. */
export function separated(columns: readonly GridColumn[], rows: readonly (readonly Cell[])[], separator: "," | "\t"): string {
  const field = (cell: Cell, column?: GridColumn): string => {
    const text = cell === null ? "" : (column?.copiedCell?.(cell) ?? String(cell));
    if (separator === "\t") return text.replace(/[\t\r\n]/g, " ");
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const head = columns.map((column) => field(column.copied ?? column.title));
  const lines = rows.map((cells) => columns.map((column, index) => field(cells[index] ?? null, column)));
  return [head, ...lines].map((cells) => cells.join(separator)).join("\n") + "\n";
}

const grids = new WeakMap<Element, Grid>();

/** The table inside an element that is in sight, if there is one. */
export function gridIn(element: Element | null): Grid | null {
  for (const found of element?.querySelectorAll(".grid") ?? []) if (found.checkVisibility()) return grids.get(found) ?? null;
  return null;
}

export class Grid {
  readonly element = make("div", { class: "grid" });
  readonly tools = make("div", { class: "grid-tools" });
  private readonly scroller = make("div", { class: "grid-scroll", tabindex: 0, role: "grid" });
  private readonly table = make("table", { role: "presentation" });
  private readonly groups = make("colgroup");
  private readonly head = make("thead", { role: "rowgroup" });
  private readonly body = make("tbody", { role: "rowgroup" });
  private readonly status = make("span", { class: "muted", role: "status" });
  private readonly filterBox: HTMLInputElement;
  private content: GridContent = { label: "", columns: [], rows: [] };
  private shown: (readonly Cell[])[] = [];
  private sorted: { column: number; down: boolean } | null = null;
  private current = -1;
  private first = -1;
  private last = -1;

  constructor(private readonly fail: (error: Error) => void) {
    this.filterBox = textbox("Filter", () => this.arrange());
    this.filterBox.classList.add("small");
    this.tools.append(
      this.filterBox,
      this.status,
      make("span", { class: "spacer" }),
      button("CSV", () => void this.copyAs(","), { icon: "copy", title: "Copy the table as comma-separated values", class: "quiet" }),
      button("TSV", () => void this.copyAs("\t"), { icon: "copy", title: "Copy the table as tab-separated values, for a spreadsheet", class: "quiet" }),
      button("Markdown", () => void this.copyMarkdown(), { icon: "copy", title: "Copy the table as Markdown, for an issue tracker", class: "quiet" }),
    );
    grids.set(this.element, this);
    this.table.append(this.groups, this.head, this.body);
    this.scroller.append(this.table);
    this.element.append(this.scroller);
    this.scroller.addEventListener("scroll", () => this.paint());
    this.scroller.addEventListener("keydown", (event) => this.walk(event));
    this.body.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.paint()).observe(this.scroller);
  }

  /** The columns in the order in which they are shown. */
  private order(): number[] {
    const { columns, lead = -1 } = this.content;
    const all = columns.map((_, index) => index);
    return lead < 0 ? all : [lead, ...all.filter((index) => index !== lead)];
  }

  /** Fills it anew; sorting and filter stay while the columns are the same. */
  fill(content: GridContent): void {
    const same = content.columns.map((column) => column.title).join() === this.content.columns.map((column) => column.title).join();
    this.content = content;
    if (!same) this.sorted = null;
    this.current = -1;
    this.scroller.setAttribute("aria-label", content.label);
    this.fillHead();
    this.arrange();
    this.scroller.scrollTop = 0;
  }

  focus(): void {
    this.scroller.focus();
  }

  private fillHead(): void {
    const { columns, rows, lead } = this.content;
    const order = this.order();
    const sample = rows.slice(0, 200);
    const widths = order.map((index) => {
      const column = columns[index]!;
      const lengths = sample.map((row) => this.words(column, row[index] ?? null).length);
      const widest = Math.max(column.title.length + 2, ...lengths);
      return Math.min(widest, column.numeric ? 24 : index === lead ? 60 : 90);
    });
    this.table.classList.toggle("led", lead !== undefined);
    this.groups.replaceChildren(...widths.map((width) => {
      const group = make("col");
      group.style.width = `calc(${width} * 1ch + 20px)`;
      return group;
    }), make("col"));
    const line = make("tr", { role: "row", "aria-rowindex": 1 });
    for (const index of order) {
      const column = columns[index]!;
      const sort = button(column.title, () => this.sort(index), { class: "grid-sort" });
      line.append(make("th", { role: "columnheader", "data-column": index, class: column.numeric ? "number" : undefined }, sort));
    }
    line.append(make("td", { "aria-hidden": "true" })); // takes what room is left
    this.head.replaceChildren(line);
    this.markSort();
  }

  private sort(column: number): void {
    const numeric = this.content.columns[column]?.numeric ?? false;
    const { sorted } = this;
    if (sorted?.column !== column) this.sorted = { column, down: numeric };
    else if (sorted.down === numeric) this.sorted = { column, down: !numeric };
    else this.sorted = null; // the third click: the order in which the rows came
    this.markSort();
    this.arrange();
  }

  private markSort(): void {
    for (const cell of this.head.querySelectorAll("th")) {
      const sorted = this.sorted?.column === Number(cell.dataset["column"]) ? this.sorted : null;
      cell.setAttribute("aria-sort", sorted ? (sorted.down ? "descending" : "ascending") : "none");
    }
  }

  /** How many lines there are; most may not be here yet. */
  private length(): number {
    return this.isPlain() ? this.total() : this.shown.length;
  }

  private total(): number {
    return this.content.total ?? this.content.rows.length;
  }

  /** In the order in which they came, all of them. */
  private isPlain(): boolean {
    return this.sorted === null && this.filterBox.value === "";
  }

  /** Fetches lines until so many are here; false where it failed, or something else is shown by then. */
  private async have(lines: number): Promise<boolean> {
    const { content } = this;
    if (!content.more || content.rows.length >= Math.min(lines, this.total())) return true;
    this.element.setAttribute("aria-busy", "true");
    try {
      const rows = await content.more(lines);
      if (this.content.more !== content.more) return false;
      if (rows.length > this.content.rows.length) this.content = { ...content, rows };
    } catch (error) {
      this.fail(error as Error);
      return false;
    } finally {
      this.element.removeAttribute("aria-busy");
    }
    this.arrange();
    return true;
  }

  /** Filters and sorts; the order of equal lines is that in which they came. */
  private arrange(): void {
    const { columns, rows } = this.content;
    if (!this.isPlain() && rows.length < this.total()) {
      void this.have(this.total()); // what is not here might be the first; this is called again then
      return;
    }
    const wanted = this.filterBox.value.toLowerCase();
    const texts = columns.flatMap((column, index) => (column.numeric ? [] : [index]));
    const fits = (row: readonly Cell[]): boolean => texts.some((index) => String(row[index] ?? "").toLowerCase().includes(wanted));
    this.shown = wanted === "" ? [...rows] : rows.filter(fits);
    const { sorted } = this;
    if (sorted) this.shown.sort((a, b) => (sorted.down ? -1 : 1) * compare(a[sorted.column] ?? null, b[sorted.column] ?? null));
    const [all, length] = [this.total(), this.length()];
    this.status.textContent = length === all ? `${count(all)} ${all === 1 ? "row" : "rows"}` : `${count(length)} of ${count(all)} rows`;
    this.scroller.setAttribute("aria-rowcount", String(length + 1));
    this.current = Math.min(this.current, length - 1);
    this.paint(true);
  }

  /** Makes elements of the lines in sight, and fetches those that are not here. */
  private paint(always = false): void {
    const top = Math.floor(this.scroller.scrollTop / LINE);
    const first = Math.max(0, top - SPARE);
    const end = Math.min(this.length(), top + Math.ceil(this.scroller.clientHeight / LINE) + SPARE);
    const last = Math.min(this.shown.length, end);
    if (last < end) void this.have(end);
    if (!always && first === this.first && last === this.last) return;
    [this.first, this.last] = [first, last];
    const lines: HTMLElement[] = [this.space(Math.min(first, last))];
    for (let index = first; index < last; index++) lines.push(this.line(index));
    lines.push(this.space(this.length() - last));
    this.body.replaceChildren(...lines);
  }

  private space(lines: number): HTMLElement {
    const line = make("tr", { class: "grid-space", "aria-hidden": "true" });
    line.style.height = `${lines * LINE}px`;
    return line;
  }

  private line(index: number): HTMLElement {
    const row = this.shown[index]!;
    const chosen = index === this.current;
    const line = make("tr", { role: "row", id: chosen ? this.currentId() : undefined, "data-index": index, "aria-rowindex": index + 2, "aria-selected": chosen ? "true" : undefined });
    line.classList.toggle("acts", this.content.act !== undefined);
    for (const at of this.order()) line.append(this.cell(this.content.columns[at]!, row[at] ?? null, at));
    line.append(make("td", { "aria-hidden": "true" }));
    return line;
  }

  private cell(column: GridColumn, value: Cell, at: number): HTMLElement {
    const words = this.words(column, value);
    const cell = make("td", { role: "gridcell", class: column.numeric ? "number" : undefined });
    if (value === null) {
      cell.classList.add("muted");
      cell.append("–");
    } else if (column.link) {
      cell.append(make("button", { type: "button", class: "link", "data-column": at }, words));
    } else if (column.numeric) {
      if (words !== String(value)) cell.title = String(value);
      cell.append(words);
    } else {
      cell.append(make("bdi", { dir: "auto" }, words));
      if (words.length > 24) cell.title = cut(words, 1_000);
    }
    if (column.bar) {
      cell.classList.add("barred");
      cell.style.setProperty("--share", String(Math.min(1, Math.max(0, column.bar(value)))));
    }
    return cell;
  }

  private words(column: GridColumn, value: Cell): string {
    if (value === null) return "–";
    return cut(column.words ? column.words(value) : String(value), 500);
  }

  private currentId(): string {
    return `${this.element.closest("[id]")?.id ?? "grid"}-current`;
  }

  private click(event: MouseEvent): void {
    if (!(event.target instanceof Element)) return;
    const index = Number(event.target.closest("tr")?.dataset["index"] ?? NaN);
    const row = this.shown[index];
    if (!row) return;
    const column = event.target.closest<HTMLElement>("button.link")?.dataset["column"];
    const selected = document.getSelection()?.toString() ?? "";
    this.go(index);
    if (column !== undefined) this.content.columns[Number(column)]?.link?.(row[Number(column)] ?? null);
    else if (selected === "") this.act(index); // who selects text does not mean to jump
  }

  private act(index: number): void {
    const row = this.shown[index];
    if (row) this.content.act?.(row);
  }

  private walk(event: KeyboardEvent): void {
    if (event.target !== this.scroller) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / LINE) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step !== undefined) this.go(Math.max(0, Math.min(this.length() - 1, this.current + step)));
    else if (event.key === "Enter") this.act(this.current);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private go(index: number): void {
    this.current = index;
    const [top, room] = [index * LINE, this.scroller.clientHeight - 2 * LINE];
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top > this.scroller.scrollTop + room) this.scroller.scrollTop = top - room;
    this.paint(true);
    this.scroller.setAttribute("aria-activedescendant", this.currentId());
  }

  private async copyAs(separator: "," | "\t"): Promise<void> {
    if (!(await this.have(this.total()))) return;
    await this.copyText(separated(this.content.columns, this.shown, separator), this.shown.length);
  }

  private async copyMarkdown(): Promise<void> {
    if (await this.have(MARKDOWN_ROWS)) await this.copyText(this.markdown(MARKDOWN_ROWS), Math.min(this.shown.length, MARKDOWN_ROWS));
  }

  private async copyText(text: string, rows: number): Promise<void> {
    try {
      await copy(text);
      this.status.textContent = `${count(rows)} rows copied`;
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /** The first rows as they are shown, with what the table is called; "" without any. */
  markdown(most: number): string {
    const { columns, label } = this.content;
    if (this.shown.length === 0) return "";
    const order = this.order();
    const rows = this.shown.slice(0, most).map((row) => order.map((at) => this.words(columns[at]!, row[at] ?? null)));
    const table = markdownTable(order.map((at) => columns[at]!), rows);
    const left = this.length() - rows.length;
    return `${label}:\n\n${table}${left > 0 ? `\n… and ${count(left)} more rows\n` : ""}`;
  }
}
