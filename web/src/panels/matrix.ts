// Who sends how much to whom: the communication matrix of MPI ranks for the selected span, the messages of a pair of ranks, and the way from a
// message to its call on the timeline. Of many ranks several share a cell; a click shows them one by one.

import { addressOf } from "../engine/http";
import type { Change } from "../app";
import type { About, Cell as TableCell, Matrix, MatrixArea, Table } from "../engine/engine";
import { button, choice, make } from "../ui/dom";
import { recall, remember } from "../ui/memory";
import { savePicture } from "../ui/picture";
import { bytes, count, duration, moment } from "../units";
import { Grid } from "./grid";
import { amountOf, MatrixView, type Cell, type Measure } from "./matrix_view";
import { Latest, Panel } from "./panel";
import { look } from "./tables";

const TABLE = "mpi_comm_matrix";
const MESSAGES = "mpi_message_trace";
const MEASURES = [["bytes", "Bytes"], ["messages", "Messages"]] as const;
/** Up to this number of ranks on a side, each has cells of its own. */
const SINGLE = 128;
const MOST_MESSAGES = 10_000;

export const hasMatrix = (about: About): boolean => about.reports.some(({ name }) => name === TABLE);

export class MatrixPanel extends Panel {
  readonly name = "matrix";
  readonly title = "Matrix";
  protected readonly shows: readonly Change[] = ["span", "theme"];
  private readonly latest = new Latest();
  private readonly latestMessages = new Latest();
  private readonly bar = make("div", { class: "bar" });
  private readonly words = make("p", { class: "tables-span", role: "status" });
  private readonly view = new MatrixView((cell) => this.open(cell), () => this.back());
  private readonly side = make("div", { class: "matrix-side", hidden: true });
  private readonly facts = make("p", { class: "matrix-facts", role: "status" });
  private grid!: Grid;
  private measure: Measure = recall("matrix.measure", (value): value is Measure => value === "bytes" || value === "messages", "bytes");
  private area: MatrixArea | null = null;
  private matrix: Matrix | null = null;
  private asked = "";

  /** table: shows a table by its name. */
  constructor(private readonly table: (report: string) => void) {
    super();
  }

  protected build(): void {
    this.grid = new Grid((error) => this.app.fail(error));
    this.side.append(this.facts, this.grid.tools, this.grid.element);
    this.element.append(this.bar, make("div", { class: "matrix-both" }, this.view.element, this.side));
  }

  override focus(): void {
    this.view.focus();
  }

  protected draw(): void {
    this.fillBar();
    const question = JSON.stringify([this.area, this.app.state.span]);
    if (question === this.asked) this.view.show(this.matrix, this.measure);
    else void this.ask(question);
  }

  private fillBar(): void {
    const { span } = this.app.state;
    const measure = choice("What the colours mean", MEASURES, this.measure, (chosen) => {
      this.measure = chosen;
      remember("matrix.measure", chosen);
      this.view.show(this.matrix, chosen);
    });
    const all = button("All ranks", () => this.back(), { class: "quiet", title: "Show the matrix of all ranks (Esc)" });
    const whole = button("Whole report", () => this.app.set({ span: null }), { class: "quiet", title: "Clear selection" });
    this.bar.replaceChildren(
      measure,
      ...(this.area ? [all] : []),
      this.words,
      ...(span ? [whole] : []),
      make("span", { class: "spacer" }),
      button("Table", () => this.showTable(), { class: "quiet", title: `Show the table ${TABLE}` }),
      button("SVG", () => this.save(), { icon: "picture", title: "Save this matrix as SVG", class: "quiet" }),
    );
  }

  private async ask(question: string): Promise<void> {
    this.element.setAttribute("aria-busy", "true");
    try {
      const matrix = await this.latest.of((signal) => this.app.state.engine.matrix(this.area, this.app.state.span, signal));
      if (matrix) this.fill(matrix, question);
    } catch (error) {
      this.view.show(null, this.measure);
      this.words.textContent = (error as Error).message;
    }
    if (!this.latest.isOpen) this.element.removeAttribute("aria-busy");
  }

  private fill(matrix: Matrix, question: string): void {
    this.matrix = matrix;
    this.asked = question;
    const { span } = this.app.state;
    const where = span ? `${duration(span.to - span.from)} from ${moment(span.from)}` : "whole report";
    const { all, unknown, group } = matrix;
    const parts = [
      `${amountOf("messages", all.messages)}, ${bytes(all.bytes)}`,
      all.pairs > 0 ? `${count(all.pairs)} ${all.pairs === 1 ? "pair" : "pairs"} of ranks` : "",
      group > 1 ? `${group} ranks a cell` : "",
      unknown.messages > 0 ? `${amountOf("messages", unknown.messages)} without a known rank` : "",
      where,
    ];
    this.words.textContent = parts.filter(Boolean).join(" · ");
    this.side.hidden = true;
    this.view.show(matrix, this.measure);
  }

  /** Ranks that share a cell one by one; of a pair of ranks their messages. */
  private open(cell: Cell): void {
    const { matrix } = this;
    if (!matrix) return;
    const [rank, peer] = [matrix.row + cell.row * matrix.group, matrix.column + cell.column * matrix.group];
    if (matrix.group > 1) {
      const first = (at: number): number => Math.max(0, Math.min(matrix.ranks - SINGLE, at - Math.floor((SINGLE - matrix.group) / 2)));
      this.area = { row: first(rank), column: first(peer), side: Math.min(SINGLE, matrix.ranks) };
      this.redraw();
    } else {
      void this.showMessages(rank, peer);
    }
  }

  private back(): void {
    if (!this.side.hidden) this.side.hidden = true;
    else if (this.area) {
      this.area = null;
      this.redraw();
    } else this.app.set({ panel: null });
  }

  private async showMessages(rank: number, peer: number): Promise<void> {
    const { engine, span, about } = this.app.state;
    this.facts.replaceChildren(make("strong", {}, `Messages from rank ${rank} to rank ${peer}`));
    if (about.map) {
      const both = rank === peer ? `${rank}` : `${Math.min(rank, peer)},${Math.max(rank, peer)}`;
      this.facts.append(" ", make("a", { href: addressOf(both, "#p=matrix") }, rank === peer ? "Events of this rank" : "Events of both ranks"));
    }
    this.side.hidden = false;
    this.side.setAttribute("aria-busy", "true");
    try {
      const table = await this.latestMessages.of((signal) => engine.table(MESSAGES, { ...span, options: `rank=${rank}:peer=${peer}` }, MOST_MESSAGES, signal));
      if (table) this.fillMessages(table, rank);
    } catch (error) {
      this.grid.fill({ label: MESSAGES, columns: [{ title: "Message", numeric: false }], rows: [[(error as Error).message]] });
    }
    if (!this.latestMessages.isOpen) this.side.removeAttribute("aria-busy");
  }

  private fillMessages(table: Table, rank: number): void {
    const at = (name: string): number => table.columns.findIndex((column) => column.name === name);
    const [sent, name] = [at("Sent"), at("Name")];
    if (table.total > table.rows.length) this.facts.append(` · the first ${count(table.rows.length)} of ${count(table.total)}`);
    this.grid.fill({
      label: table.title,
      columns: table.columns.map((column) => look(column, (time) => this.app.set({ view: this.app.around({ from: time, to: time }) }))),
      rows: table.rows,
      act: (row: readonly TableCell[]) => void this.goTo(rank, String(row[name]), Number(row[sent])),
    });
  }

  /** Selects the call that sent a message; on a map, which has no calls, its time is shown. */
  private async goTo(rank: number, name: string, time: number): Promise<void> {
    const { engine, rows } = this.app.state;
    const ofRank = rows.filter((row) => row.kind === "slices" && (row.rank === undefined || row.rank === rank) && row.from <= time && row.to >= time);
    try {
      for (const { id } of ofRank) {
        const event = await engine.next({ text: name, mode: "exact", case: true, row: id }, time - 1, false);
        if (event?.from !== time) continue;
        this.app.select(event, event);
        return;
      }
      this.app.set({ view: this.app.around({ from: time, to: time }) });
    } catch (error) {
      this.app.fail(error as Error);
    }
  }

  private showTable(): void {
    this.table(TABLE);
    this.app.set({ panel: "tables" });
  }

  private save(): void {
    const drawing = this.view.drawing(`Communication matrix of ${this.app.state.about.name}`);
    if (drawing) savePicture(drawing, "svg", "matrix").catch((error: Error) => this.app.fail(error));
  }
}
