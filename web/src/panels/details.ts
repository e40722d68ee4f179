// Everything that is known of the selected event: its times, fields, the operator and the lines of Python behind it, the ranges
// around it, and the events that it is linked with, each one click away.

import type { Change } from "../app";
import type { Event, EventDetails, Field } from "../engine/engine";
import { bytes, count, duration, moment } from "../units";
import { button, make, type Child } from "../ui/dom";
import { frameList, recordHint } from "./frames";
import { gapCauses, gapChain } from "./gap";
import { SiblingsPart } from "./lists/siblings";
import { Panel } from "./panel";
import { pathOf } from "./parts";
import { stepFigures } from "./step_details";
import { copyButton, line, whole } from "../ui/text";

/** Links of a kind that are shown until more are asked for. */
const FEW = 8;

/** In the order in which they are shown; other kinds follow. */
const LINK_TITLES: Readonly<Record<string, string>> = {
  "ended-by": "Ended by",
  "launched-by": "Launched by",
  launches: "Launches",
  kernels: "Kernels",
  backward: "Backward",
  forward: "Forward",
  "waits-for": "Waits for",
  "awaited-by": "Awaited by",
  "waited-in": "Waited in",
  "lock-holder": "Lock held by",
  collective: "On other ranks",
  "message-to": "Received by",
  "message-from": "Sent by",
};

/** "registersPerThread" and "process_id" as words; an id that is shown by its name is no id. */
export function fieldTitle({ name, label, value }: Field): string {
  const isNamed = label !== "" || (typeof value === "string" && !/^-?\d+$/.test(value));
  const words = (isNamed ? name.replace(/Id$/, "") : name).replace(/_/g, " ").replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().replace(/\bid\b/g, "ID");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What the value is called where it has a name of its own, else the value in its unit. */
export function fieldWords(field: Field): string {
  if (field.label !== "") return field.label;
  if (typeof field.value === "string") return field.value;
  switch (field.kind) {
    case "time":
      return moment(field.value);
    case "duration":
      return duration(field.value);
    case "bytes":
      return field.value < 1024 ? bytes(field.value) : `${bytes(field.value)} (${count(field.value)} B)`;
    case "int":
    case "real":
      return count(field.value);
    default:
      return String(field.value);
  }
}

export class DetailsPanel extends Panel {
  readonly name = "details";
  readonly title = "Details";
  protected readonly shows: readonly Change[] = ["event", "details"];

  protected build(): void {}

  protected draw(): void {
    const { details, event } = this.app.state;
    if (details) this.element.replaceChildren(...this.content(details));
    else this.element.replaceChildren(make("p", { class: "empty" }, event ? "…" : "No event selected. Click an event, or press . or , for the next or previous one."));
    this.element.scrollTop = 0;
  }

  private content(details: EventDetails): Child[] {
    const text = details.text || details.name;
    const heading = make("h2", { class: "details-name" }, whole(text === "" ? "(no name)" : text, "name", 500), copyButton("Copy the name", () => text, this.app.fail));
    const row = this.app.state.rows.find((candidate) => candidate.id === details.row);
    const facts = make(
      "p",
      { class: "details-facts" },
      make("strong", {}, duration(details.to - details.from)),
      " at ",
      make("span", { class: "selectable" }, moment(details.from)),
      ...(row ? [" on ", make("span", {}, line(pathOf(this.app.state.rows, row.id)))] : []),
    );
    const last = details.collective?.last;
    if (last) facts.append(`; rank ${last.rank} came last, ${duration(last.lateness)} after the first`);
    const fields = this.fields(details);
    const links = this.links(details);
    const columns = make("div", { class: "details-columns" }, ...[this.gap(details), links, this.origin(details), fields, this.around(details)].filter((part) => part !== null));
    const step = stepFigures(this.app, details);
    if (step) columns.prepend(step);
    return [heading, facts, new SiblingsPart(this.app, details).element, columns];
  }

  private fields(details: EventDetails): HTMLElement | null {
    const list = make("dl", { class: "fields" });
    for (const field of details.fields) {
      const words = fieldWords(field);
      const value = make("dd", { title: words === String(field.value) ? undefined : String(field.value) }, whole(words));
      if (field.kind === "time" && typeof field.value === "number") value.replaceChildren(this.timeLink(field.value, words));
      list.append(make("dt", { title: `${details.table}.${field.name}` }, fieldTitle(field)), value);
    }
    if (details.table === "") return null;
    list.append(make("dt", {}, "Table"), make("dd", {}, whole(`${details.table} rowid ${details.rowid}`)));
    return section("Fields", list);
  }

  private timeLink(time: number, words: string): HTMLElement {
    return button(words, () => this.app.set({ view: this.app.around({ from: time, to: time }) }), { class: "link", title: "Go to this time" });
  }

  /** The operator, the Python lines and the backtrace: where it comes from in the program. */
  private origin(details: EventDetails): HTMLElement | null {
    const parts: HTMLElement[] = [];
    if (details.operator) parts.push(section("Operator", this.eventButton(details.operator, details.operator.name)));
    if (details.python) parts.push(section("Python", make("p", { class: "muted" }, details.python.from), frameList(details.python.frames)));
    if (details.stack) parts.push(section("Backtrace", frameList(details.stack.frames)));
    if (details.unrecorded) parts.push(section("Call stack", recordHint(details.unrecorded)));
    return parts.length > 0 ? make("div", {}, ...parts) : null;
  }

  private gap(details: EventDetails): HTMLElement | null {
    const toEvent = (event: Event): HTMLElement => this.eventButton(event, event.name);
    return details.gap && make("div", {}, section("Causes", gapCauses(details.gap, details.to - details.from, toEvent)), section("Chain", gapChain(details.gap, toEvent)));
  }

  private around(details: EventDetails): HTMLElement | null {
    if (details.around.length === 0) return null;
    const list = make("ol", { class: "around" });
    details.around.forEach((event, depth) => {
      const item = make("li", {}, this.eventButton(event, event.name));
      item.style.paddingInlineStart = `${Math.min(depth, 12) * 10}px`;
      list.append(item);
    });
    return section("Enclosing ranges", list);
  }

  private links(details: EventDetails): HTMLElement | null {
    const byKind = new Map<string, EventDetails["links"]>();
    for (const link of details.links) byKind.set(link.kind, [...(byKind.get(link.kind) ?? []), link]);
    const kinds = [...Object.keys(LINK_TITLES).filter((kind) => byKind.has(kind)), ...[...byKind.keys()].filter((kind) => !(kind in LINK_TITLES))];
    if (kinds.length === 0) return null;
    return make("div", {}, ...kinds.map((kind) => this.linksOf(kind, byKind.get(kind) ?? [])));
  }

  private linksOf(kind: string, links: EventDetails["links"]): HTMLElement {
    const title = LINK_TITLES[kind] ?? links[0]?.label ?? kind;
    const list = make("ul", { class: "links", "data-kind": kind });
    const add = (some: EventDetails["links"]): void => list.append(...some.map((link) => make("li", {}, this.eventButton(link, link.name))));
    add(links.slice(0, FEW));
    const parts: HTMLElement[] = [list];
    if (links.length > FEW) {
      const total = links.reduce((sum, link) => sum + link.to - link.from, 0);
      const more = button(`All ${count(links.length)}, ${duration(total)}`, () => {
        add(links.slice(FEW));
        more.remove();
      }, { class: "quiet" });
      parts.push(more);
    }
    return section(links.length > 1 ? `${title} (${count(links.length)})` : title, ...parts);
  }

  private eventButton(event: Event, name: string): HTMLElement {
    const element = button("", () => this.app.select(event, event), { class: "event", title: `Go to ${name.slice(0, 200)}` });
    element.append(line(name), make("span", { class: "muted number" }, duration(event.to - event.from)));
    element.removeAttribute("aria-label"); // its text says it
    return element;
  }
}

function section(title: string, ...children: Child[]): HTMLElement {
  return make("section", { class: "part" }, make("h3", {}, title), ...children);
}
