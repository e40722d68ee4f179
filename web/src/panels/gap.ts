// A gap of a GPU: its causes with their share of it, and the chain of events that led to it, each one click away.

import type { Event, EventDetails } from "../engine/engine";
import { count, duration } from "../units";
import { percent } from "../ui/gap";
import { line } from "../ui/text";
import { make } from "../ui/dom";

type Gap = NonNullable<EventDetails["gap"]>;
type ToEvent = (event: Event) => HTMLElement;

export function gapCauses({ causes, more }: Gap, length: number, toEvent: ToEvent): HTMLElement {
  const list = make("ul", { class: "links gap-causes" });
  for (const { cause, time, line: where, at } of causes) {
    const words = make("p", {}, make("strong", {}, `${percent(time / length)} ${cause}`), make("span", { class: "muted number" }, ` ${duration(time)}`));
    const item = make("li", {}, words);
    if (where !== "") item.append(make("p", { class: "where" }, line(where)));
    if (at) item.append(toEvent(at));
    list.append(item);
  }
  if (more > 0) list.append(make("li", { class: "muted" }, `${count(more)} smaller causes`));
  return list;
}

/** In the order of the chain. */
const LINKS: Readonly<Record<Gap["chain"][number]["kind"], string>> = {
  work: "Gap ended by",
  launch: "launched by",
  operator: "in the operator",
  line: "at your line",
  wait: "after the wait in",
};

export function gapChain({ chain }: Gap, toEvent: ToEvent): HTMLElement {
  const list = make("ol", { class: "links gap-chain" });
  for (const { kind, event, text } of chain) {
    const item = make("li", { "data-kind": kind }, make("span", { class: "muted" }, `${kind === "work" ? "" : "← "}${LINKS[kind]}`));
    item.append(event ? toEvent(event) : make("strong", {}, line(text ?? "")));
    list.append(item);
  }
  return list;
}
