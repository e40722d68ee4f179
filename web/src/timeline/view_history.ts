// Where the reader has been: views that were rested on, to go back to and forward again.

import type { Span } from "../engine/engine";
import { sameSpan } from "./lens";

const MOST = 200;

export class ViewHistory {
  private views: Span[] = [];
  private at = -1;

  /** Notes a view that was rested on; what lay ahead of it is forgotten. */
  rest(view: Span): void {
    const now = this.views[this.at];
    if (now && sameSpan(now, view)) return;
    this.views = [...this.views.slice(0, this.at + 1), view].slice(-MOST);
    this.at = this.views.length - 1;
  }

  get present(): Span | null {
    return this.views[this.at] ?? null;
  }

  back(): Span | null {
    return this.at > 0 ? this.views[--this.at]! : null;
  }

  forward(): Span | null {
    return this.at < this.views.length - 1 ? this.views[++this.at]! : null;
  }
}
