// Bookmarks with a note each: at the selected event, the span, or the middle of the view. They are kept beside the report, so
// that the next person who opens it finds them.

import type { App, Change } from "../app";
import type { Note } from "../engine/engine";
import { isDark, noteColour } from "../ui/colour";
import { duration, moment } from "../units";
import { button, make, textbox } from "../ui/dom";
import { Panel } from "./panel";

/** They repeat after so many. */
const NOTE_COLOURS = 6;

export class NotesPanel extends Panel {
  readonly name = "notes";
  readonly title = "Bookmarks";
  protected readonly shows: readonly Change[] = ["notes", "theme"];
  private readonly list = make("ul", { class: "notes" });
  /** The note that is to get the keyboard once it is drawn. */
  private fresh: string | null = null;

  protected build(): void {
    const add = button("Bookmark", () => this.add(), { icon: "bookmark", title: "Bookmark the selected event, the span, or the middle of the view (B)" });
    this.element.append(make("div", { class: "bar" }, add), this.list);
  }

  /** Adds one and lets the reader write what it is about. */
  add(): void {
    const { details, event, span, view, notes, rows } = this.app.state;
    const middle = Math.round((view.from + view.to) / 2);
    const at = details && event ? { time: details.from, to: details.to, row: details.row } : span ? { time: span.from, to: span.to, row: -1 } : { time: middle, to: null, row: -1 };
    const row = rows.find((candidate) => candidate.id === at.row);
    const text = details && event ? details.name.slice(0, 200) : "";
    const note: Note = { id: crypto.getRandomValues(new Uint32Array(2)).join("-"), ...at, row: row ? row.id : -1, text, colour: notes.length % NOTE_COLOURS };
    this.fresh = note.id;
    this.save([...notes, note]);
    this.app.set({ panel: this.name });
  }

  private save(notes: readonly Note[]): void {
    const sorted = [...notes].sort((a, b) => a.time - b.time);
    this.app.set({ notes: sorted });
    this.app.state.engine.saveNotes(sorted).catch((error: Error) => this.app.fail(error));
  }

  protected draw(): void {
    const { notes } = this.app.state;
    if (this.list.contains(document.activeElement) && this.fresh === null && this.list.childElementCount === notes.length) return; // being written
    const empty = make("li", { class: "empty" }, "No bookmarks yet. B adds one at the selected event, the span, or the middle of the view.");
    this.list.replaceChildren(...(notes.length > 0 ? notes.map((note) => this.item(note)) : [empty]));
    const box = this.fresh === null ? null : this.list.querySelector<HTMLInputElement>(`[data-note="${this.fresh}"] input`);
    this.fresh = null;
    box?.focus();
    box?.select();
  }

  private item(note: Note): HTMLElement {
    const when = note.to !== null && note.to > note.time ? `${moment(note.time)}, ${duration(note.to - note.time)}` : moment(note.time);
    const go = button(when, () => goToNote(this.app, note), { class: "link number", title: "Go there" });
    const text = textbox("Note", () => {});
    text.value = note.text;
    text.dir = "auto";
    text.addEventListener("change", () => this.change(note.id, text.value));
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") text.blur();
      event.stopPropagation();
    });
    const remove = button("", () => this.save(this.app.state.notes.filter((other) => other.id !== note.id)), { icon: "remove", title: "Delete this bookmark", class: "quiet" });
    const mark = make("span", { class: "note-mark", "aria-hidden": "true" });
    mark.style.backgroundColor = noteColour(note.colour, isDark());
    return make("li", { "data-note": note.id }, mark, go, text, remove);
  }

  private change(id: string, text: string): void {
    this.save(this.app.state.notes.map((note) => (note.id === id ? { ...note, text } : note)));
  }
}

function goToNote(app: App, note: Note): void {
  app.set({ view: app.around({ from: note.time, to: note.to ?? note.time }) });
}
