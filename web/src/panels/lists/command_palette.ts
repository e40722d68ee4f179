// The list of all commands, panels and tables: type a part of the words, press Enter. Commands and their keys come from the
// table of keys, so that a command that is not there does not exist.

import type { App } from "../../app";
import { isProvided, KEYS, on, perform } from "../../keys";
import { make } from "../../ui/dom";
import { keySign } from "../dialogs";

interface Entry {
  group: string;
  words: string;
  keys: readonly string[];
  run: () => void;
}

/** Whether all words of what was typed are in a text, in any order. */
export function fits(text: string, typed: string): boolean {
  const low = text.toLowerCase();
  return typed.toLowerCase().split(/\s+/).every((word) => low.includes(word));
}

export class CommandPalette {
  private readonly box = make("dialog", { class: "dialog palette", "aria-label": "Commands" });
  private readonly typed = make("input", { type: "text", class: "textbox", role: "combobox", "aria-label": "Command, panel or table", placeholder: "Command, panel or table", "aria-expanded": "true", "aria-controls": "palette-list", spellcheck: "false", autocomplete: "off" });
  private readonly list = make("ul", { id: "palette-list", role: "listbox", "aria-label": "Commands" });
  private shown: Entry[] = [];
  private current = 0;

  constructor(private readonly app: App, home: HTMLElement, private readonly table: (report: string) => void) {
    this.box.append(this.typed, this.list);
    home.append(this.box);
    this.typed.addEventListener("input", () => this.fill());
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("click", (event) => event.target === this.box && this.box.close());
    on("commands", () => this.open());
  }

  private open(): void {
    if (this.box.open) return this.box.close();
    this.typed.value = "";
    this.box.showModal();
    this.fill();
  }

  private entries(): Entry[] {
    const { about } = this.app.state;
    const commands = KEYS.filter(({ command }) => isProvided(command) && command !== "commands").map(({ group, what, keys, command }) => ({ group, words: what, keys, run: () => perform(command) }));
    const keyed = new Set<string>(KEYS.map(({ command }) => command));
    const tabs = [...document.querySelectorAll<HTMLElement>(".dock-tab")].filter(({ id }) => !keyed.has(id.replace(/^tab-/, "panel-")));
    const panels = tabs.map((tab) => ({ group: "Panels", words: tab.textContent ?? "", keys: [], run: () => this.app.set({ panel: tab.id.replace(/^tab-/, "") }) }));
    const tables = about.reports.map(({ name, title }) => ({ group: "Tables", words: `${title} (${name})`, keys: [], run: () => {
      this.table(name);
      this.app.set({ panel: "tables" });
    } }));
    return [...commands, ...panels, ...tables];
  }

  private fill(): void {
    this.shown = this.entries().filter(({ group, words }) => fits(`${group} ${words}`, this.typed.value));
    this.current = 0;
    this.list.replaceChildren(...this.shown.map((entry, index) => this.item(entry, index)));
    if (this.shown.length === 0) this.list.append(make("li", { class: "empty" }, "No matching command."));
    this.mark();
  }

  private item({ group, words, keys }: Entry, index: number): HTMLElement {
    const item = make("li", { id: `palette-${index}`, role: "option" }, make("span", { class: "muted palette-group" }, group), make("bdi", { class: "line" }, words), make("span", { class: "palette-keys" }, ...keys.map(keySign)));
    item.addEventListener("click", () => this.run(index));
    return item;
  }

  private mark(): void {
    [...this.list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === this.current)));
    this.typed.setAttribute("aria-activedescendant", `palette-${this.current}`);
    this.list.children[this.current]?.scrollIntoView({ block: "nearest" });
  }

  private key(event: KeyboardEvent): void {
    event.stopPropagation(); // the timeline does not move behind it
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const step = steps[event.key];
    if (step !== undefined) {
      this.current = Math.max(0, Math.min(this.shown.length - 1, this.current + step));
      this.mark();
    } else if (event.key === "Enter") this.run(this.current);
    else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) this.box.close();
    else return;
    event.preventDefault();
  }

  private run(index: number): void {
    const entry = this.shown[index];
    this.box.close();
    entry?.run();
  }
}
