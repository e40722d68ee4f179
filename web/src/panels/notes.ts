// Bookmarks, each with a title, a note, the view in which it was made and the table that was open: a story that can be read from the
// first to the last (story.ts). They are kept beside the report, so that the next person who opens it finds them.

import type { App, Change } from "../app";
import type { Note, NoteTable } from "../engine/engine";
import { isDark, noteColour } from "../ui/colour";
import { duration, moment } from "../units";
import { perform } from "../keys";
import { button, make, textbox } from "../ui/dom";
import { Panel } from "./panel";

/** The number of colours, after which they repeat. */
const NOTE_COLOURS = 6;

export class NotesPanel extends Panel {
  readonly name = "notes";
  readonly title = "Bookmarks";
  protected readonly shows: readonly Change[] = ["notes", "theme", "chapter"];
  private readonly list = make("ol", { class: "notes" });
  private readonly bar = make("div", { class: "bar" });
  /** The note that is to get the keyboard once it is drawn. */
  private fresh: string | null = null;
  /** The panel that was open before this one. */
  private before: string | null = null;

  /** others: the panels whose tables a bookmark can keep. */
  constructor(private readonly others: readonly Panel[]) {
    super();
  }

  protected build(): void {
    this.before = this.app.state.panel;
    this.app.listen((changed) => {
      if (changed.has("panel") && this.app.state.panel !== this.name) this.before = this.app.state.panel;
    });
    this.element.append(this.bar, this.list);
  }

  /** Adds one and lets the reader write what it is about. */
  add(): void {
    const { details, event, span, view, notes, rows } = this.app.state;
    const middle = Math.round((view.from + view.to) / 2);
    const at = details && event ? { time: details.from, to: details.to, row: details.row } : span ? { time: span.from, to: span.to, row: -1 } : { time: middle, to: null, row: -1 };
    const row = rows.find((candidate) => candidate.id === at.row);
    const text = details && event ? details.name.slice(0, 200) : "";
    const id = crypto.getRandomValues(new Uint32Array(2)).join("-");
    const note: Note = { id, ...at, row: row ? row.id : -1, text, colour: notes.length % NOTE_COLOURS, note: "", ...this.seenNow() };
    this.fresh = note.id;
    this.save([...notes, note]);
    this.app.set({ panel: this.name });
  }

  /** The view, and the table that is open or was before this panel. */
  private seenNow(): { place: string; table: NoteTable | null } {
    const { state } = this.app;
    const panel = state.panel === this.name ? this.before : state.panel;
    const table = this.others.find(({ name }) => name === panel)?.keptTable() ?? null;
    return { place: this.app.linkOf({ ...state, panel: panel === this.name ? null : panel, chapter: null }), table };
  }

  private save(notes: readonly Note[]): void {
    this.app.set({ notes });
    this.app.state.engine.saveNotes(notes).catch((error: Error) => this.app.fail(error));
  }

  protected draw(): void {
    const { notes } = this.app.state;
    const written = document.activeElement?.matches("input, textarea") && this.list.contains(document.activeElement);
    this.drawBar();
    if (written && this.fresh === null && this.list.childElementCount === notes.length) return;
    const empty = make("li", { class: "empty" }, "No bookmarks yet. Press B to add one at the selected event, the span, or the middle of the view.");
    this.list.replaceChildren(...(notes.length > 0 ? notes.map((note, index) => this.item(note, index)) : [empty]));
    const box = this.fresh === null ? null : this.list.querySelector<HTMLInputElement>(`[data-note="${this.fresh}"] input`);
    this.fresh = null;
    box?.focus();
    box?.select();
  }

  private drawBar(): void {
    const add = button("Bookmark", () => this.add(), { icon: "bookmark", title: "Bookmark the selected event, the span, or the middle of the view (B)" });
    const read = button("Read story", () => perform("story"), { title: "Show the bookmarks one after the other (Shift B)" });
    this.bar.replaceChildren(add, ...(this.app.state.notes.length > 0 ? [read] : []));
  }

  private item(note: Note, index: number): HTMLElement {
    const when = note.to !== null && note.to > note.time ? `${moment(note.time)}, ${duration(note.to - note.time)}` : moment(note.time);
    const go = button(when, () => showNote(this.app, note, this.others), { class: "link number", title: "Go to this view" });
    const title = textbox("Title", () => {});
    title.value = note.text;
    this.writes(title, () => this.change(note.id, { text: title.value }), (event) => event.key === "Enter" || event.key === "Escape");
    const words = make("textarea", { class: "textbox note-words", "aria-label": "Note", placeholder: "Note", rows: 1 });
    words.value = note.note;
    this.writes(words, () => this.change(note.id, { note: words.value }), (event) => event.key === "Escape");
    const mark = make("span", { class: "note-mark", "aria-hidden": "true" });
    mark.style.backgroundColor = noteColour(note.colour, isDark());
    const current = this.app.state.chapter === note.id;
    return make("li", { "data-note": note.id, "aria-current": current ? "true" : undefined },
      make("div", { class: "note-head" }, mark, go, title, ...this.buttons(note, index)),
      make("div", { class: "note-body" }, words, ...this.kept(note)),
    );
  }

  private writes(box: HTMLInputElement | HTMLTextAreaElement, change: () => void, ends: (event: KeyboardEvent) => boolean): void {
    box.dir = "auto";
    box.addEventListener("change", change);
    box.addEventListener("keydown", (event) => {
      if (ends(event as KeyboardEvent)) box.blur();
      event.stopPropagation();
    });
  }

  private buttons(note: Note, index: number): HTMLElement[] {
    const { notes } = this.app.state;
    const move = (by: number) => (): void => {
      const order = this.app.state.notes.filter(({ id }) => id !== note.id);
      order.splice(index + by, 0, note);
      this.save(order);
    };
    const up = button("", move(-1), { icon: "up", title: "Move this bookmark up", class: "quiet" });
    const down = button("", move(1), { icon: "down", title: "Move this bookmark down", class: "quiet" });
    up.disabled = index === 0;
    down.disabled = index === notes.length - 1;
    const keep = button("", () => this.keep(note.id), { icon: "picture", title: "Replace the view and table with the current ones", class: "quiet" });
    const remove = button("", () => this.save(this.app.state.notes.filter((other) => other.id !== note.id)), { icon: "remove", title: "Delete this bookmark", class: "quiet" });
    return [up, down, keep, remove];
  }

  private keep(id: string): void {
    this.change(id, this.seenNow());
    this.app.say("The bookmark now shows the current view.");
  }

  /** The table that a bookmark shows. */
  private kept({ id, table }: Note): HTMLElement[] {
    if (!table) return [];
    const name = "report" in table ? (this.app.state.about.reports.find(({ name: report }) => report === table.report)?.title ?? table.report) : table.statement;
    const drop = button("", () => this.change(id, { table: null }), { icon: "close", title: "Remove the table from this bookmark", class: "quiet" });
    return [make("span", { class: "note-table", title: name.slice(0, 1_000) }, "Table: ", make("bdi", { dir: "auto" }, name.slice(0, 60)), drop)];
  }

  private change(id: string, parts: Partial<Note>): void {
    this.save(this.app.state.notes.map((note) => (note.id === id ? { ...note, ...parts } : note)));
  }
}

/** Shows the view of a bookmark with its table; one without a view is shown where it is. */
export function showNote(app: App, note: Note, panels: readonly Panel[]): void {
  const { chapter } = app.state;
  if (note.place === "") app.set({ view: app.around({ from: note.time, to: note.to ?? note.time }) });
  else app.goTo(note.place);
  app.set({ chapter });
  showTable(app, note, panels);
}

/** The table of a bookmark, asked for anew. */
export function showTable(app: App, { table }: Note, panels: readonly Panel[]): void {
  const panel = table && panels.find((candidate) => candidate.restoreTable(table));
  if (panel) app.set({ panel: panel.name });
}
