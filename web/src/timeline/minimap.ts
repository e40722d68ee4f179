// The whole report in one strip: how busy the GPUs and the processors were, with a window for the present view that can be
// moved, stretched, or drawn anew.

import type { App } from "../app";
import type { Overview, Span } from "../engine/engine";
import { duration } from "../units";
import { make } from "../ui/dom";
import { KERNEL, RUNNING } from "../ui/tones";
import { hatch, outlined } from "./cut";
import { confined, Lens, whole } from "./lens";
import type { Palette } from "./palette";

const MINIMAP = 48;
const HANDLE = 6;
const SAMPLES = 2048;
/** The height of a tick at the place of a match. */
const TICK = 5;

type Grip = "left" | "right" | "middle" | "new";

export class Minimap {
  readonly element = make("div", { class: "minimap", tabindex: 0, role: "slider", "aria-label": "Visible part of the report" });
  private readonly canvas = make("canvas", { "aria-hidden": "true" });
  private readonly window = make("div", { class: "minimap-window" });
  private readonly before = make("div", { class: "minimap-outside" });
  private readonly after = make("div", { class: "minimap-outside after" });
  private overview: Overview | null = null;
  private width = 0;

  constructor(
    private readonly app: App,
    private readonly jump: (view: Span) => void,
  ) {
    this.element.append(this.canvas, this.before, this.after, this.window);
    this.element.addEventListener("pointerdown", (event) => this.press(event));
    this.element.addEventListener("pointermove", (event) => (this.element.dataset["grip"] = this.gripAt(event.offsetX)));
    app.state.engine.overview(SAMPLES).then(
      (overview) => {
        this.overview = overview;
        this.dirty = true;
        this.ready();
      },
      (error: Error) => app.fail(error),
    );
  }

  dirty = true;
  ready: () => void = () => {};

  resize(width: number): void {
    if (width !== this.width) this.dirty = true;
    this.width = width;
  }

  /** Called each frame; the graph is drawn only when it changed, the window always. */
  draw(view: Span, palette: Palette): void {
    if (this.dirty) this.graph(palette);
    const report = this.report();
    const x = (time: number): number => ((time - report.from) / (report.to - report.from)) * this.width;
    const left = Math.max(0, Math.min(this.width - 2, x(view.from)));
    const right = Math.min(this.width, Math.max(left + 2, x(view.to)));
    this.window.style.transform = `translateX(${left}px)`;
    this.window.style.width = `${right - left}px`;
    this.window.hidden = left <= 0 && right >= this.width;
    this.before.style.width = `${left}px`;
    this.after.style.width = `${this.width - right}px`;
    this.element.setAttribute("aria-valuetext", `${duration(view.to - view.from)} from ${duration(view.from)}`);
    this.element.setAttribute("aria-valuenow", String(Math.round((100 * ((view.from + view.to) / 2 - report.from)) / (report.to - report.from))));
  }

  private report(): Span {
    return whole(this.app.state.about);
  }

  private graph(palette: Palette): void {
    const ratio = devicePixelRatio;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(MINIMAP * ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${MINIMAP}px`;
    const context = this.canvas.getContext("2d");
    if (!context || !this.overview || this.width === 0) return;
    this.dirty = false;
    context.scale(ratio, ratio);
    const report = this.report();
    hatch(context, outlined(this.app.state.about.detail), new Lens(report.from, report.to, this.width), palette, 0, MINIMAP);
    const { gpu, cpu } = this.overview;
    const both = gpu.some((share) => share > 0) && cpu.some((share) => share > 0);
    const half = both ? MINIMAP / 2 - 6 : MINIMAP - 10;
    if (gpu.some((share) => share > 0)) this.area(context, gpu, 4 + half, half, palette.kind(KERNEL));
    if (!gpu.some((share) => share > 0) || both) this.area(context, cpu, MINIMAP - 4, half, palette.kind(RUNNING));
    this.ticks(context, palette);
  }

  /** Where the matches are: a tick for each used part of the report's time. */
  private ticks(context: CanvasRenderingContext2D, palette: Palette): void {
    const { ticks, about } = this.app.state;
    if (!ticks) return;
    const report = this.report();
    const x = (bin: number): number => ((about.from + (bin / ticks.of) * (about.to - about.from) - report.from) / (report.to - report.from)) * this.width;
    const width = Math.max(1, x(1) - x(0));
    context.fillStyle = palette.warning;
    for (const bin of ticks.bins) context.fillRect(x(bin), 0, width, TICK);
  }

  private area(context: CanvasRenderingContext2D, values: Float32Array, bottom: number, height: number, colour: string): void {
    const report = this.report();
    const { from, to } = this.app.state.about;
    const length = report.to - report.from;
    const first = ((from - report.from) / length) * this.width;
    const step = (((to - from) / length) * this.width) / values.length;
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(first, bottom);
    // One value per pixel is the most that can be seen; the largest of those that share it stands for them.
    const group = Math.max(1, Math.floor(1 / step));
    for (let i = 0; i < values.length; i += group) {
      let share = 0;
      for (let j = i; j < Math.min(i + group, values.length); j++) share = Math.max(share, Number.isNaN(values[j]!) ? 0 : values[j]!);
      context.lineTo(first + i * step, bottom - share * height);
      context.lineTo(first + Math.min(i + group, values.length) * step, bottom - share * height);
    }
    context.lineTo(first + values.length * step, bottom);
    context.closePath();
    context.fill();
  }

  private timeAt(x: number): number {
    const report = this.report();
    return report.from + (x / this.width) * (report.to - report.from);
  }

  private gripAt(x: number): Grip {
    const report = this.report();
    const { view } = this.app.state;
    const at = (time: number): number => ((time - report.from) / (report.to - report.from)) * this.width;
    const [left, right] = [at(view.from), at(view.to)];
    if (right - left > 3 * HANDLE) {
      if (Math.abs(x - left) <= HANDLE) return "left";
      if (Math.abs(x - right) <= HANDLE) return "right";
    }
    const narrow = right - left < 2 * HANDLE ? HANDLE : 0;
    // The window that covers everything cannot be moved; drawing a new one is what is meant then.
    return x >= left - narrow && x <= right + narrow && right - left < this.width * 0.9 ? "middle" : "new";
  }

  private press(down: PointerEvent): void {
    if (down.button !== 0) return;
    const box = this.element.getBoundingClientRect();
    const x = (event: PointerEvent): number => event.clientX - box.left;
    const grip = this.gripAt(x(down));
    const start = this.app.state.view;
    const origin = this.timeAt(x(down));
    let far = false;
    this.element.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent): void => {
      far ||= Math.abs(event.clientX - down.clientX) > 3;
      if (!far) return;
      const now = this.timeAt(x(event));
      this.jump(confined(grips[grip](start, origin, now), this.app.state.about));
    };
    this.element.addEventListener("pointermove", move);
    this.element.addEventListener(
      "lostpointercapture",
      () => {
        this.element.removeEventListener("pointermove", move);
        const half = (start.to - start.from) / 2;
        if (!far && grip === "new") this.app.set({ view: confined({ from: origin - half, to: origin + half }, this.app.state.about) });
      },
      { once: true },
    );
  }
}

/** What dragging does, by where it began. */
const grips: Record<Grip, (start: Span, origin: number, now: number) => Span> = {
  left: (start, _origin, now) => ({ from: Math.min(now, start.to - 1), to: start.to }),
  right: (start, _origin, now) => ({ from: start.from, to: Math.max(now, start.from + 1) }),
  middle: (start, origin, now) => ({ from: start.from + now - origin, to: start.to + now - origin }),
  new: (_start, origin, now) => ({ from: Math.min(origin, now), to: Math.max(origin, now) }),
};
