// What is under the pointer, in words: a line with the time, and a box with the event's name and length, its
// operator and the program's own line. The engine is asked once the pointer rests on an event, and no more when it leaves.

import { FLAG_FAILED, FLAG_WAITING, type Span } from "../engine/engine";
import { make } from "../ui/dom";
import { cut } from "../ui/text";
import { count, duration, moment, quantity } from "../units";
import type { Hit } from "./hit";
import { KINDS } from "./kinds";
import { marksAt, marksOn, type Mark } from "./marks";
import { RULER } from "./ruler";
import type { Timeline } from "./timeline";
import { tipElements, tipLines, type TipLines } from "./tip_lines";

const REST_MS = 120;
const REMEMBERED = 200;
const NAME_SHOWN = 300;

export class Tooltip {
  private readonly line = make("div", { class: "cursor", hidden: true }, make("span", { class: "cursor-time" }));
  private readonly box = make("div", { class: "tip", role: "tooltip", hidden: true });
  private readonly known = new Map<string, TipLines>();
  private shown = "";
  private timer = 0;
  private asked: AbortController | null = null;
  private x = 0;
  private y = 0;

  constructor(private readonly timeline: Timeline) {
    timeline.area.append(this.line, this.box);
  }

  hide(): void {
    this.line.hidden = true;
    this.close();
    this.hovered(null);
  }

  /** The line that follows the pointer. */
  cursor(x: number): void {
    const label = this.line.firstElementChild as HTMLElement;
    this.line.hidden = false;
    this.line.style.transform = `translateX(${Math.round(x)}px)`;
    label.textContent = moment(this.timeline.lens.time(x));
    this.line.classList.toggle("flip", x > this.timeline.width - 140);
  }

  /** The length of a span while it is drawn. */
  length(span: Span, x: number): void {
    this.cursor(x);
    (this.line.firstElementChild as HTMLElement).textContent = duration(span.to - span.from);
  }

  at(x: number, y: number): void {
    this.x = x;
    this.y = y;
    this.cursor(x);
    if (y < RULER) {
      const marks = marksAt(this.timeline.marks, x, this.timeline.lens);
      this.timeline.canvas.classList.toggle("pointing", marks.length > 0);
      this.explain(marks);
      this.hovered(null);
      return;
    }
    const hit = this.timeline.hit(x, y);
    this.timeline.canvas.classList.toggle("pointing", !!hit?.slice || !!hit?.dense);
    this.hovered(hit);
    if (hit?.slice) this.slice(hit);
    else if (hit?.dense) this.dense(hit);
    else if (hit?.value) this.value(hit);
    else this.close();
  }

  private hovered(hit: Hit | null): void {
    const { app, names } = this.timeline;
    const { hover } = app.state;
    this.timeline.hovered = hit?.slice ?? null;
    if (!hit?.slice) {
      if (hover) app.set({ hover: null });
      return;
    }
    const { row, event, name } = hit.slice;
    if (hover?.row === row && hover.event === event) return;
    app.set({ hover: { row, event, name: names.known(name) ?? "" } });
  }

  private slice(hit: Hit): void {
    const { names, tree } = this.timeline;
    const slice = hit.slice!;
    const key = `${slice.row}.${slice.event}`;
    const name = names.text(slice.name);
    names.send();
    const sample = slice.flags & FLAG_WAITING ? "thread waiting" : "";
    const main = hit.row.kind === "ticks" ? sample : duration(slice.to - slice.from);
    if (this.shown !== key || name !== undefined) this.open(key, name ?? "…", main, `${(tree.byId.get(slice.row) ?? hit.row).label} · at ${moment(slice.from)}`);
    if (slice.flags & FLAG_FAILED) this.box.append(make("div", { class: "tip-failed" }, "Failed"));
    this.warn(marksOn(this.timeline.marks, slice.row, slice.event, slice.from, slice.to));
    const known = this.known.get(key);
    if (known) this.append(known);
    else this.ask(slice.row, slice.event, key);
  }

  private warn(marks: readonly Mark[]): void {
    for (const { title, text } of marks.slice(0, 2)) this.box.append(make("div", { class: "tip-mark" }, make("strong", {}, title), ` ${cut(text, 200)}`));
  }

  private dense(hit: Hit): void {
    const { names } = this.timeline;
    const dense = hit.dense!;
    const name = names.text(dense.name);
    names.send();
    const kind = hit.row.kind === "group" ? (KINDS[dense.work]?.name ?? "") : "";
    const words = [`${count(dense.count)} ${dense.count === 1 ? "event" : "events"}`, kind, kind !== "" && dense.busy > 0 ? `${Math.max(1, Math.round(100 * dense.busy))} % of the time` : ""];
    this.open(`${hit.row.id}/${dense.from}`, words.filter(Boolean).join(" · "), `longest: ${cut(name ?? "…", 120)}`, `${hit.row.label} · zoom in to see each`);
  }

  private value(hit: Hit): void {
    const { last, min, max } = hit.value!;
    const unit = hit.row.unit ?? "";
    const text = (value: number): string => quantity(value, unit);
    this.open(`${hit.row.id}=${hit.time}`, text(last), min === max ? "" : `between ${text(min)} and ${text(max)}`, hit.row.label);
  }

  private explain(marks: readonly Mark[]): void {
    const [first] = marks;
    if (!first) {
      this.close();
      return;
    }
    const more = marks.length > 1 ? `and ${count(marks.length - 1)} more here` : "";
    this.open(`mark ${first.from} ${first.title}`, first.title, first.text, [first.to > first.from ? duration(first.to - first.from) : "", more].filter(Boolean).join(" · "));
  }

  private open(key: string, title: string, main: string, rest: string): void {
    if (this.shown !== key) this.forget();
    this.shown = key;
    const words = [
      make("bdi", { class: "tip-name", dir: "auto" }, cut(title === "" ? "(no name)" : title, NAME_SHOWN)),
      make("div", { class: "tip-main" }, main),
      make("div", { class: "tip-rest" }, rest),
    ];
    this.box.replaceChildren(...words.filter(({ textContent }) => textContent !== ""));
    this.box.hidden = false;
    this.place();
  }

  private close(): void {
    this.forget();
    this.shown = "";
    this.box.hidden = true;
  }

  private place(): void {
    const { width, height } = this.timeline;
    const [w, h] = [this.box.offsetWidth, this.box.offsetHeight];
    const left = this.x + 16 + w > width ? Math.max(0, this.x - w - 12) : this.x + 16;
    const top = this.y + 20 + h > height ? Math.max(0, this.y - h - 12) : this.y + 20;
    this.box.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  /** What else there is to say, once the pointer rests. */
  private ask(row: number, event: number, key: string): void {
    if (this.timer !== 0) return;
    this.timer = window.setTimeout(() => {
      const { app, tree } = this.timeline;
      this.asked = new AbortController();
      app.state.engine.brief(row, event, this.asked.signal).then(
        (details) => {
          const known = tipLines(details, (of) => tree.byId.get(of)?.type);
          if (this.known.size > REMEMBERED) this.known.clear();
          if (details.gap || tree.byId.get(row)?.type !== "idle") this.known.set(key, known); // the causes of gaps come later
          if (this.shown === key) this.append(known);
        },
        () => {}, // the box says enough without it; a click tells what is wrong
      );
    }, REST_MS);
  }

  /** The pointer is elsewhere: what it rested on is of no interest any more. */
  private forget(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    this.asked?.abort();
    this.asked = null;
  }

  private append(known: TipLines): void {
    if (this.box.querySelector(".tip-lines")) return;
    const failed = this.box.querySelector(".tip-failed");
    if (failed && known.reason !== "") failed.textContent = `Failed: ${known.reason}`;
    this.box.append(make("div", { class: "tip-lines" }, ...tipElements(known)));
    this.place();
  }
}
