// Time to pixels and back. A lens is a view laid over a width; it never holds state beyond those numbers.

import { MOST_LEVEL, type Span } from "../engine/engine";

/** Nothing is gained by looking closer: a nanosecond is then hundreds of pixels wide. */
const SHORTEST = 4;

export class Lens {
  readonly scale: number;

  constructor(readonly from: number, readonly to: number, readonly width: number) {
    this.scale = width / (to - from);
  }

  x(time: number): number {
    return (time - this.from) * this.scale;
  }

  time(x: number): number {
    return this.from + x / this.scale;
  }

  /** The level whose pixel is at most one of ours. */
  get level(): number {
    return Math.min(MOST_LEVEL, Math.max(0, Math.floor(Math.log2(1 / this.scale) + 1e-9)));
  }
}

/** The whole report with a little air; one that is a mere moment gets a microsecond. */
export function whole({ from, to }: Span): Span {
  const air = Math.max((to - from) * 0.01, (1_000 - (to - from)) / 2);
  return { from: from - air, to: to + air };
}

/** A view that is neither too close nor loses the report from sight. */
export function confined(view: Span, report: Span): Span {
  const widest = whole(report);
  const limit = (widest.to - widest.from) * 1.2;
  const length = Math.min(limit, Math.max(SHORTEST, view.to - view.from));
  let from = (view.from + view.to - length) / 2;
  if (from + length / 2 < widest.from) from = widest.from - length / 2;
  if (from + length / 2 > widest.to) from = widest.to - length / 2;
  return { from, to: from + length };
}

export function zoomed(view: Span, at: number, factor: number): Span {
  return { from: at - (at - view.from) * factor, to: at + (view.to - at) * factor };
}

export function moved(view: Span, share: number): Span {
  const by = (view.to - view.from) * share;
  return { from: view.from + by, to: view.to + by };
}

export function sameSpan(a: Span, b: Span): boolean {
  return a.from === b.from && a.to === b.to;
}
