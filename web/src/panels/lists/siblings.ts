// One event among those of its name: which one it is, the median, how many are shorter, and a histogram of their durations. A
// bar lists its events.

import type { App } from "../../app";
import type { EventDetails, Siblings } from "../../engine/engine";
import { button, make } from "../../ui/dom";
import { count, duration } from "../../units";

const HEIGHT = 44;

/** "longer than 93 %"; of the shortest and the longest, that. */
function rankOf({ count: all, shorter, equal, min, max }: Siblings): string {
  if (min === max) return "all are equally long";
  if (shorter === 0) return equal === 1 ? "the shortest" : "among the shortest";
  if (shorter + equal === all) return equal === 1 ? "the longest" : "among the longest";
  const share = (100 * shorter) / all;
  return `longer than ${share < 99 ? share.toFixed(0) : share.toFixed(share < 99.9 ? 1 : 2)} %`;
}

/** The bar in which a duration lies. */
export function barOf(bars: Siblings["bars"], length: number): number {
  return bars.findIndex(({ from, to }) => from <= length && length <= to);
}

export class SiblingsPart {
  readonly element = make("section", { class: "part siblings", hidden: true });

  constructor(private readonly app: App, private readonly details: EventDetails) {
    app.state.engine.siblings(details.row, details.event).then(
      (siblings) => this.fill(siblings),
      () => {}, // the fields say the rest
    );
  }

  private fill(siblings: Siblings): void {
    if (siblings.count < 2) return;
    const length = this.details.to - this.details.from;
    const list = button(`${count(siblings.position + 1)} of ${count(siblings.count)}`, () => this.list(), { class: "link", title: "List the events with this name" });
    const words = make("p", {}, list, ` with this name; median ${duration(siblings.median)}, ${rankOf(siblings)}`);
    this.element.replaceChildren(make("h3", {}, "Durations"), words);
    if (siblings.bars.length > 1) this.element.append(this.histogram(siblings, length), this.scale(siblings));
    this.element.hidden = false;
  }

  private list(least?: number, most?: number): void {
    const { row, event } = this.details;
    this.app.listEvents({ of: "same", row, event, inSpan: false, ...(least === undefined ? {} : { least }), ...(most === undefined ? {} : { most }) });
  }

  private histogram({ bars, median }: Siblings, length: number): HTMLElement {
    const highest = Math.max(...bars.map((bar) => bar.count));
    const [own, middle] = [barOf(bars, length), barOf(bars, median)];
    const element = make("div", { class: "histogram", role: "group", "aria-label": "Histogram of durations", "data-own-keys": "" });
    bars.forEach(({ from, to, count: events }, index) => {
      const words = `${count(events)} ${events === 1 ? "event" : "events"} from ${duration(from)} to ${duration(to)}${index === own ? "; this one" : ""}${index === middle ? "; the median" : ""}`;
      const bar = button("", () => events > 0 && this.list(from, to), { title: words, class: "bar-button" });
      bar.tabIndex = index === own ? 0 : -1;
      bar.classList.toggle("own", index === own);
      bar.classList.toggle("middle", index === middle);
      const fill = make("span", {});
      // A bar of one event among thousands must still be seen.
      fill.style.height = `${events === 0 ? 0 : Math.max(2, Math.round((events / highest) * HEIGHT))}px`;
      bar.append(fill);
      element.append(bar);
    });
    element.addEventListener("keydown", (event) => this.walk(event, element));
    return element;
  }

  private walk(event: KeyboardEvent, element: HTMLElement): void {
    const bars = [...element.children] as HTMLElement[];
    const at = bars.indexOf(document.activeElement as HTMLElement);
    const steps: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: bars.length - 1 };
    const next = bars[steps[event.key] ?? -1];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    for (const bar of bars) bar.tabIndex = bar === next ? 0 : -1;
    next.focus();
  }

  private scale({ min, max }: Siblings): HTMLElement {
    return make("p", { class: "histogram-scale muted" }, make("span", {}, duration(min)), make("span", {}, duration(max)));
  }
}
