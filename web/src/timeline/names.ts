// Texts of names, asked for in batches as they come into sight, and how much of each fits a width. A name is measured once,
// by the widths of its characters; long ones are cut before that, so that a name of a megabyte costs no more than another.

import type { Engine } from "../engine/engine";

const BATCH = 500;
const MEASURED = 160;
/** More than these were never on one picture; then all are forgotten and those in sight asked for again. */
const MOST_TEXTS = 100_000;
const MOST_MEASURED = 10_000;
const ELLIPSIS = "…";

interface Measured {
  text: string;
  /** The width of the first i + 1 characters. */
  widths: Float32Array;
}

/** What people call it when there is little room: without return type, scopes and arguments; of "what: which" the latter. */
export function brief(name: string): string {
  const plain = name.replace(/^void\s+/, "");
  const which = plain.lastIndexOf(": ");
  const head = (which > 0 ? plain.slice(which + 2) : plain).split(/[<(]/, 1)[0]!;
  const last = head.slice(head.lastIndexOf("::") + 1).replace(/^:/, "");
  return last.trim() === "" ? plain : last;
}

export class Names {
  private texts = new Map<number, string>();
  private ids = new Map<string, number>();
  private fits = new Map<number, { full: Measured; brief: Measured }>();
  private asked = new Set<number>();
  private wanted: number[] = [];
  private characters = new Map<string, number>();

  constructor(
    private readonly engine: Engine,
    private readonly arrived: () => void,
    private readonly fail: (error: Error) => void,
    private readonly measure: (text: string) => number,
  ) {}

  get pending(): number {
    return this.asked.size;
  }

  /** The text, or nothing yet; it is then on its way. */
  text(id: number): string | undefined {
    const text = this.texts.get(id);
    if (text === undefined && !this.asked.has(id)) {
      this.asked.add(id);
      this.wanted.push(id);
    }
    return text;
  }

  /** The name with that text, if it has been seen. */
  idOf(text: string): number | null {
    return this.ids.get(text) ?? null;
  }

  known(id: number): string | undefined {
    return this.texts.get(id);
  }

  /** Asks for the names that this frame lacked. */
  send(): void {
    while (this.wanted.length > 0) {
      const ids = this.wanted.splice(0, BATCH);
      this.engine
        .names(ids)
        .then((texts) => {
          if (this.texts.size > MOST_TEXTS) {
            this.texts.clear();
            this.ids.clear();
          }
          ids.forEach((id, i) => {
            this.texts.set(id, texts[i] ?? "");
            this.ids.set(texts[i] ?? "", id);
          });
          this.arrived();
        })
        .catch((error: Error) => this.fail(error))
        .finally(() => ids.forEach((id) => this.asked.delete(id)));
    }
  }

  /** As much of a name as a width holds; nothing where not even a few characters do. */
  fitting(id: number, width: number): string {
    const text = this.text(id);
    if (text === undefined || text === "") return "";
    let fit = this.fits.get(id);
    if (!fit) {
      if (this.fits.size > MOST_MEASURED) this.fits.clear();
      fit = { full: this.measured(text), brief: this.measured(brief(text)) };
      this.fits.set(id, fit);
    }
    const all = fit.full.widths;
    if (all.length > 0 && all[all.length - 1]! <= width && fit.full.text === text.replace(/\s+/g, " ")) return fit.full.text;
    return this.cut(fit.brief, width);
  }

  private cut({ text, widths }: Measured, width: number): string {
    const last = widths.length - 1;
    if (last >= 0 && widths[last]! <= width) return text;
    const room = width - this.character(ELLIPSIS);
    let low = 0;
    let high = widths.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (widths[middle]! <= room) low = middle + 1;
      else high = middle;
    }
    return low < 2 ? "" : text.slice(0, /[\ud800-\udbff]/.test(text[low - 1]!) ? low - 1 : low) + ELLIPSIS;
  }

  private measured(name: string): Measured {
    const text = name.slice(0, MEASURED).replace(/\s+/g, " ");
    const widths = new Float32Array(text.length);
    let width = 0;
    for (let i = 0; i < text.length; i++) {
      width += this.character(text[i]!);
      widths[i] = width;
    }
    return { text, widths };
  }

  private character(character: string): number {
    let width = this.characters.get(character);
    if (width === undefined) {
      width = this.measure(character);
      this.characters.set(character, width);
    }
    return width;
  }
}
