// What every panel of the dock is: something with a name that is drawn from parts of the state. It is drawn again when one of
// those parts changes, but only while it is seen; asking the engine for what nobody looks at would slow the timeline.

import type { App, Change } from "../app";
import type { NoteTable } from "../engine/engine";

export abstract class Panel {
  abstract readonly name: string;
  abstract readonly title: string;
  /** The parts of the state that it shows. */
  protected abstract readonly shows: readonly Change[];
  protected app!: App;
  protected element!: HTMLElement;
  private stale = true;

  mount(element: HTMLElement, app: App): void {
    this.element = element;
    this.app = app;
    this.build();
    app.listen((changed) => {
      if (this.shows.some((part) => changed.has(part))) this.redraw();
    });
  }

  /** Called by the dock when it becomes visible. */
  seen(): void {
    if (!this.stale) return;
    this.stale = false;
    this.draw();
  }

  /** Draws now if it is seen, else once it is. */
  protected redraw(): void {
    this.stale = true;
    if (!this.element.hidden) this.seen();
  }

  /** Where the keyboard goes when the panel is opened by a key. */
  focus(): void {
    this.element.focus();
  }

  /** The question that makes the table it shows, for a bookmark to keep; null: it shows none that can be asked for again. */
  keptTable(): NoteTable | null {
    return null;
  }

  /** Shows a table that a bookmark kept; false: it is not this panel's. */
  restoreTable(_table: NoteTable): boolean {
    return false;
  }

  protected abstract build(): void;
  protected abstract draw(): void;
}

/** Of several answers under way only that to the last question counts; the others are called off. */
export class Latest {
  private turn = 0;
  private answered = 0;
  private before: AbortController | null = null;

  /** Whether the last question is open still. */
  get isOpen(): boolean {
    return this.answered !== this.turn;
  }

  /** The answer, or undefined when another question was asked meanwhile. */
  async of<Value>(ask: (signal: AbortSignal) => Promise<Value>): Promise<Value | undefined> {
    const turn = ++this.turn;
    this.before?.abort();
    const { signal } = (this.before = new AbortController());
    try {
      const value = await ask(signal);
      return turn === this.turn ? value : undefined;
    } catch (error) {
      if (turn === this.turn) throw error;
      return undefined;
    } finally {
      this.answered = Math.max(this.answered, turn);
    }
  }
}
