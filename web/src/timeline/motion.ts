// The view as it is shown, on its way to the view that the state wants: a short glide, or a jump for those who asked their
// system for less motion and for what the hand moves itself.

import type { Span } from "../engine/engine";
import { sameSpan } from "./lens";

const GLIDE_MS = 150;

export class Motion {
  private start: Span;
  private target: Span;
  private began = 0;
  private readonly still = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(public shown: Span) {
    this.start = shown;
    this.target = shown;
  }

  get moving(): boolean {
    return !sameSpan(this.shown, this.target);
  }

  /** Where it will rest. */
  get goal(): Span {
    return this.target;
  }

  jump(to: Span): void {
    this.shown = to;
    this.start = to;
    this.target = to;
  }

  glide(to: Span, now: number): void {
    if (sameSpan(to, this.target)) return;
    if (this.still.matches) {
      this.jump(to);
      return;
    }
    this.start = this.shown;
    this.target = to;
    this.began = now;
  }

  /** The view of this frame. Length and middle go together, so that a zoom keeps what is under the pointer in place. */
  step(now: number): Span {
    if (!this.moving) return this.shown;
    const share = Math.min(1, Math.max(0, (now - this.began) / GLIDE_MS));
    const eased = 1 - (1 - share) ** 3;
    this.shown = share >= 1 ? this.target : between(this.start, this.target, eased);
    return this.shown;
  }
}

function between(a: Span, b: Span, share: number): Span {
  const [lengthA, lengthB] = [a.to - a.from, b.to - b.from];
  const length = lengthA * (lengthB / lengthA) ** share;
  // The moment that has the same place in both views stays there; for a mere move there is none, and the middle goes straight.
  const difference = lengthB - lengthA;
  if (Math.abs(difference) < 1e-6 * lengthA) {
    const from = a.from + (b.from - a.from) * share;
    return { from, to: from + length };
  }
  const part = (length - lengthA) / difference;
  const from = a.from + (b.from - a.from) * part;
  return { from, to: from + length };
}
