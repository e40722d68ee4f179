// The canvas of the communication matrix: a square of cells, as dark as what was sent, with the numbers of ranks beside it and a legend. It
// knows which cell lies under the pointer, walks with the keyboard, and draws through a Surface, so that the exported SVG is the same picture.

import type { Matrix } from "../engine/engine";
import { heatColours, heatOf, isDark } from "../ui/colour";
import { make } from "../ui/dom";
import type { Drawing } from "../ui/picture";
import type { Surface } from "../ui/surface";
import { bytes, count } from "../units";

export type Measure = "bytes" | "messages";
export interface Cell {
  row: number;
  column: number;
}

const LEFT = 58;
const TOP = 34;
const RIGHT = 112;
const BOTTOM = 8;
const LEGEND = 14;
const FONT = "11px system-ui, sans-serif";
/** A number of a rank needs so much room. */
const TICK = { across: 34, down: 16 };
const NICE = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000, 1024, 2048, 4096, 10000];

/** "rank 3", or "ranks 8–15" where several share a cell. */
export function ranksOf(first: number, group: number, ranks: number): string {
  const last = Math.min(ranks, first + group) - 1;
  return last > first ? `ranks ${first}–${last}` : `rank ${first}`;
}

export function amountOf(measure: Measure, value: number): string {
  return measure === "bytes" ? bytes(value) : `${count(value)} ${value === 1 ? "message" : "messages"}`;
}

export class MatrixView {
  readonly element = make("div", { class: "matrix", tabindex: 0, role: "application", "aria-label": "Communication matrix. Arrow keys move, Enter opens a cell, Escape goes back", "data-own-keys": "" });
  private readonly canvas = make("canvas", { class: "matrix-canvas" });
  private readonly tip = make("div", { class: "tip", role: "tooltip", hidden: true });
  private readonly voice = make("p", { class: "offscreen", role: "status" });
  private matrix: Matrix | null = null;
  private values = new Map<number, readonly [messages: number, bytes: number]>();
  private most = 0;
  private measure: Measure = "bytes";
  private current: Cell | null = null;

  constructor(private readonly chosen: (cell: Cell) => void, private readonly left: () => void) {
    this.element.append(this.canvas, this.tip, this.voice);
    this.element.addEventListener("pointermove", (event) => this.hover(event));
    this.element.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.element.addEventListener("click", (event) => this.click(event));
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.paint()).observe(this.element);
  }

  focus(): void {
    this.element.focus();
  }

  show(matrix: Matrix | null, measure: Measure): void {
    if (matrix !== this.matrix) this.current = null;
    this.matrix = matrix;
    this.measure = measure;
    this.values = new Map(matrix?.cells.map(([row, column, messages, sent]) => [row * this.side() + column, [messages, sent]]));
    this.most = Math.max(0, ...[...this.values.values()].map((value) => this.of(value)));
    this.paint();
  }

  drawing(title: string): Drawing | null {
    const { matrix } = this;
    if (!matrix) return null;
    const [width, height] = [this.element.clientWidth, this.element.clientHeight];
    return {
      width,
      height,
      title,
      draw: (surface) => {
        surface.fillStyle = getComputedStyle(this.element).backgroundColor;
        surface.fillRect(0, 0, width, height);
        this.draw(surface, matrix);
      },
    };
  }

  private of([messages, sent]: readonly [number, number]): number {
    return this.measure === "bytes" ? sent : messages;
  }

  /** How many cells a side has. */
  private side(): number {
    const { matrix } = this;
    return matrix ? Math.ceil(matrix.side / matrix.group) : 0;
  }

  /** Pixels of a cell. */
  private size(): number {
    const room = Math.min(this.element.clientWidth - LEFT - RIGHT, this.element.clientHeight - TOP - BOTTOM);
    return Math.max(1, room) / Math.max(1, this.side());
  }

  paint(): void {
    const [width, height] = [this.element.clientWidth, this.element.clientHeight];
    const context = this.canvas.getContext("2d");
    if (width === 0 || height === 0 || !context) return;
    const scale = window.devicePixelRatio;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    context.scale(scale, scale);
    if (this.matrix) this.draw(context, this.matrix);
    Object.assign(this.element.dataset, { left: LEFT, top: TOP, size: this.size(), cells: this.side() }); // for those who point by program
  }

  private draw(surface: Surface, matrix: Matrix): void {
    const style = getComputedStyle(this.element);
    const colours = heatColours(isDark());
    const [side, size] = [this.side(), this.size()];
    surface.fillStyle = colours[0]!;
    surface.fillRect(LEFT, TOP, side * size, side * size);
    const gap = size >= 6 ? 1 : 0;
    for (const [key, value] of this.values) {
      surface.fillStyle = heatOf(colours, this.share(this.of(value)));
      const [x, y] = [LEFT + (key % side) * size, TOP + Math.floor(key / side) * size];
      surface.fillRect(x, y, Math.max(1, size - gap), Math.max(1, size - gap));
    }
    surface.font = FONT;
    surface.fillStyle = style.color;
    this.axes(surface, matrix, size);
    this.legend(surface, colours, side * size, style.color);
    if (!this.current) return;
    surface.strokeStyle = style.getPropertyValue("--warning").trim() || "#b45f00";
    surface.lineWidth = 2;
    surface.strokeRect(LEFT + this.current.column * size - 1, TOP + this.current.row * size - 1, Math.max(4, size + 1), Math.max(4, size + 1));
  }

  /** By the logarithm: messages of a job differ by orders of magnitude. */
  private share(value: number): number {
    return this.most > 0 ? Math.log1p(value) / Math.log1p(this.most) : 0;
  }

  private axes(surface: Surface, { row, column, side, group }: Matrix, size: number): void {
    const step = (room: number): number => NICE.find((every) => (every / group) * size >= room) ?? side;
    const visit = (first: number, every: number, write: (rank: number, at: number) => void): void => {
      for (let rank = Math.ceil(first / every) * every; rank < first + side; rank += every) write(rank, (Math.floor((rank - first) / group) + 0.5) * size);
    };
    surface.textBaseline = "middle";
    surface.textAlign = "center";
    surface.fillText("to rank", LEFT + (this.side() * size) / 2, 8);
    visit(column, step(TICK.across), (rank, at) => surface.fillText(String(rank), LEFT + at, TOP - 9));
    surface.textAlign = "right";
    visit(row, step(TICK.down), (rank, at) => surface.fillText(String(rank), LEFT - 6, TOP + at));
    surface.textAlign = "left";
    surface.fillText("from", 2, TOP - 9);
  }

  private legend(surface: Surface, colours: readonly string[], height: number, ink: string): void {
    const left = LEFT + height + 16;
    const steps = colours.length;
    for (let step = 0; step < steps; step++) {
      surface.fillStyle = colours[steps - 1 - step]!;
      surface.fillRect(left, TOP + (step * height) / steps, LEGEND, height / steps + 0.5);
    }
    surface.fillStyle = ink;
    surface.textAlign = "left";
    for (const share of [1, 0.75, 0.5, 0.25, 0]) {
      const value = Math.round(Math.expm1(share * Math.log1p(this.most)));
      surface.fillText(this.measure === "bytes" ? bytes(value) : count(value), left + LEGEND + 6, TOP + 6 + (1 - share) * Math.max(0, height - 12));
    }
  }

  private cellAt(event: MouseEvent): Cell | null {
    const box = this.element.getBoundingClientRect();
    const [side, size] = [this.side(), this.size()];
    const cell = { row: Math.floor((event.clientY - box.top - TOP) / size), column: Math.floor((event.clientX - box.left - LEFT) / size) };
    return cell.row >= 0 && cell.column >= 0 && cell.row < side && cell.column < side ? cell : null;
  }

  private words({ row, column }: Cell): { title: string; main: string } {
    const { matrix } = this;
    if (!matrix) return { title: "", main: "" };
    const [from, to] = [matrix.row + row * matrix.group, matrix.column + column * matrix.group];
    const [messages, sent] = this.values.get(row * this.side() + column) ?? [0, 0];
    return {
      title: `${ranksOf(from, matrix.group, matrix.row + matrix.side)} → ${ranksOf(to, matrix.group, matrix.column + matrix.side)}`,
      main: messages === 0 ? "No messages" : `${amountOf("messages", messages)}, ${bytes(sent)}${messages > 1 ? `, ${bytes(sent / messages)} on average` : ""}`,
    };
  }

  private hover(event: MouseEvent): void {
    const cell = this.cellAt(event);
    this.tip.hidden = !cell;
    if (!cell) return;
    const { title, main } = this.words(cell);
    this.tip.replaceChildren(make("div", { class: "tip-name" }, title), make("div", { class: "tip-main" }, main), make("div", { class: "tip-rest" }, (this.matrix?.group ?? 1) > 1 ? "click for these ranks" : "click for the messages"));
    const box = this.element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const left = x + 16 + this.tip.offsetWidth > box.width ? x - this.tip.offsetWidth - 12 : x + 16;
    const top = y + 16 + this.tip.offsetHeight > box.height ? y - this.tip.offsetHeight - 12 : y + 16;
    this.tip.style.transform = `translate(${Math.round(Math.max(0, left))}px, ${Math.round(Math.max(0, top))}px)`;
  }

  private click(event: MouseEvent): void {
    const cell = this.cellAt(event);
    if (cell) this.choose(cell);
  }

  private choose(cell: Cell): void {
    this.mark(cell);
    this.tip.hidden = true;
    this.chosen(cell);
  }

  private mark(cell: Cell): void {
    this.current = cell;
    const { title, main } = this.words(cell);
    this.voice.textContent = `${title}: ${main}`;
    this.paint();
  }

  private key(event: KeyboardEvent): void {
    const now = this.current ?? { row: 0, column: -1 };
    const last = this.side() - 1;
    const within = (at: number): number => Math.max(0, Math.min(last, at));
    const moves: Record<string, Cell> = {
      ArrowUp: { row: within(now.row - 1), column: within(now.column) },
      ArrowDown: { row: within(now.row + 1), column: within(now.column) },
      ArrowLeft: { row: now.row, column: within(now.column - 1) },
      ArrowRight: { row: now.row, column: within(now.column + 1) },
    };
    const to = moves[event.key];
    if (to) this.mark(to);
    else if (event.key === "Enter" && this.current) this.choose(this.current);
    else if (event.key === "Escape") this.left();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
