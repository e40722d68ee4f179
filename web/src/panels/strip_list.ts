// The canvas of the steps: a strip each, of which only those in sight are drawn and fetched. It scrolls, walks with the keyboard and
// tells what lies under the pointer; what the strips are of is its owner's business.

import type { Steps, Strip } from "../engine/engine";
import { isDark } from "../ui/colour";
import { make } from "../ui/dom";
import { cut } from "../ui/text";
import { partColour, type PartName } from "../ui/tones";
import { duration } from "../units";

const NAMES = 168;
const RIGHT = 12;
const AXIS = 20;
const TALL = 26;
/** Names are written, and the ghost is drawn, where a strip is so high; more strips than so many are lower. */
const WRITTEN = 14;
const LOW = 7;
const MANY = 500;
const FONT = "11px system-ui, sans-serif";
/** In the order of the bins. */
const STRIP_PARTS: readonly PartName[] = ["compute", "communication", "copies"];
const PARTS = STRIP_PARTS.length;

export class StripList {
  readonly element = make("div", { class: "strips", tabindex: 0, role: "application", "aria-label": "Steps. Arrow keys move, Enter goes to the step", "data-own-keys": "" });
  private readonly canvas = make("canvas", { class: "strips-canvas" });
  private readonly space = make("div", { "aria-hidden": "true" });
  private readonly tip = make("div", { class: "tip", role: "tooltip", hidden: true });
  private readonly voice = make("p", { class: "offscreen", role: "status" });
  private steps: Steps | null = null;
  /** Strips of one place. */
  private each = 1;
  private current = -1;

  /** at: the strips at a place, once they are there. */
  constructor(
    private readonly at: (index: number) => readonly Strip[] | undefined,
    private readonly chosen: (strip: Strip) => void,
    private readonly words: (strip: Strip) => { title: string; main: string },
  ) {
    this.element.append(this.canvas, this.space, this.tip, this.voice);
    this.element.addEventListener("scroll", () => this.paint());
    this.element.addEventListener("pointermove", (event) => this.hover(event));
    this.element.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.element.addEventListener("click", (event) => {
      const strip = this.stripAt(event);
      if (strip) this.chosen(strip);
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.paint()).observe(this.element);
  }

  focus(): void {
    this.element.focus();
  }

  clear(): void {
    this.steps = null;
    this.current = -1;
    this.element.scrollTop = 0;
    this.paint();
  }

  /** The median and the length of the axis are those of every answer; each: how many strips a place has. */
  show(steps: Steps, each: number): void {
    this.steps = steps;
    this.each = each;
    this.paint();
  }

  /** High where few are to be shown, low where many are. */
  private height(): number {
    const strips = Math.max(1, (this.steps?.total ?? 1) * this.each);
    const room = (this.element.clientHeight - AXIS) / strips;
    return Math.max(strips > MANY ? LOW : WRITTEN, Math.min(TALL, Math.floor(room)));
  }

  private placeHeight(): number {
    return this.height() * this.each + (this.each > 1 ? 3 : 0);
  }

  private paint(): void {
    const [width, height] = [this.element.clientWidth, this.element.clientHeight];
    const context = this.canvas.getContext("2d");
    if (width === 0 || height === 0 || !context) return;
    const total = this.steps?.total ?? 0;
    this.space.style.height = `${Math.max(0, total * this.placeHeight() + AXIS - height)}px`;
    const scale = window.devicePixelRatio;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    context.scale(scale, scale);
    Object.assign(this.element.dataset, { total, strip: this.height(), axis: AXIS, left: NAMES }); // for those who point by program
    if (this.steps) this.draw(context, this.steps, width, height);
  }

  private draw(context: CanvasRenderingContext2D, steps: Steps, width: number, height: number): void {
    const style = getComputedStyle(this.element);
    const ink = style.color;
    const bins = steps.median.bins.length / PARTS;
    const perNs = (width - NAMES - RIGHT) / (bins * steps.bin);
    const [place, strip] = [this.placeHeight(), this.height()];
    const first = Math.floor(this.element.scrollTop / place);
    const last = Math.min(steps.total, Math.ceil((this.element.scrollTop + height - AXIS) / place));
    context.font = FONT;
    context.textBaseline = "middle";
    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, height - AXIS);
    context.clip();
    for (let index = first; index < last; index++) {
      const y = AXIS + index * place - this.element.scrollTop;
      for (const item of this.at(index) ?? []) {
        const top = y + (this.each > 1 ? item.run : 0) * strip;
        this.drawStrip(context, item, steps, { top, height: strip - (strip >= WRITTEN ? 3 : 1), perNs, width });
        if (strip >= WRITTEN) this.drawName(context, item, top + strip / 2, ink);
      }
      if (index === this.current) {
        context.strokeStyle = style.getPropertyValue("--accent");
        context.lineWidth = 2;
        context.strokeRect(1, y, width - 2, place - 1);
      }
    }
    context.restore();
    this.drawAxis(context, steps, perNs, width, height, ink);
  }

  private drawStrip(context: CanvasRenderingContext2D, item: Strip, steps: Steps, box: { top: number; height: number; perNs: number; width: number }): void {
    const dark = isDark();
    const colours = STRIP_PARTS.map((part) => partColour(part, dark));
    const { top, height, perNs } = box;
    const wide = steps.bin * perNs;
    const most = box.width - RIGHT;
    const end = Math.min(most, NAMES + (item.to - item.from) * perNs);
    context.fillStyle = partColour("idle", dark);
    context.fillRect(NAMES, top, Math.max(1, end - NAMES), height);
    for (let bin = 0; bin * PARTS < item.bins.length; bin++) {
      let foot = top + height;
      for (let part = 0; part < PARTS; part++) {
        const share = item.bins[bin * PARTS + part]! / steps.bin;
        if (share <= 0) continue;
        context.fillStyle = colours[part]!;
        context.fillRect(NAMES + bin * wide, foot - share * height, wide + 0.25, share * height);
        foot -= share * height;
      }
    }
    if (height >= WRITTEN - 4) this.drawGhost(context, steps, top, height, wide);
    const over = NAMES + (steps.median.to - steps.median.from) * perNs;
    if (end <= over) return;
    context.fillStyle = getComputedStyle(this.element).getPropertyValue("--warn");
    context.fillRect(over, top + height - 2, end - over, 2);
    if (NAMES + (item.to - item.from) * perNs <= most + 1) return;
    context.beginPath(); // it goes on beyond the axis
    context.moveTo(most + 2, top);
    context.lineTo(most + 8, top + height / 2);
    context.lineTo(most + 2, top + height);
    context.fill();
  }

  /** How busy the median step was, as a line over the strip. */
  private drawGhost(context: CanvasRenderingContext2D, { median, bin }: Steps, top: number, height: number, wide: number): void {
    context.strokeStyle = getComputedStyle(this.element).color;
    context.globalAlpha = 0.45;
    context.lineWidth = 1;
    context.beginPath();
    const bins = Math.min(median.bins.length / PARTS, Math.ceil((median.to - median.from) / bin));
    for (let at = 0; at < bins; at++) {
      const busy = (median.bins[at * PARTS]! + median.bins[at * PARTS + 1]! + median.bins[at * PARTS + 2]!) / bin;
      const y = top + height * (1 - busy);
      if (at === 0) context.moveTo(NAMES, y);
      else context.lineTo(NAMES + at * wide, y);
      context.lineTo(NAMES + (at + 1) * wide, y);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  private drawName(context: CanvasRenderingContext2D, item: Strip, y: number, ink: string): void {
    const name = item.rank === undefined || this.each > 1 ? item.name : `rank ${item.rank}`;
    const length = duration(item.to - item.from);
    context.fillStyle = ink;
    context.textAlign = "right";
    context.fillText(length, NAMES - 8, y);
    context.textAlign = "left";
    const room = NAMES - 24 - context.measureText(length).width;
    let text = cut(`${this.each > 1 ? (item.run === 0 ? "A " : "B ") : ""}${name}`, 60);
    while (text.length > 1 && context.measureText(text).width > room) text = `${text.slice(0, -2)}…`;
    context.fillText(text, 8, y);
  }

  private drawAxis(context: CanvasRenderingContext2D, steps: Steps, perNs: number, width: number, height: number, ink: string): void {
    const end = (steps.median.bins.length / PARTS) * steps.bin;
    context.fillStyle = ink;
    context.textAlign = "left";
    context.fillText("0", NAMES, AXIS / 2);
    context.textAlign = "right";
    context.fillText(duration(end), width - RIGHT, AXIS / 2);
    const x = NAMES + (steps.median.to - steps.median.from) * perNs;
    context.textAlign = "center";
    const words = `median ${duration(steps.median.to - steps.median.from)}`;
    const half = context.measureText(words).width / 2;
    if (x + half < width - RIGHT - 70 && x - half > NAMES + 12) context.fillText(words, x, AXIS / 2);
    context.globalAlpha = 0.45;
    context.setLineDash([3, 3]);
    context.strokeStyle = ink;
    context.beginPath();
    context.moveTo(x, AXIS);
    context.lineTo(x, height);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  private stripAt(event: MouseEvent): Strip | null {
    const box = this.element.getBoundingClientRect();
    const y = event.clientY - box.top - AXIS + this.element.scrollTop;
    if (event.clientY - box.top < AXIS || y < 0) return null;
    const index = Math.floor(y / this.placeHeight());
    const items = index < (this.steps?.total ?? 0) ? (this.at(index) ?? []) : [];
    const run = Math.min(1, Math.floor((y - index * this.placeHeight()) / this.height()));
    return (this.each > 1 ? items.find((item) => item.run === run) : items[0]) ?? null;
  }

  private hover(event: MouseEvent): void {
    const strip = this.stripAt(event);
    this.tip.hidden = !strip;
    if (!strip) return;
    const { title, main } = this.words(strip);
    this.tip.replaceChildren(make("div", { class: "tip-name" }, cut(title, 200)), make("div", { class: "tip-main" }, main), make("div", { class: "tip-rest" }, "Click to go to the step"));
    const box = this.element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const left = x + 16 + this.tip.offsetWidth > box.width ? x - this.tip.offsetWidth - 12 : x + 16;
    const top = y + 16 + this.tip.offsetHeight > box.height ? y - this.tip.offsetHeight - 12 : y + 16;
    this.tip.style.transform = `translate(${Math.round(Math.max(0, left))}px, ${Math.round(Math.max(0, top) + this.element.scrollTop)}px)`;
  }

  private key(event: KeyboardEvent): void {
    const total = this.steps?.total ?? 0;
    const page = Math.max(1, Math.floor((this.element.clientHeight - AXIS) / this.placeHeight()) - 1);
    const moves: Record<string, number> = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity };
    const move = moves[event.key];
    if (move !== undefined && total > 0) this.mark(Math.max(0, Math.min(total - 1, this.current + move)));
    else if (event.key === "Enter" && this.current >= 0) {
      const strip = this.at(this.current)?.[0];
      if (strip) this.chosen(strip);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private mark(index: number): void {
    this.current = index;
    const [top, room] = [index * this.placeHeight(), this.element.clientHeight - AXIS - this.placeHeight()];
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top > this.element.scrollTop + room) this.element.scrollTop = top - room;
    this.paint();
    const strips = this.at(index) ?? [];
    this.voice.textContent = strips.map((strip) => Object.values(this.words(strip)).join(": ")).join("; ");
  }
}
