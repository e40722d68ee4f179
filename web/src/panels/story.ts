// The story of a report: its bookmarks one after the other, each with its view, its words and its table. A strip below the toolbar
// has the words; the timeline and the panels show the rest. A report that comes with a story offers it at the start.

import type { App } from "../app";
import type { Note } from "../engine/engine";
import { on } from "../keys";
import { button, make } from "../ui/dom";
import { cut } from "../ui/text";
import { count } from "../units";
import { showNote, showTable } from "./notes";
import type { Panel } from "./panel";

const TITLES = 12;
const UNTITLED = "Untitled";

const titleOf = (note: Note): string => (note.text.trim() === "" ? UNTITLED : cut(note.text, 300));

export class Story {
  private readonly element = make("section", { class: "story", "aria-label": "Story", hidden: true });
  /** The list of chapters is offered, and none is read. */
  private offered = false;

  constructor(private readonly app: App, private readonly panels: readonly Panel[]) {}

  mount(workspace: HTMLElement): void {
    workspace.before(this.element);
    on("story", () => (this.app.state.chapter === null ? this.step(1) : this.close()));
    on("chapter-next", () => this.step(1));
    on("chapter-previous", () => this.step(-1));
    this.app.listen((changed) => {
      if (changed.has("chapter") || changed.has("notes")) this.draw();
    });
  }

  /** Once the bookmarks of the report have come: a chapter that the address names is read, a story without one is offered. */
  open(): void {
    const { notes, chapter } = this.app.state;
    const named = notes.find(({ id }) => id === chapter);
    if (named) showTable(this.app, named, this.panels);
    else this.app.set({ chapter: null });
    this.offered = !named && notes.some(({ place }) => place !== "");
    this.draw();
  }

  private close(): void {
    this.offered = false;
    this.app.set({ chapter: null });
    this.draw();
  }

  private step(by: number): void {
    const { notes, chapter } = this.app.state;
    const at = notes.findIndex(({ id }) => id === chapter);
    const next = notes[at < 0 ? (by > 0 ? 0 : notes.length - 1) : at + by];
    if (next) this.read(next);
    else if (notes.length === 0) this.app.say("No bookmarks yet. Press B to add one.");
  }

  private read(note: Note): void {
    this.app.set({ chapter: note.id });
    showNote(this.app, note, this.panels);
  }

  private draw(): void {
    const { notes, chapter } = this.app.state;
    const at = notes.findIndex(({ id }) => id === chapter);
    const note = notes[at];
    this.element.hidden = !note && (!this.offered || notes.length === 0);
    if (note) this.element.replaceChildren(...this.chapter(note, at, notes.length));
    else if (this.offered) this.element.replaceChildren(...this.contents(notes));
  }

  private chapter(note: Note, at: number, chapters: number): HTMLElement[] {
    const previous = button("", () => this.step(-1), { icon: "back", title: "Previous chapter ({)", class: "quiet" });
    const next = button("", () => this.step(1), { icon: "fold", title: "Next chapter (})", class: "quiet" });
    previous.disabled = at === 0;
    next.disabled = at === chapters - 1;
    const words = make("p", { class: "story-words", dir: "auto" }, cut(note.note, 20_000));
    words.hidden = note.note.trim() === "";
    return [
      make("div", { class: "story-walk" }, previous, make("span", { class: "number" }, `${count(at + 1)} of ${count(chapters)}`), next),
      make("div", { class: "story-text", role: "status" }, make("strong", { class: "story-title", dir: "auto" }, titleOf(note)), words),
      button("", () => this.close(), { icon: "close", title: "Close the story (Shift B)", class: "quiet" }),
    ];
  }

  private contents(notes: readonly Note[]): HTMLElement[] {
    const list = make("ol", { class: "story-contents" });
    for (const note of notes.slice(0, TITLES)) list.append(make("li", {}, button(titleOf(note), () => this.read(note), { class: "link" })));
    if (notes.length > TITLES) list.append(make("li", { class: "muted" }, `and ${count(notes.length - TITLES)} more`));
    return [
      make("div", { class: "story-walk" }, button("Read story", () => this.step(1), { class: "primary", title: "Read the story from its first chapter (Shift B)" })),
      list,
      button("", () => this.close(), { icon: "close", title: "Close the story", class: "quiet" }),
    ];
  }
}
