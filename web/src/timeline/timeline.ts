// The timeline: one canvas with the ruler and the rows, their names beside it, the minimap above. It knows which rows stand where
// and asks for what they show, and has it drawn (picture.ts) once a frame and only when something changed; what the hand and the
// keys do is in pointer.ts and commands.ts.

import type { App, Change, RowChoices, State } from "../app";
import { MOST_LEVEL, TILE_PIXELS, type EventDetails, type Row, type Span } from "../engine/engine";
import { addressOf } from "../engine/http";
import { button, make } from "../ui/dom";
import { isDark } from "../ui/colour";
import { chainOf, type Chain } from "./chain";
import { hitLine, laneOf, type Hit } from "./hit";
import { LabelsGrip } from "./labels_grip";
import { layOut, layOutSome, lineAt, Tree, type Layout, type Line } from "./layout";
import { Legend } from "./legend";
import { confined, Lens, sameSpan } from "./lens";
import { marksOf, type Mark } from "./marks";
import { Minimap } from "./minimap";
import { Motion } from "./motion";
import { Names } from "./names";
import { FONT } from "./paint";
import { Palette } from "./palette";
import { Picture } from "./picture";
import { Heading } from "./heading";
import { RowList, widthOfNames, type Shown } from "./row_list";
import { RULER } from "./ruler";
import { Tiles } from "./tiles";
import { ViewHistory } from "./view_history";

const REST_MS = 400;
const FRAMES_KEPT = 240;
/** A rank of a map is opened with this part of the view around the time, on each side, and so many ns at least. */
const NEAR = 40;
const LEAST_NEAR = 1000;

export class Timeline {
  readonly element = make("div", { class: "timeline" });
  readonly canvas = make("canvas", { class: "tracks", tabindex: 0, role: "application", "aria-label": "Timeline. Press ? for keyboard shortcuts.", "aria-describedby": "timeline-live" });
  readonly area = make("div", { class: "tracks-area" });
  readonly history = new ViewHistory();
  readonly motion: Motion;
  readonly tiles: Tiles;
  readonly names: Names;
  readonly tree: Tree;
  readonly minimap: Minimap;
  readonly rowList: RowList;
  readonly picture: Picture;
  /** Milliseconds that the last frames took to draw, for those who measure. */
  readonly frames: number[] = [];
  layout: Layout;
  palette: Palette;
  focusedRow: number;
  marks: Mark[] = [];
  /** While only its rows are shown. */
  chain: Chain | null = null;
  /** The name of the selected event or the one under the pointer, to light up. */
  sameName: number | null = null;
  /** The names that a search found; null: there is none. */
  found: ReadonlySet<number> | null = null;
  /** Called after each picture: what is under the pointer may have changed. */
  drawn: () => void = () => {};
  /** The event under the pointer. */
  hovered: { row: number; event: number; from: number; to: number } | null = null;
  /** A span that is being drawn by the hand. */
  draft: State["span"] = null;
  width = 0;
  height = 0;
  /** Pixels of the screen in one of CSS. */
  ratio = 1;

  private readonly context: CanvasRenderingContext2D;
  private readonly heading: Heading;
  private readonly grip: LabelsGrip;
  private readonly scrollbar = make("div", { class: "scrollbar", "aria-hidden": "true" }, make("div"));
  private readonly nothing = make("p", { class: "nothing", role: "status", hidden: true });
  private readonly live = make("div", { id: "timeline-live", class: "offscreen", "aria-live": "polite" });
  private readonly leave = button("All rows", () => this.app.set({ chained: false }), { class: "leave-chain", icon: "close", title: "Show all rows (C)" });
  readonly legend = new Legend(() => this.invalidate());
  private readonly laneScroll = new Map<number, number>();
  private matches = new Map<number, number>();
  private empty: ReadonlySet<number> = new Set();
  private scrollY = 0;
  private requested = 0;
  private stale = true;
  private restTimer = 0;
  private broughtLane: EventDetails | null = null;
  private device: { width: number; height: number } | null = null;

  constructor(
    readonly app: App,
    private readonly ended: AbortSignal,
  ) {
    const { engine, rows, view, choices } = app.state;
    const context = this.canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("Cannot draw the timeline: this browser has no canvas.");
    this.context = context;
    this.motion = new Motion(view);
    this.palette = new Palette(isDark());
    this.tree = new Tree(rows);
    this.layout = layOut(this.tree, choices, this.empty);
    this.focusedRow = this.layout.lines[0]?.row.id ?? -1;
    const redraw = (): void => this.invalidate();
    const fail = (error: Error): void => app.fail(error);
    this.tiles = new Tiles(engine, app.state.about, () => this.tilesCame(), fail);
    this.names = new Names(engine, redraw, fail, (text) => {
      this.context.font = FONT;
      return this.context.measureText(text).width;
    });
    this.minimap = new Minimap(app, (to) => this.jump(to));
    this.minimap.ready = redraw;
    this.rowList = new RowList({
      fold: (row) => this.fold(row),
      pin: (row) => this.pin(row),
      expand: (row) => this.expand(row),
      focus: (row) => this.focus(row.id),
      reveal: (row) => this.scrollTo(this.layout.byRow.get(row.id)?.y ?? 0),
      move: (row, before, pinned) => this.move(row, before, pinned),
    });
    this.picture = new Picture(this);
    this.heading = new Heading(app);
    this.grip = new LabelsGrip(this.element, widthOfNames(this.tree, context));
    this.build();
    app.listen((changed) => this.changed(changed));
    app.rowsInSight = () => this.visible().map(({ line }) => line.row);
    app.redraw = redraw;
    app.picture = () => this.picture.onPaper(this.heading, this.grip.width);
    this.history.rest(view);
    if (app.state.event) app.select(app.state.event);
  }

  get lens(): Lens {
    return new Lens(this.motion.shown.from, this.motion.shown.to, Math.max(1, this.width));
  }

  /** Moves at once, as the hand does. */
  jump(to: Span): void {
    const view = confined(to, this.app.state.about);
    this.motion.jump(view);
    this.app.set({ view });
    this.invalidate();
  }

  /** Moves smoothly, from where the last movement will end. */
  glide(to: Span): void {
    this.app.set({ view: confined(to, this.app.state.about) });
  }

  choose(part: Partial<RowChoices>): void {
    this.app.set({ choices: { ...this.app.state.choices, ...part } });
  }

  fold(row: Row): void {
    const { toggled } = this.app.state.choices;
    this.choose({ toggled: toggled.includes(row.id) ? toggled.filter((id) => id !== row.id) : [...toggled, row.id] });
  }

  pin(row: Row): void {
    const { pinned } = this.app.state.choices;
    this.choose({ pinned: pinned.includes(row.id) ? pinned.filter((id) => id !== row.id) : [...pinned, row.id] });
  }

  private move(row: Row, before: number, pinned: boolean): void {
    const { choices } = this.app.state;
    if (!pinned) {
      this.choose({ moved: [...choices.moved, [row.id, before]] });
      return;
    }
    const order = choices.pinned.filter((id) => id !== row.id);
    order.splice(before < 0 ? order.length : order.indexOf(before), 0, row.id);
    this.choose({ pinned: order });
  }

  expand(row: Row): void {
    const { tall } = this.app.state.choices;
    this.laneScroll.delete(row.id);
    this.choose({ tall: tall.includes(row.id) ? tall.filter((id) => id !== row.id) : [...tall, row.id] });
  }

  /** Shows the events of a rank of the map around a time, on a page of its own; Back leads here. False: the row is no rank's. */
  openRank({ rank }: Row, time: number, apart: boolean): boolean {
    if (rank === undefined) return false;
    const { from, to } = this.motion.shown;
    const half = Math.max(LEAST_NEAR, (to - from) / NEAR);
    const view = confined({ from: time - half, to: time + half }, this.app.state.about);
    const address = addressOf(String(rank), `#v=${Math.round(view.from)}-${Math.round(view.to)}`);
    if (apart) window.open(address);
    else location.assign(address);
    return true;
  }

  focus(row: number): void {
    this.focusedRow = row;
    this.invalidate();
  }

  scrollTo(y: number): void {
    this.scrollY = Math.min(this.room(), Math.max(0, y));
    this.restLater();
    this.invalidate();
  }

  /** How far the rows can be scrolled. */
  private room(): number {
    return Math.max(0, this.layout.height - this.scrolledHeight());
  }

  scrollBy(dy: number): void {
    this.scrollTo(this.scrollY + dy);
  }

  /** Shows only the rows of the selected event's chain, in a view that holds it, or all rows again. */
  toggleChain(): void {
    const { chained, event } = this.app.state;
    if (!chained && !event) this.app.say("Select an event first: Focus shows the rows of its chain.");
    else this.app.set({ chained: !chained });
  }

  /** Finds the chain of the selected event; without one there is nothing to focus on. */
  private followChain(bring: boolean): void {
    const { chained, event, details, engine, rows } = this.app.state;
    if (!chained || !event) {
      if (chained) this.app.set({ chained: false });
      if (this.chain) this.showChain(null);
      return;
    }
    if (!details || this.chain?.event === details) return;
    chainOf(engine, rows, details).then(
      (chain) => {
        if (this.app.state.details !== details || !this.app.state.chained) return;
        this.showChain(chain);
        if (bring) this.bringChain(chain);
      },
      (error: Error) => this.app.fail(error),
    );
  }

  private showChain(chain: Chain | null): void {
    this.chain = chain;
    this.leave.hidden = chain === null;
    this.relayout();
    this.scrollTo(0);
    if (!chain && this.app.state.event) this.reveal(this.app.state.event.row);
    this.invalidate();
  }

  private bringChain({ event, links }: Chain): void {
    const { view } = this.app.state;
    const events = [event, ...links.flatMap(({ of, to }) => [of, to])];
    const from = Math.min(...events.map((one) => one.from));
    const to = Math.max(...events.map((one) => one.to));
    const air = Math.max(500, (to - from) * 0.05);
    if (from < view.from || to > view.to) this.glide({ from: Math.min(view.from, from - air), to: Math.max(view.to, to + air) });
  }

  /** Scrolls the lanes of one row; false where they all fit. */
  scrollLanes(line: Line, lanes: number): boolean {
    const { drawn, hidden } = line;
    if (!drawn || hidden <= 0) return false;
    this.laneScroll.set(drawn.id, Math.min(hidden, Math.max(0, this.firstLane(drawn.id) + lanes)));
    this.invalidate();
    return true;
  }

  firstLane = (row: number): number => this.laneScroll.get(row) ?? 0;

  /** Where a line begins on the canvas. */
  topOf(line: Line): number {
    return RULER + (line.pinned ? line.y : this.layout.pinnedHeight + line.y - this.scrollY);
  }

  lineUnder(y: number): Line | null {
    const { pinned, lines, pinnedHeight } = this.layout;
    if (y < RULER) return null;
    const inPinned = y - RULER < pinnedHeight;
    const list = inPinned ? pinned : lines;
    const offset = inPinned ? y - RULER : y - RULER - pinnedHeight + this.scrollY;
    const line = list[lineAt(list, offset)];
    return line && offset >= line.y ? line : null;
  }

  hit(x: number, y: number): Hit | null {
    const line = this.lineUnder(y);
    return line && hitLine(line, y - this.topOf(line), x, this.lens, this.tiles, line.drawn ? this.firstLane(line.drawn.id) : 0);
  }

  /** The line that shows a row: its own, or that of the folded row around it. */
  lineFor(row: number): Line | null {
    const path = this.tree.path(row).reverse();
    for (const { id } of path) {
      const line = this.layout.byRow.get(id);
      if (line) return line;
    }
    return null;
  }

  /** Unfolds what hides a row and scrolls it into sight. */
  reveal(row: number): void {
    const { choices } = this.app.state;
    const folded = this.chain ? [] : this.tree.path(row).slice(0, -1).filter(({ id, open }) => open === choices.toggled.includes(id));
    if (folded.length > 0) {
      const ids = new Set(folded.map(({ id }) => id));
      const kept = choices.toggled.filter((id) => !ids.has(id));
      const added = folded.filter(({ id }) => !choices.toggled.includes(id)).map(({ id }) => id);
      this.choose({ toggled: [...kept, ...added] });
      this.relayout();
    }
    const line = this.layout.byRow.get(row);
    if (!line || line.pinned) return;
    const room = this.scrolledHeight();
    if (line.y < this.scrollY) this.scrollTo(line.y - 24);
    else if (line.y + line.height > this.scrollY + room) this.scrollTo(line.y + Math.min(line.height, room) - room + 24);
  }

  private topRow(): number | null {
    return this.scrollY === 0 ? null : (this.layout.lines[lineAt(this.layout.lines, this.scrollY)]?.row.id ?? null);
  }

  private showTop(): void {
    if (this.stale) this.relayout();
    const { top } = this.app.state;
    this.scrollTo(top === null ? 0 : (this.layout.byRow.get(top)?.y ?? 0));
  }

  /** Whether it will look otherwise without anybody's doing: a frame is asked for, or a rest hides what is empty. */
  get isDue(): boolean {
    return this.requested !== 0 || (this.restTimer !== 0 && this.app.state.choices.hideEmpty);
  }

  /** Whether the hand has just moved: what a rest leads to is still to come. */
  get isResting(): boolean {
    return this.restTimer !== 0;
  }

  invalidate(): void {
    if (this.requested === 0) this.requested = requestAnimationFrame((now) => this.frame(now));
  }

  /** The lines in sight, the scrolled ones first. */
  visible(): Shown[] {
    const { pinned, lines } = this.layout;
    const shown: Shown[] = [];
    const end = this.scrollY + this.scrolledHeight();
    for (let i = lineAt(lines, this.scrollY); i < lines.length && lines[i]!.y < end; i++) shown.push({ line: lines[i]!, y: this.topOf(lines[i]!) });
    const first = shown[0];
    if (first && first.line.depth > 0) first.path = this.tree.path(first.line.row.id);
    for (const line of pinned) if (this.topOf(line) < this.height) shown.push({ line, y: this.topOf(line) });
    return shown;
  }

  private scrolledHeight(): number {
    return Math.max(0, this.height - RULER - this.layout.pinnedHeight);
  }

  private build(): void {
    this.area.append(this.canvas, this.nothing);
    this.leave.hidden = true;
    this.heading.side.append(this.leave);
    this.element.append(this.heading.top, this.minimap.element, this.heading.side, this.rowList.element, this.area, this.scrollbar, this.legend.element, this.grip.element, this.live);
    this.scrollbar.addEventListener("scroll", () => {
      if (Math.abs(this.scrollbar.scrollTop - this.scrollY) >= 1) this.scrollTo(this.scrollbar.scrollTop);
    });
    this.watchSize();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.recolour(), { signal: this.ended });
  }

  /** Sizes in the screen's own pixels where the browser tells them: with a zoom of 110 % a rounded guess would blur everything. */
  private watchSize(): void {
    const observer = new ResizeObserver(([entry]) => {
      const exact = entry?.devicePixelContentBoxSize?.[0];
      this.device = exact ? { width: exact.inlineSize, height: exact.blockSize } : null;
      this.resize();
    });
    try {
      observer.observe(this.canvas, { box: "device-pixel-content-box" });
    } catch {
      observer.observe(this.canvas);
    }
    this.watchRatio();
  }

  /** A window that goes to another screen keeps its size, but not its pixels. */
  private watchRatio(): void {
    const change = (): void => {
      this.fitCanvas();
      this.minimap.dirty = true;
      this.invalidate();
      this.watchRatio();
    };
    matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", change, { once: true, signal: this.ended });
  }

  private resize(): void {
    const { width, height } = this.area.getBoundingClientRect();
    const first = this.height === 0;
    const smaller = height < this.height;
    this.width = width;
    this.height = height;
    this.fitCanvas();
    this.minimap.resize(width);
    if (first) this.showTop();
    else this.scrollTo(this.scrollY);
    // A panel that opens must not cover what it tells of.
    if (smaller && !first && this.app.state.event) this.reveal(this.app.state.event.row);
    this.draw();
  }

  /** As many pixels as the screen has; the browser's zoom changes that too. */
  private fitCanvas(): void {
    // What the browser tells is the exact rounding of what is computed; when it is not, a pretended screen is at work (device emulation).
    const pixels = (told: number | undefined, computed: number): number => Math.max(1, told !== undefined && Math.abs(told - computed) < 1 ? told : Math.round(computed));
    this.canvas.width = pixels(this.device?.width, this.width * devicePixelRatio);
    this.canvas.height = pixels(this.device?.height, this.height * devicePixelRatio);
    this.ratio = this.canvas.width / Math.max(1, this.width);
  }

  private recolour(): void {
    this.palette = new Palette(isDark());
    this.minimap.dirty = true;
    this.invalidate();
  }

  private changed(changed: ReadonlySet<Change>): void {
    const { state } = this.app;
    if (changed.has("view") && !sameSpan(state.view, this.motion.goal)) this.motion.glide(state.view, performance.now());
    if (changed.has("view") || changed.has("choices")) this.restLater();
    if (changed.has("choices")) this.stale = true;
    if (changed.has("rows")) {
      this.tree.fill(state.rows);
      this.stale = true;
    }
    if (changed.has("top") && state.top !== this.topRow()) this.showTop();
    if (changed.has("theme")) this.recolour();
    if (changed.has("ticks")) this.minimap.dirty = true;
    if (changed.has("idle")) this.tiles.forget(new Set(state.idle?.rows.map(({ row }) => row)));
    if (changed.has("advice") || changed.has("notes")) this.marks = marksOf(state);
    if (changed.has("found")) {
      this.found = state.found && new Set(state.found.names);
      this.matches = new Map(state.found?.rows.map(({ row, count }) => [row, count]));
    }
    if (changed.has("chained") || changed.has("event") || changed.has("details")) this.followChain(changed.has("chained"));
    if (changed.has("event") && state.event) this.reveal(state.event.row);
    if (changed.has("event") && !state.event) this.sameName = null;
    if (changed.has("details")) this.tell();
    this.invalidate();
  }

  /** Words for those who cannot see the picture, and the name to light up. */
  private tell(): void {
    const { details } = this.app.state;
    if (!details) return;
    const row = this.tree.byId.get(details.row);
    this.live.textContent = `${details.name}, ${row?.label ?? ""}, selected`;
    this.sameName = this.names.idOf(details.name) ?? this.sameName;
    if (this.sameName !== null && this.names.known(this.sameName) === details.name) return;
    this.app.state.engine.find({ text: details.name, mode: "exact", case: true, row: details.row }).then(
      ({ names }) => {
        if (this.app.state.details !== details) return;
        this.sameName = names[0] ?? null;
        this.invalidate();
      },
      () => {}, // lighting up is a comfort, no reason for a message
    );
  }

  private restLater(): void {
    clearTimeout(this.restTimer);
    this.restTimer = window.setTimeout(() => {
      this.restTimer = 0;
      this.history.rest(this.app.state.view);
      if (this.app.state.choices.hideEmpty) this.relayout();
      this.app.set({ top: this.topRow() });
      this.invalidate();
    }, REST_MS);
  }

  /** Of a row that is new in sight it is known only now whether it is empty. While the hand moves no row comes or goes. */
  private tilesCame(): void {
    if (this.app.state.choices.hideEmpty && this.restTimer === 0) this.stale = true;
    this.invalidate();
  }

  private relayout(): void {
    this.stale = false;
    if (this.app.state.choices.hideEmpty) this.empty = this.emptyRows();
    this.layout = this.chain ? layOutSome(this.tree, this.app.state.choices, this.chain.rows) : layOut(this.tree, this.app.state.choices, this.empty);
    this.sayNothing();
    if (this.scrollY > this.room()) this.scrollTo(this.scrollY);
  }

  private sayNothing(): void {
    const { rows, choices } = this.app.state;
    const why = rows.length === 0 ? "This report has no events." : choices.filter !== "" ? "No row matches the filter." : "No events in this view.";
    this.nothing.textContent = why;
    this.nothing.hidden = this.layout.lines.length + this.layout.pinned.length > 0;
  }

  /** Rows without an event in this view: by their first and last event, and by tiles where those are here. */
  private emptyRows(): Set<number> {
    const { view, rows } = this.app.state;
    const { level } = new Lens(view.from, view.to, Math.max(1, this.width));
    const empty = new Set<number>();
    for (const row of rows) {
      if (row.kind === "group") continue;
      const outside = row.to < view.from || row.from > view.to;
      if (outside || this.tiles.empty(row.id, level, view.from, view.to)) empty.add(row.id);
    }
    return empty;
  }

  private frame(now: number): void {
    this.requested = 0;
    this.motion.step(now);
    this.draw();
    if (this.motion.moving) this.invalidate();
  }

  private draw(): void {
    if (this.width === 0 || this.height === 0) return;
    const began = performance.now();
    if (this.stale) this.relayout();
    const shown = this.visible();
    this.request(shown);
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.picture.paint(this.context, shown, this.ratio, (columns) => columns.toCanvas(this.context));
    this.names.send();
    this.tiles.send();
    if (this.tiles.pending === 0) this.app.pictured();
    this.bringLane();
    this.rowList.show(this.layout, shown, RULER, this.height - RULER, this.focusedRow, this.matches);
    this.minimap.draw(this.motion.shown, this.palette);
    this.legend.show(shown.map(({ line }) => line), this.palette);
    this.heading.show(this.motion.shown, this.app.state.about);
    this.drawn();
    this.syncScrollbar();
    this.frames.push(performance.now() - began);
    if (this.frames.length > FRAMES_KEPT) this.frames.shift();
  }

  /** Once for each selected event, as soon as its lane is known: it must not be among the hidden ones. */
  private bringLane(): void {
    const { details } = this.app.state;
    if (!details || details === this.broughtLane || this.motion.moving) return;
    const line = this.layout.byRow.get(details.row);
    const lane = line?.drawn?.id === details.row ? laneOf(this.tiles, details.row, details.row, details.event, details.from, details.to, this.lens) : null;
    if (!line || lane === null) return;
    this.broughtLane = details;
    const first = this.firstLane(details.row);
    const beyond = Math.max(0, lane - (first + line.lanes - 1)) - Math.max(0, first - lane);
    if (beyond !== 0) this.scrollLanes(line, beyond);
    const y = this.topOf(line) + line.inset + (lane - this.firstLane(details.row)) * line.laneHeight;
    const above = RULER + this.layout.pinnedHeight - y;
    const below = y + line.laneHeight - this.height;
    if (!line.pinned && (above > 0 || below > 0)) this.scrollBy(above > 0 ? -above : below);
  }

  private syncScrollbar(): void {
    const inner = this.scrollbar.firstElementChild as HTMLElement;
    this.scrollbar.style.top = `${RULER + this.layout.pinnedHeight}px`;
    inner.style.height = `${this.layout.height}px`;
    if (Math.abs(this.scrollbar.scrollTop - this.scrollY) >= 1) this.scrollbar.scrollTop = this.scrollY;
  }

  /** What this view needs, then what the next one probably will: the goal of a glide, the neighbours, one level up. */
  private request(shown: readonly Shown[]): void {
    const { lens } = this;
    const rows = [...new Set(shown.flatMap(({ line }) => (line.drawn ? [line.drawn.id] : [])))];
    const goal = new Lens(this.motion.goal.from, this.motion.goal.to, lens.width);
    this.tiles.begin();
    this.tiles.want(rows, goal.level, goal.from, goal.to);
    // All of the report coarsely, so that there is something to show wherever the reader goes.
    const { from, to } = this.app.state.about;
    this.tiles.want(rows, Math.min(MOST_LEVEL, Math.max(0, Math.ceil(Math.log2(Math.max(1, to - from) / TILE_PIXELS)))), from, to + 1);
    if (this.motion.moving) return;
    const length = goal.to - goal.from;
    this.tiles.want(rows, goal.level, goal.from - length / 2, goal.to + length / 2);
    if (goal.level < MOST_LEVEL) this.tiles.want(rows, goal.level + 1, goal.from, goal.to);
  }
}
