// The canvas of the flame graph: draws the boxes in sight, knows what lies under the pointer, walks with the keyboard. All of it
// is drawn through a Surface, so that the exported SVG is the same picture.

import { make } from "../ui/dom";
import { FlameTree, type Box } from "./flame_tree";
import type { Drawing } from "../ui/picture";
import type { Surface } from "../ui/surface";
import { cut, whereOf } from "../ui/text";

const LINE = 18;
const LEAST_PIXELS = 0.4;
const FONT = "11.5px system-ui, sans-serif";

/** Told apart by lightness too, for those who see no difference in hue. */
const HUES = { native: [32, 78, 66], python: [212, 62, 70], kernel: [280, 14, 64] } as const;
const FOUND = "#d6249f";
const INK = "#16130c";

function colour(tree: FlameTree, node: number): string {
  const frame = tree.frame(node);
  if (!frame) return "hsl(220 8% 72%)";
  const text = frame.module ?? frame.file ?? frame.name;
  let hash = 0;
  for (let at = 0; at < Math.min(text.length, 64); at++) hash = (hash * 31 + text.charCodeAt(at)) | 0;
  const [hue, saturation, light] = HUES[frame.kind] ?? HUES.native;
  return `hsl(${hue + ((hash >>> 4) % 25) - 12} ${saturation}% ${light + ((hash >>> 9) % 13) - 4}%)`;
}

export class FlameView {
  readonly element = make("div", { class: "flame" });
  tree: FlameTree | null = null;
  private readonly canvas = make("canvas", { class: "flame-canvas" });
  private readonly room = make("div", { class: "flame-room" });
  private readonly tip = make("div", { class: "flame-tip", hidden: true });
  private readonly voice = make("p", { class: "offscreen", role: "status" });
  private boxes: Box[] = [];
  private zoomedTo = 0;
  private current = 0;
  private upward = false;
  private wanted = "";
  private matches: { nodes: Set<number>; total: number } | null = null;

  constructor(private readonly zoomed: (node: number) => void) {
    this.element.append(make("div", { class: "flame-hold" }, this.canvas), this.room, this.tip, this.voice);
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "application");
    this.element.setAttribute("aria-label", "Flame graph. Arrow keys move, Enter zooms in, Escape zooms out");
    this.element.addEventListener("scroll", () => this.paint());
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("pointermove", (event) => this.hover(event));
    this.element.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.element.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.arrange()).observe(this.element);
  }

  focus(): void {
    this.element.focus();
  }

  show(tree: FlameTree | null): void {
    this.tree = tree;
    this.tip.hidden = true;
    this.matches = tree && this.wanted !== "" ? tree.matching(this.wanted) : null;
    this.zoom(0);
    if (this.upward) this.element.scrollTop = this.element.scrollHeight;
  }

  zoom(node: number): void {
    this.zoomedTo = this.current = node;
    this.arrange();
    this.zoomed(node);
  }

  flip(): void {
    this.upward = !this.upward;
    this.arrange();
    this.element.scrollTop = this.upward ? this.element.scrollHeight : 0;
  }

  find(text: string): { total: number; share: number } | null {
    this.wanted = text;
    this.matches = this.tree && text !== "" ? this.tree.matching(text) : null;
    this.paint();
    return this.found();
  }

  found(): { total: number; share: number } | null {
    if (!this.matches || !this.tree) return null;
    return { total: this.matches.total, share: this.matches.total / (this.tree.total(0) || 1) };
  }

  /** All of what the present zoom shows, also what is scrolled out of sight. */
  drawing(title: string): Drawing | null {
    const { tree } = this;
    if (!tree) return null;
    const [width, height] = [this.element.clientWidth, this.height()];
    return {
      width,
      height,
      title,
      draw: (surface) => {
        surface.fillStyle = getComputedStyle(this.element).backgroundColor;
        surface.fillRect(0, 0, width, height);
        this.drawBoxes(surface, tree, 0, height);
      },
    };
  }

  private height(): number {
    return (this.boxes.reduce((deepest, box) => Math.max(deepest, box.depth), 0) + 1) * LINE + 2;
  }

  private arrange(): void {
    const width = Math.max(1, this.element.clientWidth);
    this.boxes = this.tree ? this.tree.boxes(this.zoomedTo, LEAST_PIXELS / width) : [];
    this.room.style.height = `${this.tree ? this.height() : 0}px`;
    this.paint();
  }

  private paint(): void {
    const [width, height] = [this.element.clientWidth, this.element.clientHeight];
    if (width === 0 || height === 0) return;
    const scale = window.devicePixelRatio;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    if (!context || !this.tree) return;
    context.scale(scale, scale);
    this.drawBoxes(context, this.tree, this.element.scrollTop, Math.max(this.height(), height), height);
  }

  /** The top of a box. */
  private top(depth: number, height: number): number {
    return this.upward ? height - (depth + 1) * LINE - 1 : depth * LINE + 1;
  }

  private drawBoxes(surface: Surface, tree: FlameTree, scrolled: number, height: number, seen = height): void {
    const width = this.element.clientWidth;
    surface.font = FONT;
    surface.textBaseline = "middle";
    surface.textAlign = "left";
    const letter = surface.measureText("n").width;
    for (const box of this.boxes) {
      const top = this.top(box.depth, height) - scrolled;
      if (top + LINE < 0 || top > seen) continue;
      const [left, wide] = [box.x * width, box.width * width];
      const shown = Math.max(0.5, wide - (wide > 3 ? 1 : 0));
      const dim = this.matches !== null && !this.matches.nodes.has(box.node);
      surface.globalAlpha = dim ? 0.35 : box.node !== this.zoomedTo && tree.depth(box.node) < tree.depth(this.zoomedTo) ? 0.6 : 1;
      surface.fillStyle = colour(tree, box.node);
      surface.fillRect(left, top, shown, LINE - 1);
      surface.globalAlpha = dim ? 0.7 : 1;
      if (this.matches?.nodes.has(box.node)) {
        surface.fillStyle = FOUND;
        surface.fillRect(left, top + LINE - 4, shown, 3);
      }
      if (box.node === this.current && this.current !== 0) {
        surface.strokeStyle = INK;
        surface.lineWidth = 2;
        surface.strokeRect(left + 1, top + 1, Math.max(1, wide - 3), LINE - 3);
      }
      const fits = Math.floor((wide - 8) / letter);
      if (fits < 3) continue;
      surface.fillStyle = INK;
      surface.fillText(fitting(tree.name(box.node), fits), left + 4, top + LINE / 2);
    }
    surface.globalAlpha = 1;
  }

  private at(event: MouseEvent): number | null {
    const frame = this.element.getBoundingClientRect();
    const [x, y] = [(event.clientX - frame.left) / Math.max(1, this.element.clientWidth), event.clientY - frame.top + this.element.scrollTop];
    const height = Math.max(this.height(), this.element.clientHeight);
    const depth = Math.floor((this.upward ? height - 1 - y : y - 1) / LINE);
    return this.boxes.find((box) => box.depth === depth && x >= box.x && x < box.x + box.width)?.node ?? null;
  }

  private click(event: MouseEvent): void {
    const node = this.at(event);
    if (node === null) return;
    this.zoom(node === this.zoomedTo && this.tree ? this.tree.parent(node) : node);
  }

  private hover(event: PointerEvent): void {
    const node = this.at(event);
    this.tip.hidden = node === null;
    this.element.classList.toggle("over", node !== null);
    if (node === null || !this.tree) return;
    this.tip.replaceChildren(...this.words(node).map((text, index) => make(index === 0 ? "strong" : "span", {}, make("bdi", { dir: "auto" }, text))));
    const frame = this.element.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const left = Math.max(4, Math.min(x + 14, frame.width - this.tip.offsetWidth - 8));
    const below = y + 18 + this.tip.offsetHeight < frame.height;
    this.tip.style.transform = `translate(${left}px, ${(below ? y + 18 : Math.max(2, y - this.tip.offsetHeight - 10)) + this.element.scrollTop}px)`;
  }

  /** What is said of a box: the name, where it is, how much. */
  private words(node: number): string[] {
    const { tree } = this;
    if (!tree) return [];
    const frame = tree.frame(node);
    const where = frame ? whereOf(frame) : "";
    const share = (value: number): string => `${((value * 100) / (tree.total(0) || 1)).toFixed(1)} %`;
    const total = `${tree.amount(tree.total(node))} (${share(tree.total(node))}), itself ${tree.amount(tree.self(node))} (${share(tree.self(node))})`;
    return [cut(tree.name(node), 400), ...(where === "" ? [] : [where]), total];
  }

  private key(event: KeyboardEvent): void {
    const { tree, current } = this;
    if (!tree) return;
    const siblings = tree.childrenOf(tree.parent(current));
    const beside = (step: number): number => (current === 0 ? 0 : (siblings[siblings.indexOf(current) + step] ?? current));
    const [outward, inward] = this.upward ? ["ArrowDown", "ArrowUp"] : ["ArrowUp", "ArrowDown"];
    const steps: Record<string, () => number> = {
      [outward]: () => tree.parent(current),
      [inward]: () => tree.childrenOf(current)[0] ?? current,
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
      Home: () => 0,
    };
    const step = steps[event.key];
    if (step) this.goTo(step());
    else if (event.key === "Enter") this.zoom(current);
    else if (event.key === "Escape" && this.zoomedTo !== 0) this.zoom(tree.parent(this.zoomedTo));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private goTo(node: number): void {
    this.current = node;
    this.voice.textContent = this.words(node).join(", ");
    const top = this.top(this.tree?.depth(node) ?? 0, Math.max(this.height(), this.element.clientHeight));
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + LINE > this.element.scrollTop + this.element.clientHeight) this.element.scrollTop = top + LINE - this.element.clientHeight;
    this.paint();
  }
}

/** As much of a name as fits, its beginning and its end: the end tells overloads and lines apart. */
function fitting(name: string, letters: number): string {
  const text = cut(name.replace(/\s+/g, " "), 400);
  if (text.length <= letters) return text;
  return letters > 24 ? `${text.slice(0, Math.ceil(letters * 0.65) - 1)}…${text.slice(-Math.floor(letters * 0.3))}` : `${text.slice(0, letters - 1)}…`;
}
