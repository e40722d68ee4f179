// The line between names and picture, which can be dragged or moved by keys; the width is remembered. Until somebody does, and
// after a double click, names have the room that the longest of them needs, within reason.

import { make } from "../ui/dom";
import { isNumber, recall, remember } from "../ui/memory";

const NARROW = 200;
const WIDE = 360;
const LEAST = 96;
const MOST = 720;
const STEP = 16;

export class LabelsGrip {
  readonly element = make("div", { class: "labels-grip", role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": "Width of row names", title: "Drag to resize; double-click to fit", "data-own-keys": true });
  width = NARROW;

  /** wanted: what the longest name takes. */
  constructor(private readonly home: HTMLElement, wanted: number) {
    const fit = Math.min(WIDE, Math.max(NARROW, wanted));
    this.set(recall("labels", isNumber, fit));
    this.element.addEventListener("dblclick", () => {
      this.set(fit);
      remember("labels", null);
    });
    this.element.addEventListener("pointerdown", (event) => this.press(event));
    this.element.addEventListener("keydown", (event) => {
      const widths: Record<string, number> = { ArrowLeft: this.width - STEP, ArrowRight: this.width + STEP, Home: LEAST, End: MOST };
      const width = widths[event.key];
      if (width === undefined) return;
      event.preventDefault();
      this.choose(width);
    });
  }

  private press(down: PointerEvent): void {
    down.preventDefault();
    const apart = this.width - down.clientX;
    this.element.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent): void => this.choose(event.clientX + apart);
    this.element.addEventListener("pointermove", move);
    this.element.addEventListener("lostpointercapture", () => this.element.removeEventListener("pointermove", move), { once: true });
  }

  private set(wanted: number): void {
    this.width = Math.round(Math.min(MOST, Math.max(LEAST, wanted)));
    this.home.style.setProperty("--labels", `${this.width}px`);
    this.element.setAttribute("aria-valuenow", String(this.width));
  }

  private choose(wanted: number): void {
    this.set(wanted);
    remember("labels", this.width);
  }
}
