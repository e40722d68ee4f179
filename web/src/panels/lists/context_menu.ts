// The menu of an event, a row or a span: by the right button, or by the keyboard at what is selected. Its entries are commands of the
// table of keys, with the same words and keys.

import type { App } from "../../app";
import { isMade } from "../../engine/made_rows";
import { isProvided, KEYS, on, perform, type Command } from "../../keys";
import { make } from "../../ui/dom";
import { keySign } from "../dialogs";

/** What each part of the menu is about, in the order in which they stand. */
const PARTS: readonly { title: string; fits: (app: App) => boolean; commands: readonly Command[] }[] = [
  { title: "Event", fits: (app) => app.state.event !== null, commands: ["zoom-selection", "panel-details", "span-event", "focus-chain", "list-same", "same-next", "same-previous"] },
  { title: "Span", fits: (app) => app.state.span !== null, commands: ["zoom-selection", "panel-tables", "panel-flame", "select-rows", "panel-events"] },
  { title: "Row", fits: () => true, commands: ["row-fold", "row-expand", "row-pin", "row-move-up", "row-move-down", "list-row", "select-rows"] },
  { title: "Query", fits: (app) => app.state.rows.some(({ id }) => isMade(id)), commands: ["row-remove"] },
  { title: "View", fits: () => true, commands: ["fit", "view-back", "bookmark", "copy-link", "copy-markdown", "commands"] },
];

const known = new Map<string, (typeof KEYS)[number]>(KEYS.map((key) => [key.command, key]));

export class ContextMenu {
  private readonly menu = make("div", { class: "context-menu", role: "menu", "aria-label": "Commands", tabindex: -1, hidden: true });
  private before: HTMLElement | null = null;

  constructor(private readonly app: App, home: HTMLElement) {
    home.append(this.menu);
    const area = home.querySelector<HTMLElement>(".timeline");
    area?.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      // What is under the pointer is what is meant; the timeline selects it before this (pointer.ts).
      queueMicrotask(() => this.open(event.clientX, event.clientY));
    });
    this.menu.addEventListener("keydown", (event) => this.key(event));
    this.menu.addEventListener("focusout", (event) => !this.menu.contains(event.relatedTarget as Node | null) && this.close(false));
    on("menu", () => {
      const box = area?.querySelector("canvas.tracks")?.getBoundingClientRect();
      if (box) this.open(box.left + 24, box.top + 60);
    });
  }

  private open(x: number, y: number): void {
    this.before = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    const told = new Set<Command>();
    const parts = PARTS.filter(({ fits }) => fits(this.app)).flatMap(({ title, commands }) => {
      const fresh = commands.filter((command) => isProvided(command) && !told.has(command));
      for (const command of fresh) told.add(command);
      return fresh.length === 0 ? [] : [make("div", { role: "group", "aria-label": title }, make("p", { class: "menu-title", "aria-hidden": "true" }, title), ...fresh.map((command) => this.item(command)))];
    });
    this.menu.replaceChildren(...parts);
    this.menu.hidden = false;
    const { width, height } = this.menu.getBoundingClientRect();
    this.menu.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
    this.menu.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
    this.items()[0]?.focus();
  }

  private item(command: Command): HTMLElement {
    const { what, keys } = known.get(command)!;
    const item = make("button", { type: "button", role: "menuitem", tabindex: -1, class: "menu-item", "data-command": command }, make("span", {}, what), make("span", { class: "palette-keys" }, keySign(keys[0])));
    item.addEventListener("click", () => {
      this.close(true);
      perform(command);
    });
    return item;
  }

  private items(): HTMLElement[] {
    return [...this.menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
  }

  private key(event: KeyboardEvent): void {
    event.stopPropagation();
    const items = this.items();
    const at = items.indexOf(document.activeElement as HTMLElement);
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
    const next = steps[event.key];
    if (next !== undefined) items[(next + items.length) % items.length]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") this.close(true);
    else return;
    event.preventDefault();
  }

  private close(back: boolean): void {
    if (this.menu.hidden) return;
    this.menu.hidden = true;
    if (back) this.before?.focus({ preventScroll: true });
  }
}
