// Questions in SQL to the report. The answer is a table whose times lead to the spot; what was asked before is remembered.

import type { Change } from "../app";
import type { Cell, NoteTable, SqlResult } from "../engine/engine";
import { eventColumns } from "../engine/made_rows";
import { count, duration, moment } from "../units";
import { button, choice, make } from "../ui/dom";
import { Grid, type GridColumn } from "./grid";
import { isText, isTexts, recall, remember } from "../ui/memory";
import { Latest, Panel } from "./panel";
import { EXAMPLES, peek } from "./sql_examples";

const HISTORY = 50;
const TABLES = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name LIKE 'ENUM%', name";

export class SqlPanel extends Panel {
  readonly name = "sql";
  readonly title = "SQL";
  protected readonly shows: readonly Change[] = [];
  private readonly latest = new Latest();
  private readonly editor = make("textarea", { class: "sql-editor", "aria-label": "SQL statement", spellcheck: "false", autocomplete: "off", placeholder: "SELECT … (Ctrl+Enter runs it)" });
  private readonly status = make("p", { class: "sql-status", role: "status" });
  private readonly bar = make("div", { class: "bar" });
  private readonly starts = make("span", { class: "sql-starts" });
  private readonly rowButton = button("Add as row", () => this.addRow(), { title: "Show the result as a row of the timeline" });
  private result: SqlResult | null = null;
  private grid!: Grid;
  private history = recall("sql.history", isTexts, []);
  private back = -1;
  /** The statement whose answer is shown. */
  private ran = "";
  private tables: readonly string[] = [];

  protected build(): void {
    this.grid = new Grid((error) => this.app.fail(error));
    this.editor.value = recall("sql.statement", isText, "");
    this.editor.addEventListener("input", () => remember("sql.statement", this.editor.value));
    this.editor.addEventListener("keydown", (event) => this.key(event));
    this.bar.append(
      button("Run", () => void this.run(), { title: "Run the statement (Ctrl+Enter)", class: "primary" }),
      this.starts,
      this.rowButton,
      this.status,
      this.grid.tools,
    );
    this.rowButton.hidden = true;
    this.element.append(this.editor, this.bar, this.grid.element);
  }

  override keptTable(): NoteTable | null {
    return this.ran === "" ? null : { statement: this.ran };
  }

  override restoreTable(table: NoteTable): boolean {
    if (!("statement" in table)) return false;
    if (this.ran !== table.statement) {
      this.put(table.statement);
      void this.run();
    }
    return true;
  }

  override focus(): void {
    this.editor.focus();
  }

  protected draw(): void {
    this.app.state.engine.sql(TABLES).then(
      (answer) => this.offer(answer.rows.map((row) => String(row[0]))),
      (error: Error) => (this.status.textContent = error.message),
    );
  }

  /** Where to start from: examples that this report can answer, its tables, and what was asked before. */
  private offer(tables: readonly string[]): void {
    const known = new Set(tables);
    const examples = EXAMPLES.filter((example) => example.needs.every((table) => known.has(table)));
    const starts: [title: string, entries: readonly (readonly [statement: string, words: string])[]][] = [
      ["Examples", examples.map((example) => [example.statement, example.title])],
      ["Tables", tables.map((table) => [peek(table), table])],
      ["History", this.history.map((statement) => [statement, statement.replace(/\s+/g, " ").slice(0, 90)])],
    ];
    this.starts.replaceChildren(
      ...starts
        .filter(([, entries]) => entries.length > 0)
        .map(([title, entries]) => {
          const list = choice(title, [["", `${title}…`], ...entries], "", (statement) => {
            list.value = "";
            if (statement === "") return;
            this.put(statement);
            void this.run();
          });
          return list;
        }),
    );
    this.tables = tables;
  }

  private put(statement: string): void {
    this.editor.value = statement;
    remember("sql.statement", statement);
  }

  /** Ctrl+Enter runs; Alt+Up and Alt+Down walk through the history. */
  private key(event: KeyboardEvent): void {
    const step = event.altKey ? ({ ArrowUp: 1, ArrowDown: -1 } as Record<string, number>)[event.key] : undefined;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.run();
    else if (step !== undefined) {
      this.back = Math.max(-1, Math.min(this.history.length - 1, this.back + step));
      this.put(this.history[this.back] ?? "");
    } else if (event.key === "Escape") this.editor.blur();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private async run(): Promise<void> {
    const statement = this.editor.value.trim();
    if (statement === "") return;
    this.keep(statement);
    this.status.textContent = "…";
    this.status.classList.remove("failed");
    const began = performance.now();
    let seen = "";
    try {
      let result = await this.latest.of((signal) => this.app.state.engine.sql(statement, signal, true));
      if (result?.part) {
        seen = `from the first ${count(result.part.rows)} of ${count(result.part.of)} rows of ${result.part.table}`;
        this.status.textContent = `Preliminary, ${seen}; reading all rows…`;
        this.show(result);
        result = await this.latest.of((signal) => this.app.state.engine.sql(statement, signal));
      }
      if (!result) return;
      const took = duration(Math.round((performance.now() - began) * 1e6));
      this.status.textContent = result.cut ? `the first ${count(result.rows.length)} rows, ${took}` : took;
      this.ran = statement;
      this.show(result);
    } catch (error) {
      this.status.textContent = seen ? `${(error as Error).message}; the answer below is ${seen} only` : (error as Error).message;
      this.status.classList.add("failed");
    }
  }

  private keep(statement: string): void {
    this.history = [statement, ...this.history.filter((other) => other !== statement)].slice(0, HISTORY);
    this.back = -1;
    remember("sql.history", this.history);
    this.offer(this.tables);
  }

  /** The events of the answer as a row of the timeline, pinned at its top. */
  private addRow(): void {
    const { rows, choices, engine } = this.app.state;
    const label = this.ran.replace(/\s+/g, " ").slice(0, 80);
    const row = this.result && engine.made.add(this.result, label);
    if (row) this.app.set({ rows: [...rows, row], choices: { ...choices, pinned: [...choices.pinned, row.id] } });
  }

  private show(result: SqlResult): void {
    this.result = result;
    this.rowButton.hidden = eventColumns(result) === null;
    this.grid.fill({
      label: "Answer",
      columns: result.columns.map((title, index) => this.column(title, result.kinds[index] ?? "text")),
      rows: result.rows,
    });
  }

  private column(title: string, kind: string): GridColumn {
    const number = (words: (value: number) => string) => (cell: Cell) => (typeof cell === "number" ? words(cell) : String(cell));
    switch (kind) {
      case "time":
        return { title, numeric: true, words: number(moment), link: (cell) => this.goTo(Number(cell)) };
      case "duration":
        return { title, numeric: true, words: number(duration) };
      case "int":
      case "real":
        return { title, numeric: true };
      default:
        return { title, numeric: false };
    }
  }

  /** Shows the moment in the middle, as near as the view is now. */
  private goTo(time: number): void {
    const { view } = this.app.state;
    const half = (view.to - view.from) / 2;
    this.app.set({ view: { from: time - half, to: time + half } });
  }
}
