// The two boxes over the page: the list of keys, made from the table of keys itself, and the facts about the report with all
// that was lost on the way. Plus the sentence that appears when something fails.

import type { App } from "../app";
import { GESTURES, KEYS } from "../keys";
import { count, duration } from "../units";
import { button, make, type Child } from "../ui/dom";
import { copyButton, whole } from "../ui/text";

interface Parts {
  box: HTMLDialogElement;
  body: HTMLElement;
}

function dialog(home: HTMLElement, title: string, className: string): Parts {
  const box = make("dialog", { class: `dialog ${className}`, "aria-label": title });
  const body = make("div", { class: "dialog-body" });
  const close = button("", () => box.close(), { icon: "close", title: "Close (Escape)", class: "quiet" });
  box.append(make("header", { class: "dialog-head" }, make("h2", {}, title), make("span", { class: "spacer" }), close), body);
  box.addEventListener("click", (event) => {
    if (event.target === box) box.close(); // beside the box
  });
  box.addEventListener("keydown", (event) => event.stopPropagation()); // the timeline does not move behind it
  home.append(box);
  return { box, body };
}

function toggle(box: HTMLDialogElement): void {
  if (box.open) box.close();
  else box.showModal();
}

const KEY_SIGNS: Readonly<Record<string, string>> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", PageUp: "Page ↑", PageDown: "Page ↓", Escape: "Esc", ContextMenu: "Menu" };

export function keySign(key: string): HTMLElement {
  const parts = key.split(/\+(?=.)/).map((part) => KEY_SIGNS[part] ?? (part.length === 1 ? part.toUpperCase() : part));
  return make("kbd", {}, parts.join(" "));
}

export class Help {
  private readonly parts: Parts;

  constructor(home: HTMLElement) {
    this.parts = dialog(home, "Keyboard shortcuts", "help");
    const groups = [...new Set(KEYS.map((key) => key.group))];
    for (const group of groups) {
      const list = make("dl", {});
      for (const key of KEYS.filter((candidate) => candidate.group === group)) {
        list.append(make("dt", {}, ...key.keys.map(keySign)), make("dd", {}, key.what));
      }
      this.parts.body.append(make("section", {}, make("h3", {}, group), list));
    }
    const gestures = make("dl", {}, ...GESTURES.flatMap(([does, what]) => [make("dt", {}, does), make("dd", {}, what)]));
    this.parts.body.append(make("section", { class: "gestures" }, make("h3", {}, "Mouse and touchpad"), gestures));
  }

  toggle(): void {
    toggle(this.parts.box);
  }
}

export class AboutBox {
  private readonly parts: Parts;

  constructor(home: HTMLElement, private readonly app: App) {
    this.parts = dialog(home, "About this report", "about");
  }

  toggle(): void {
    const { about } = this.app.state;
    const { body, box } = this.parts;
    const facts: [string, Child][] = [
      ["Report", whole(about.name)],
      ["Program", whole(about.program || "unknown")],
      ["Duration", duration(about.to - about.from)],
      ["Events", `${count(about.events)} in ${count(about.rows)} rows`],
      ["Steps", about.steps ? `${count(about.steps.count)} (${about.steps.source})` : "none found"],
      ["Recorded", about.utc === null ? "unknown" : utc(about.utc)],
      ["Processes", this.list(about.processes.map(({ pid, name, rank }) => `${name} (${pid})${rank !== undefined ? `, rank ${rank}` : ""}`))],
      ["GPUs", about.gpus.length > 0 ? this.list(about.gpus.map(({ id, name }) => `${id}: ${name}`)) : "none"],
      ["Recorded by", about.recorder || "unknown"],
      ["Viewer", `Tacho ${about.version}`],
    ];
    const list = make("dl", { class: "fields" }, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    const text = (): string => facts.map(([name, value]) => `${name}: ${typeof value === "string" ? value : (value.textContent ?? "")}`).join("\n");
    body.replaceChildren(this.warnings(), list, make("p", { class: "copy" }, copyButton("Copy as text", text, this.app.fail)));
    toggle(box);
  }

  private warnings(): HTMLElement {
    const { warnings, recorder } = this.app.state.about;
    if (warnings.length === 0 && recorder === "Tacho") return make("p", { class: "good" }, "No events were lost.");
    if (warnings.length === 0) return make("p", {}, `Imported from ${recorder || "another profiler"}, whose file does not say whether events were lost.`);
    return make("section", { class: "warnings" }, make("h3", {}, "Warnings"), make("ul", {}, ...warnings.map((text) => make("li", {}, whole(text)))));
  }

  private list(lines: readonly string[]): HTMLElement {
    return make("ul", { class: "plain" }, ...lines.map((text) => make("li", {}, whole(text))));
  }
}

/** Decimal nanoseconds since 1970; more digits than a number holds. */
function utc(ns: string): string {
  const seconds = Number(BigInt(ns) / 1_000_000_000n);
  return new Date(seconds * 1000).toISOString().replace("T", " ").replace(".000Z", " UTC");
}

/** One sentence at the edge of the page; it goes when it is read. */
export class Toast {
  private readonly element = make("div", { class: "toast", role: "alert", hidden: true });
  private timer = 0;

  constructor(home: HTMLElement) {
    this.element.addEventListener("click", () => (this.element.hidden = true));
    home.append(this.element);
  }

  say(sentence: string): void {
    this.element.replaceChildren(make("bdi", { dir: "auto" }, sentence.slice(0, 1_000)));
    this.element.hidden = false;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (this.element.hidden = true), 4_000 + sentence.length * 60);
  }
}
