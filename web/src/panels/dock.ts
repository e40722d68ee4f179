// The dock: panels as tabs below the timeline or beside it, at a size that is remembered. `state.panel` says which one is open;
// the dock only shows that, so that a link opens the same panel. While none is open, the tabs stay at the foot of the page.

import type { App } from "../app";
import { button, icon, make } from "../ui/dom";
import { isNumber, isText, recall, remember } from "../ui/memory";
import type { Panel } from "./panel";

type Side = "bottom" | "right";

const SMALLEST = 120;
const STEP = 24;
const FIRST: Record<Side, number> = { bottom: 336, right: 440 };

export class Dock {
  private readonly tabs = new Map<string, { panel: Panel; tab: HTMLButtonElement; page: HTMLElement }>();
  private readonly bar = make("div", { class: "dock-tabs", role: "tablist", "aria-label": "Panels" });
  private readonly grip = make("div", { class: "dock-grip", role: "separator", tabindex: 0, "aria-label": "Size of the panels" });
  private readonly pages = make("div", { class: "dock-pages" });
  private readonly element = make("section", { class: "dock", "aria-label": "Panels" });
  private readonly mover = button("", () => this.place(this.side === "bottom" ? "right" : "bottom"), { class: "quiet" });
  /** For who sees the page for the first time; it makes room for a panel. */
  private readonly hint = make("span", { class: "dock-hint" }, "Scroll to zoom, drag to select a span, click for details; ? for keyboard shortcuts");
  private readonly closer = button("", () => {}, { icon: "close", title: "Close the panels", class: "quiet" });
  private side: Side = recall("dock.side", isText, "bottom") === "right" ? "right" : "bottom";
  private readonly size: Record<Side, number> = { bottom: recall("dock.bottom", isNumber, FIRST.bottom), right: recall("dock.right", isNumber, FIRST.right) };

  constructor(private readonly panels: readonly Panel[]) {}

  /** The workspace holds the timeline already; the dock joins it. */
  mount(workspace: HTMLElement, app: App): void {
    workspace.classList.add("workspace");
    for (const panel of this.panels) this.add(panel, app);
    this.closer.addEventListener("click", () => app.set({ panel: null }));
    const head = make("div", { class: "dock-head" }, this.bar, make("span", { class: "spacer" }), this.hint, this.mover, this.closer);
    this.element.append(this.grip, head, this.pages);
    workspace.append(this.element);
    this.bar.addEventListener("keydown", (event) => this.walk(event, app));
    this.listenToGrip();
    this.place(this.side);
    app.listen((changed) => {
      if (changed.has("panel")) this.show(app.state.panel);
    });
    new ResizeObserver(() => this.resize(this.size[this.side], false)).observe(workspace);
    this.show(app.state.panel);
  }

  /** Opens a panel and gives it the keyboard; a second time closes it. */
  toggle(name: string, app: App): void {
    if (!this.tabs.has(name)) return; // the report has nothing for it
    if (app.state.panel === name) {
      app.set({ panel: null });
      return;
    }
    app.set({ panel: name });
    this.show(name);
    this.tabs.get(name)?.panel.focus();
  }

  private add(panel: Panel, app: App): void {
    const [tabId, pageId] = [`tab-${panel.name}`, `panel-${panel.name}`];
    const tab = button(panel.title, () => app.set({ panel: app.state.panel === panel.name ? null : panel.name }), { class: "dock-tab" });
    tab.id = tabId;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", pageId);
    const page = make("div", { id: pageId, class: `panel panel-${panel.name}`, role: "tabpanel", tabindex: -1, "aria-labelledby": tabId, hidden: true });
    this.bar.append(tab);
    this.pages.append(page);
    this.tabs.set(panel.name, { panel, tab, page });
    panel.mount(page, app);
  }

  private show(name: string | null): void {
    const open = name !== null && this.tabs.has(name);
    this.element.classList.toggle("closed", !open);
    this.element.parentElement?.classList.toggle("dock-right", open && this.side === "right");
    for (const part of [this.grip, this.pages, this.mover, this.closer]) part.hidden = !open;
    this.hint.hidden = open;
    const focusable = open ? name : this.panels[0]?.name;
    for (const [own, { panel, tab, page }] of this.tabs) {
      const chosen = open && own === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = own === focusable ? 0 : -1;
      page.hidden = !chosen;
      if (chosen) panel.seen();
    }
  }

  /** Left and right through the tabs, as screen readers announce them. */
  private walk(event: KeyboardEvent, app: App): void {
    const names = this.panels.map((panel) => panel.name);
    const at = names.indexOf(app.state.panel ?? "");
    const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const name = names[(next + names.length) % names.length]!;
    app.set({ panel: name });
    this.tabs.get(name)?.tab.focus();
  }

  private place(side: Side): void {
    this.side = side;
    remember("dock.side", side);
    const other = side === "bottom" ? "right" : "bottom";
    this.element.parentElement?.classList.toggle("dock-right", side === "right");
    this.grip.setAttribute("aria-orientation", side === "bottom" ? "horizontal" : "vertical");
    const title = other === "right" ? "Move the panels beside the timeline" : "Move the panels below the timeline";
    this.mover.replaceChildren(icon(other));
    this.mover.title = title;
    this.mover.setAttribute("aria-label", title);
    this.resize(this.size[side], false);
  }

  private resize(wanted: number, keep = true): void {
    const room = this.element.parentElement?.[this.side === "bottom" ? "clientHeight" : "clientWidth"] ?? 0;
    const most = Math.max(SMALLEST, room - 120);
    const size = Math.round(Math.min(most, Math.max(SMALLEST, wanted)));
    this.element.style.flexBasis = `${size}px`;
    this.grip.setAttribute("aria-valuenow", String(size));
    this.grip.setAttribute("aria-valuemin", String(SMALLEST));
    this.grip.setAttribute("aria-valuemax", String(most));
    if (!keep) return; // a small window does not change what the reader chose
    this.size[this.side] = size;
    remember(`dock.${this.side}`, size);
  }

  private listenToGrip(): void {
    this.grip.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.grip.setPointerCapture(event.pointerId);
      const far = this.element.getBoundingClientRect();
      const move = (to: PointerEvent): void => this.resize(this.side === "bottom" ? far.bottom - to.clientY : far.right - to.clientX);
      this.grip.addEventListener("pointermove", move);
      this.grip.addEventListener("lostpointercapture", () => this.grip.removeEventListener("pointermove", move), { once: true });
    });
    this.grip.addEventListener("dblclick", () => this.resize(FIRST[this.side]));
    this.grip.addEventListener("keydown", (event) => {
      const larger = this.side === "bottom" ? "ArrowUp" : "ArrowLeft";
      const smaller = this.side === "bottom" ? "ArrowDown" : "ArrowRight";
      const now = this.element.getBoundingClientRect()[this.side === "bottom" ? "height" : "width"];
      const sizes: Record<string, number> = { [larger]: now + STEP, [smaller]: now - STEP, Home: SMALLEST, End: 1e6 };
      const size = sizes[event.key];
      if (size === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.resize(size);
    });
  }
}
