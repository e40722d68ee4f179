// What the hand does on the picture. A mouse wheel zooms at the pointer; two fingers on a touch pad scroll and pan, a pinch
// zooms; a drag selects a span; with Shift, Space or the middle button it moves the picture; a click selects what is there.

import type { State } from "../app";
import type { Event } from "../engine/engine";
import { isText, recall } from "../ui/memory";
import { nearestEdge } from "./hit";
import type { Piece } from "./tiles";
import { moved, zoomed } from "./lens";
import { marksAt } from "./marks";
import { RULER } from "./ruler";
import type { Timeline } from "./timeline";
import type { Tooltip } from "./tooltip";

const DRAG_BEGINS = 4;
/** A span snaps to the begin or end of an event within this number of pixels. */
const SNAP = 6;
const WHEEL_ZOOM = 0.0022;
const PINCH_ZOOM = 0.012;
const LINE_PIXELS = 32;
/** After this time without a wheel event, the next one begins a new gesture. */
const GESTURE_MS = 250;
/** The least that one notch of a mouse wheel reports. */
const NOTCH = 40;

export class Pointer {
  /** Where the mouse is, from the left of the tracks; the middle of the picture while it is elsewhere. */
  x: number | null = null;
  y: number | null = null;
  private space = false;
  private pressed = false;
  private gesture: { at: number; mouse: boolean } = { at: -Infinity, mouse: true };
  /** What the wheel of a mouse does; the other needs Ctrl, or the names of rows. */
  wheelZooms = recall("wheel", isText, "zoom") !== "scroll";
  private touches = new Map<number, PointerEvent>();

  constructor(
    private readonly timeline: Timeline,
    private readonly tooltip: Tooltip,
    ended: AbortSignal,
  ) {
    const { canvas, area, rowList } = timeline;
    area.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    rowList.element.addEventListener("wheel", (event) => this.wheelOnNames(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("contextmenu", (event) => this.pointOut(event));
    canvas.addEventListener("dblclick", (event) => this.zoomToEvent(event));
    timeline.drawn = () => this.refresh();
    document.addEventListener("keydown", (event) => this.hold(event, true), { signal: ended });
    document.addEventListener("keyup", (event) => this.hold(event, false), { signal: ended });
  }

  /** The moment under the mouse, or in the middle of the picture. */
  get time(): number {
    const { lens } = this.timeline;
    return lens.time(this.x ?? lens.width / 2);
  }

  private hold(event: KeyboardEvent, down: boolean): void {
    if (event.key === "Tab") this.timeline.canvas.classList.remove("by-hand");
    if (event.key !== " " || (event.target instanceof Element && event.target.closest("input, textarea, select, button, [contenteditable]"))) return;
    event.preventDefault();
    this.space = down;
    this.timeline.canvas.classList.toggle("grab", down);
  }

  /** Whether a wheel event comes from a mouse: its first step is large and straight. A gesture stays what it began as. */
  private fromMouse(event: WheelEvent): boolean {
    const fresh = event.timeStamp - this.gesture.at > GESTURE_MS;
    const mouse = event.deltaMode !== WheelEvent.DOM_DELTA_PIXEL || (event.deltaX === 0 && Math.abs(event.deltaY) >= NOTCH);
    this.gesture = { at: event.timeStamp, mouse: fresh ? mouse : this.gesture.mouse };
    return this.gesture.mouse;
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const { timeline } = this;
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : LINE_PIXELS;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    const mouse = this.fromMouse(event);
    this.locate(event);
    if (event.altKey) {
      const line = timeline.lineUnder(this.y ?? 0);
      if (!line || !timeline.scrollLanes(line, Math.sign(dy))) timeline.scrollBy(dy);
    } else if (event.ctrlKey || event.metaKey) {
      // A pinch reports small steps, a mouse with Ctrl large ones.
      this.zoom(Math.exp(dy * (Math.abs(dy) >= NOTCH ? WHEEL_ZOOM : PINCH_ZOOM)));
    } else if (event.shiftKey) {
      this.pan(dx + dy, 0);
    } else if (mouse && dx === 0 && this.wheelZooms) {
      this.zoom(Math.exp(dy * WHEEL_ZOOM));
    } else {
      // Two fingers rarely move straight: the lesser direction is meant only when it is no mere drift.
      const [across, down] = [Math.abs(dx), Math.abs(dy)];
      this.pan(across * 2 > down ? dx : 0, down * 2 > across ? dy : 0);
    }
    this.hover(event);
  }

  private wheelOnNames(event: WheelEvent): void {
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.timeline.scrollBy(event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : LINE_PIXELS));
  }

  private zoom(factor: number): void {
    const { timeline } = this;
    timeline.jump(zoomed(timeline.motion.shown, this.time, factor));
  }

  private pan(dx: number, dy: number): void {
    const { timeline } = this;
    if (dx !== 0) timeline.jump(moved(timeline.motion.shown, dx / timeline.lens.width));
    if (dy !== 0) timeline.scrollBy(dy);
  }

  private locate(event: MouseEvent): void {
    const box = this.timeline.canvas.getBoundingClientRect();
    this.x = event.clientX - box.left;
    this.y = event.clientY - box.top;
  }

  private hover(event: MouseEvent): void {
    this.locate(event);
    if (!this.pressed) this.tooltip.at(this.x ?? 0, this.y ?? 0);
    else this.tooltip.cursor(this.x ?? 0);
  }

  /** The picture moved, or a name came, while the pointer stood still. */
  private refresh(): void {
    if (this.x !== null && this.y !== null && !this.pressed) this.tooltip.at(this.x, this.y);
  }

  private leave(): void {
    this.x = null;
    this.y = null;
    this.tooltip.hide();
  }

  private press(down: PointerEvent): void {
    this.locate(down);
    this.pressed = true;
    this.timeline.canvas.addEventListener("lostpointercapture", () => (this.pressed = false), { once: true });
    this.timeline.canvas.classList.add("by-hand"); // who points knows where the keyboard is; Tab asks for the frame again
    this.timeline.canvas.focus({ preventScroll: true });
    this.timeline.canvas.setPointerCapture(down.pointerId);
    if (down.pointerType === "touch") {
      this.touch(down);
      return;
    }
    const moves = down.button === 1 || (down.button === 0 && (down.shiftKey || this.space));
    if (!moves && down.button !== 0) return;
    down.preventDefault();
    this.tooltip.hide();
    if (moves) this.dragOrMeasure(down);
    else this.select(down);
  }

  /** Shift and a click measures; any movement pans. */
  private dragOrMeasure(down: PointerEvent): void {
    let far = false;
    this.drag(down, (from, to) => {
      far ||= Math.hypot(to.clientX - down.clientX, to.clientY - down.clientY) >= DRAG_BEGINS;
      this.pan(from.clientX - to.clientX, from.clientY - to.clientY);
    });
    if (down.button !== 0 || !down.shiftKey) return;
    this.timeline.canvas.addEventListener("lostpointercapture", () => !far && void this.measure(down), { once: true });
  }

  /** From the selected event to the one that was clicked; without a selected one, that one is selected. */
  private async measure(down: PointerEvent): Promise<void> {
    const { app } = this.timeline;
    this.locate(down);
    const found = await this.eventAt(this.x ?? 0, this.y ?? 0);
    if (!found) return;
    const { details } = app.state;
    if (details) app.set({ measure: { from: details, to: found } });
    else app.select(found);
  }

  /** The event at a place, also among those too many for the pixels. */
  private async eventAt(x: number, y: number): Promise<Event | null> {
    const { app } = this.timeline;
    const hit = this.timeline.hit(x, y);
    if (!hit || (!hit.slice && !hit.dense)) return null;
    const { row, slice, dense, lane } = hit;
    try {
      if (slice) return await app.state.engine.at(row.id, Math.round(Math.max(slice.from, Math.min(hit.time, slice.to))), slice.lane, Math.ceil(3 / this.timeline.lens.scale));
      return dense && (await app.state.engine.at(row.id, Math.round(hit.time), lane, Math.ceil(dense.to - dense.from)));
    } catch (error) {
      app.fail(error as Error);
      return null;
    }
  }

  /** A drag that moves something step by step. */
  private drag(down: PointerEvent, step: (from: PointerEvent, to: PointerEvent) => void): void {
    const { canvas } = this.timeline;
    let last = down;
    canvas.classList.add("grabbing");
    const move = (event: PointerEvent): void => {
      step(last, event);
      last = event;
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener(
      "lostpointercapture",
      () => {
        canvas.classList.remove("grabbing");
        canvas.removeEventListener("pointermove", move);
      },
      { once: true },
    );
  }

  /** A drag makes a span; less than that is a click. */
  private select(down: PointerEvent): void {
    const { timeline } = this;
    const { canvas, app } = timeline;
    const resized = this.spanEdge(this.x ?? 0);
    const start = this.snapped(this.time, down);
    const top = this.y ?? 0;
    const several = (down.ctrlKey || down.metaKey) && resized === null;
    let span: State["span"] = null;
    const move = (event: PointerEvent): void => {
      if (!span && Math.abs(event.clientX - down.clientX) < DRAG_BEGINS) return;
      this.locate(event);
      const anchor = resized ?? start;
      const now = this.snapped(timeline.lens.time(Math.max(0, Math.min(timeline.width, this.x ?? 0))), event);
      const rows = several ? this.rowsBetween(top, this.y ?? 0) : resized === null ? undefined : app.state.span?.rows;
      span = { from: Math.round(Math.min(anchor, now)), to: Math.round(Math.max(anchor, now)), ...(rows ? { rows } : {}) };
      // The panels hear of it at the end: tables for every pixel of a drag would be of no use.
      timeline.draft = span;
      timeline.invalidate();
      this.tooltip.length(span, this.x ?? 0);
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener(
      "lostpointercapture",
      () => {
        canvas.removeEventListener("pointermove", move);
        timeline.draft = null;
        this.tooltip.hide();
        if (span) app.set({ span });
        else this.click(down);
      },
      { once: true },
    );
  }

  /** The begin or end of an event of the row under the pointer, where one is near; Alt: the time itself. */
  private snapped(time: number, event: PointerEvent): number {
    const { timeline } = this;
    const row = event.altKey ? null : timeline.lineUnder(this.y ?? 0)?.drawn;
    if (!row || row.kind === "counter") return time;
    const reach = SNAP / timeline.lens.scale;
    const pieces: Piece[] = [];
    timeline.tiles.pieces(row.id, timeline.lens.level, time - reach, time + reach, pieces);
    return nearestEdge(pieces, time, reach) ?? time;
  }

  /** The rows from one height to another, each without those below it that are there too. */
  private rowsBetween(a: number, b: number): number[] {
    const { timeline } = this;
    const [top, bottom] = [Math.max(RULER, Math.min(a, b)), Math.max(a, b)];
    const lines = timeline.visible().filter(({ line, y }) => y < bottom && y + line.height > top);
    const chosen = new Set(lines.map(({ line }) => line.row.id));
    return lines.map(({ line }) => line.row.id).filter((id) => !timeline.tree.path(id).slice(0, -1).some((around) => chosen.has(around.id)));
  }

  /** The other end of the span when the mouse is on one of its ends. */
  private spanEdge(x: number): number | null {
    const { app, lens } = this.timeline;
    const { span } = app.state;
    if (!span) return null;
    if (Math.abs(lens.x(span.from) - x) <= DRAG_BEGINS) return span.to;
    return Math.abs(lens.x(span.to) - x) <= DRAG_BEGINS ? span.from : null;
  }

  private click(event: PointerEvent): void {
    const { timeline } = this;
    const { app } = timeline;
    this.locate(event);
    const [x, y] = [this.x ?? 0, this.y ?? 0];
    if (y < RULER) {
      const mark = marksAt(timeline.marks, x, timeline.lens)[0];
      if (!mark) app.set({ span: null });
      else if (mark.event >= 0) app.select({ row: mark.row, event: mark.event });
      else app.set({ span: mark.to > mark.from ? { from: mark.from, to: mark.to } : null, ...(mark.kind === "advice" ? { panel: "advice" as const } : {}) });
      return;
    }
    const hit = timeline.hit(x, y);
    const line = timeline.lineUnder(y);
    if (line) timeline.focus(line.row.id);
    if (app.state.about.map && line && timeline.openRank(line.row, hit?.time ?? timeline.lens.time(x), event.ctrlKey || event.metaKey)) return;
    if (hit?.slice) {
      timeline.sameName = hit.slice.name;
      app.select({ row: hit.slice.row, event: hit.slice.event });
    } else if (hit?.dense) {
      const { row, dense, lane } = hit;
      timeline.sameName = null;
      app.state.engine.at(row.id, Math.round(hit.time), lane, Math.ceil(dense.to - dense.from)).then(
        (found) => app.select(found),
        (error: Error) => app.fail(error),
      );
    } else {
      app.select(null);
      app.set({ span: null });
    }
  }

  /** Selects what a menu is asked for. */
  private pointOut(event: MouseEvent): void {
    this.locate(event);
    const { timeline } = this;
    const [x, y] = [this.x ?? 0, this.y ?? 0];
    const line = timeline.lineUnder(y);
    if (line) timeline.focus(line.row.id);
    this.tooltip.hide();
    const hit = timeline.hit(x, y);
    if (!hit?.slice) return;
    timeline.sameName = hit.slice.name;
    timeline.app.select({ row: hit.slice.row, event: hit.slice.event });
  }

  private zoomToEvent(event: MouseEvent): void {
    this.locate(event);
    const slice = this.timeline.hit(this.x ?? 0, this.y ?? 0)?.slice;
    if (!slice) return;
    const air = Math.max(2, (slice.to - slice.from) * 0.1);
    this.timeline.glide({ from: slice.from - air, to: slice.to + air });
  }

  /** One finger moves, two zoom and move, a tap selects. */
  private touch(down: PointerEvent): void {
    const { canvas } = this.timeline;
    this.touches.set(down.pointerId, down);
    let far = false;
    const move = (event: PointerEvent): void => {
      const before = this.touches.get(event.pointerId);
      if (!before || event.pointerId !== down.pointerId) return;
      far ||= Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > DRAG_BEGINS * 2;
      const other = [...this.touches.values()].find(({ pointerId }) => pointerId !== event.pointerId);
      this.touches.set(event.pointerId, event);
      if (!far) return;
      if (other) this.pinch(before, event, other);
      else this.pan(before.clientX - event.clientX, before.clientY - event.clientY);
    };
    const end = (event: PointerEvent): void => {
      if (event.pointerId !== down.pointerId) return;
      canvas.removeEventListener("pointermove", move);
      canvas.removeEventListener("lostpointercapture", end);
      this.touches.delete(down.pointerId);
      if (!far && this.touches.size === 0) this.click(down);
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("lostpointercapture", end);
  }

  private pinch(before: PointerEvent, now: PointerEvent, other: PointerEvent): void {
    const was = Math.max(8, Math.abs(before.clientX - other.clientX));
    const is = Math.max(8, Math.abs(now.clientX - other.clientX));
    this.locate(other);
    this.zoom(was / is);
  }
}
