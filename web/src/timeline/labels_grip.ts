// The line between names and picture, which can be dragged or moved by keys; the width is remembered.

import { make } from "../panels/dom";
import { isNumber, recall, remember } from "../panels/memory";

const FIRST = 240;
const LEAST = 96;
const MOST = 720;
const STEP = 16;

export class LabelsGrip {
  readonly element = make("div", { class: "labels-grip", role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": "Width of the names", "data-own-keys": true });
  width = FIRST;

  constructor(private readonly home: HTMLElement) {
    this.set(recall("labels", isNumber, FIRST));
    this.element.addEventListener("dblclick", () => this.set(FIRST));
    this.element.addEventListener("pointerdown", (event) => this.press(event));
    this.element.addEventListener("keydown", (event) => {
      const widths: Record<string, number> = { ArrowLeft: this.width - STEP, ArrowRight: this.width + STEP, Home: LEAST, End: MOST };
      const width = widths[event.key];
      if (width === undefined) return;
      event.preventDefault();
      this.set(width);
    });
  }

  private press(down: PointerEvent): void {
    down.preventDefault();
    const apart = this.width - down.clientX;
    this.element.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent): void => this.set(event.clientX + apart);
    this.element.addEventListener("pointermove", move);
    this.element.addEventListener("lostpointercapture", () => this.element.removeEventListener("pointermove", move), { once: true });
  }

  private set(wanted: number): void {
    this.width = Math.round(Math.min(MOST, Math.max(LEAST, wanted)));
    this.home.style.setProperty("--labels", `${this.width}px`);
    this.element.setAttribute("aria-valuenow", String(this.width));
    remember("labels", this.width);
  }
}
