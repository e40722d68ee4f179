// The names of the rows: a tree of plain elements beside the canvas, of which only those in sight exist. It shows the layout
// and passes what the reader does to it (fold, pin, all lanes, move by dragging); it decides nothing.

import type { Row } from "../engine/engine";
import { count, quantity } from "../units";
import { icon, make, type Icon } from "../ui/dom";
import type { Surface } from "../ui/surface";
import { FEW_LANES, type Layout, type Line, type Tree } from "./layout";

interface RowActions {
  fold(row: Row): void;
  pin(row: Row): void;
  expand(row: Row): void;
  focus(row: Row): void;
  /** Scrolls to a row. */
  reveal(row: Row): void;
  /** Puts a row before a sibling, or behind all (-1); a pinned one among the pinned. */
  move(row: Row, before: number, pinned: boolean): void;
}

interface Item {
  element: HTMLElement;
  fold: HTMLButtonElement;
  label: HTMLElement;
  detail: HTMLElement;
  range: HTMLElement;
  badge: HTMLElement;
  pin: HTMLButtonElement;
  lanes: HTMLButtonElement;
  line: Line;
  shown: string;
}

export interface Shown {
  line: Line;
  /** From the top of the list. */
  y: number;
  /** From the top row down to it, if it is the first in sight and the names above it are not. */
  path?: readonly Row[];
}

const INDENT = 14;
const DRAG_BEGINS = 5;
/** Rows that are lower have a smaller name. */
const LOW = 20;

function iconButton(className: string, name: Icon): HTMLButtonElement {
  return make("button", { type: "button", class: className, tabindex: -1 }, icon(name));
}

function rangeOf({ scale, row: { unit = "" } }: Line): string {
  const [low, high] = scale.map((value) => quantity(value, unit));
  return low === high ? `${high}` : `${low} … ${high}`;
}

/** The room around a name: the fold before it, the pin behind it. */
const AROUND_NAME = 56;
const MEASURED = 1000;

/** How wide the list must be for the longest of the names; of very many rows the first are looked at. */
export function widthOfNames(tree: Tree, surface: Surface): number {
  let widest = 0;
  for (const row of tree.rows.slice(0, MEASURED)) {
    surface.font = `${row.kind === "group" ? "600 " : ""}12px ${getComputedStyle(document.body).fontFamily}`;
    widest = Math.max(widest, (tree.path(row.id).length - 1) * INDENT + surface.measureText(row.label.slice(0, MEASURED)).width);
  }
  return Math.ceil(widest) + AROUND_NAME;
}

export class RowList {
  readonly element = make("div", { class: "row-list", role: "tree", "aria-label": "Rows" });
  private readonly scrolled = make("div", { class: "row-part", role: "presentation" });
  private readonly pinned = make("div", { class: "row-part pinned", role: "presentation" });
  /** The first row in sight with those around it, whose own names have scrolled away. */
  private readonly trail = make("button", { type: "button", class: "row-trail", tabindex: -1, hidden: true });
  private readonly target = make("div", { class: "row-target", hidden: true });
  private items = new Map<string, Item>();
  private focused = -1;
  private matches = new Map<number, number>();
  private layout: Layout | null = null;
  private top = 0;
  private above: Row | null = null;

  constructor(private readonly actions: RowActions) {
    this.element.append(this.scrolled, this.trail, this.pinned, this.target);
    this.trail.addEventListener("click", () => this.above && this.actions.reveal(this.above));
    this.element.addEventListener("keydown", (event) => this.walk(event));
  }

  /** Shows these lines, and no others. */
  show(layout: Layout, shown: readonly Shown[], top: number, height: number, focused: number, matches: Map<number, number>): void {
    this.layout = layout;
    this.top = top;
    this.scrolled.style.top = `${top + Math.min(layout.pinnedHeight, height)}px`;
    this.pinned.style.top = `${top}px`;
    this.pinned.style.height = `${layout.pinnedHeight}px`;
    this.focused = focused;
    this.matches = matches;
    this.showTrail(shown, top + layout.pinnedHeight);
    const kept = new Set<string>();
    for (const { line, y } of shown) {
      const key = `${line.row.id}${line.pinned ? "p" : ""}`;
      kept.add(key);
      const item = this.items.get(key) ?? this.add(key, line);
      this.update(item, line);
      item.element.style.transform = `translateY(${line.pinned ? line.y : y - top - layout.pinnedHeight}px)`;
    }
    for (const [key, { element }] of this.items) {
      if (kept.has(key)) continue;
      element.remove();
      this.items.delete(key);
    }
  }

  private showTrail(shown: readonly Shown[], y: number): void {
    const first = shown.find(({ line }) => !line.pinned);
    const path = first?.path ?? [];
    this.above = path[path.length - 2] ?? null;
    this.trail.hidden = path.length === 0;
    this.trail.style.top = `${y}px`;
    const words = path.map(({ label }) => label).join(" › ");
    if (this.trail.textContent !== words) this.trail.textContent = words;
    this.trail.title = words;
  }

  /** Left and right fold and unfold, as in every tree. */
  private walk(event: KeyboardEvent): void {
    const item = [...this.items.values()].find(({ element }) => element === event.target);
    if (!item || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const { line } = item;
    if (event.key === "ArrowRight" ? !line.parent || line.open : event.key !== "ArrowLeft" || !line.open) return;
    event.preventDefault();
    this.actions.fold(line.row);
  }

  /** Gives a row the keyboard; it must be in sight. */
  focusRow(row: number): void {
    (this.items.get(`${row}`) ?? this.items.get(`${row}p`))?.element.focus({ preventScroll: true });
  }

  private add(key: string, line: Line): Item {
    const fold = iconButton("row-fold", "fold");
    const label = make("bdi", { class: "row-label", dir: "auto" });
    const detail = make("bdi", { class: "row-detail", dir: "auto" });
    const range = make("span", { class: "row-range" });
    const badge = make("span", { class: "row-badge" });
    const lanes = make("button", { type: "button", class: "row-lanes", tabindex: -1 });
    const pin = iconButton("row-pin", "pin");
    const element = make("div", { class: "row", role: "treeitem" }, fold, make("span", { class: "row-text" }, label, detail, range), badge, lanes, pin);
    const item: Item = { element, fold, label, detail, range, badge, pin, lanes, line, shown: "" };
    fold.addEventListener("click", () => this.actions.fold(item.line.row));
    pin.addEventListener("click", () => this.actions.pin(item.line.row));
    lanes.addEventListener("click", () => this.actions.expand(item.line.row));
    element.addEventListener("focus", () => this.actions.focus(item.line.row));
    element.addEventListener("dblclick", () => item.line.parent && this.actions.fold(item.line.row));
    element.addEventListener("pointerdown", (event) => this.press(event, item));
    element.addEventListener("contextmenu", () => this.actions.focus(item.line.row));
    element.style.setProperty("--depth", `${line.depth * INDENT}px`);
    (line.pinned ? this.pinned : this.scrolled).append(element);
    this.items.set(key, item);
    return item;
  }

  /** Writes to the document only what changed since the last frame. */
  private update(item: Item, line: Line): void {
    item.line = line;
    const { row } = line;
    const found = this.matches.get(row.id) ?? 0;
    const shown = `${line.depth} ${line.height} ${line.parent} ${line.open} ${line.hidden} ${line.lanes} ${found} ${row.id === this.focused} ${line.around}`;
    if (shown === item.shown) return;
    item.shown = shown;
    const { element } = item;
    element.style.height = `${line.height}px`;
    element.style.setProperty("--depth", `${line.depth * INDENT}px`);
    element.dataset["row"] = String(row.id);
    element.dataset["type"] = row.type;
    element.tabIndex = row.id === this.focused ? 0 : -1;
    element.classList.toggle("focused", row.id === this.focused);
    element.classList.toggle("group", row.kind === "group");
    element.classList.toggle("low", line.height < LOW);
    element.setAttribute("aria-level", String(line.depth + 1));
    if (line.parent) element.setAttribute("aria-expanded", String(line.open));
    else element.removeAttribute("aria-expanded");
    item.fold.hidden = !line.parent;
    item.fold.title = line.open ? "Fold (O)" : "Unfold (O)";
    item.fold.setAttribute("aria-label", item.fold.title);
    item.label.textContent = row.label;
    const detail = line.around !== "" ? line.around : row.detail;
    item.detail.textContent = detail;
    element.title = detail ? `${row.label} – ${detail}` : row.label;
    item.range.textContent = row.kind === "counter" && line.drawn === row ? rangeOf(line) : "";
    item.badge.hidden = found === 0;
    item.badge.textContent = count(found);
    item.badge.title = `${count(found)} matches`;
    const tall = line.drawn === row && line.lanes > FEW_LANES;
    item.lanes.hidden = line.drawn !== row || (line.hidden === 0 && !tall);
    item.lanes.textContent = tall ? "fewer lanes" : `+${line.hidden} lanes`;
    item.lanes.title = tall ? "Collapse the lanes (E)" : "Expand the lanes (E); Alt + wheel scrolls them";
    item.pin.title = line.pinned ? "Unpin (P)" : "Pin to the top (P)";
    item.pin.setAttribute("aria-label", item.pin.title);
    item.pin.classList.toggle("on", line.pinned);
  }

  /** A row that is dragged goes among its siblings; a mere click gives it the keyboard. */
  private press(down: PointerEvent, item: Item): void {
    if (down.button !== 0 || (down.target instanceof Element && down.target.closest("button"))) return;
    const { element, line } = item;
    let before: number | null = null;
    const move = (event: PointerEvent): void => {
      if (before === null && Math.abs(event.clientY - down.clientY) < DRAG_BEGINS) return;
      element.setPointerCapture(down.pointerId);
      element.classList.add("dragged");
      before = this.placeFor(line, event.clientY);
    };
    const end = (): void => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", end);
      element.removeEventListener("pointercancel", end);
      element.classList.remove("dragged");
      this.target.hidden = true;
      if (before !== null && before !== line.row.id) this.actions.move(line.row, before, line.pinned);
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
  }

  /** The sibling before which a row dropped at that height would stand, with a line drawn there. */
  private placeFor(line: Line, clientY: number): number {
    const layout = this.layout;
    if (!layout) return line.row.id;
    const list = line.pinned ? layout.pinned : layout.lines;
    const base = this.element.getBoundingClientRect().top;
    const siblings = list.filter((other) => line.pinned || other.row.parent === line.row.parent);
    const place = (other: Line): number => {
      const shown = this.items.get(`${other.row.id}${other.pinned ? "p" : ""}`);
      return shown ? shown.element.getBoundingClientRect().top : other.y < line.y ? -Infinity : Infinity;
    };
    const next = siblings.find((other) => place(other) + other.height / 2 > clientY);
    const last = siblings[siblings.length - 1]!;
    const y = next ? place(next) : place(last) + last.height;
    this.target.hidden = !Number.isFinite(y);
    this.target.style.top = `${Math.max(this.top, y - base)}px`;
    return next ? next.row.id : -1;
  }
}
