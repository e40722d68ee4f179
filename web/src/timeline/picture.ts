// What the canvas of the timeline shows: rows in their places, what is selected and linked, the ruler with its marks. It draws what
// the timeline has, on the screen and on paper alike, and changes nothing.

import type { Event, EventDetails, Span } from "../engine/engine";
import type { Drawing } from "../ui/picture";
import type { Surface } from "../ui/surface";
import { duration, moment } from "../units";
import { Columns } from "./columns";
import { hatch, outlined, sayOutlined } from "./cut";
import type { Heading } from "./heading";
import { laneOf } from "./hit";
import { laneBox, type Line } from "./layout";
import type { Lens } from "./lens";
import { arrowOf, arrowsOf, drawArrows, MARKED, MOST_LINKS, type Arrow, type Place } from "./links";
import { drawMarks, drawRowMarks } from "./marks";
import { FONT, Painter, type Scene } from "./paint";
import type { Shown } from "./row_list";
import { drawGrid, drawRuler, RULER, tickStep } from "./ruler";
import type { Timeline } from "./timeline";

/** The height of the line above a picture on paper. */
const TITLE = 30;

export class Picture {
  private readonly columns = new Columns();
  /** What of the report is there only in outline. */
  readonly outlined: readonly Span[];

  constructor(private readonly timeline: Timeline) {
    this.outlined = outlined(timeline.app.state.about.detail);
  }

  paint(surface: Surface, shown: readonly Shown[], ratio: number, flush: (columns: Columns) => void): void {
    const { lens, palette, width, height, layout, tiles, names, firstLane, marks } = this.timeline;
    const emphasis = { found: this.timeline.found, same: this.timeline.sameName, kind: this.timeline.legend.kind };
    const scene: Scene = { lens, palette, tiles, names, emphasis, firstLane, end: this.timeline.app.state.about.to };
    surface.fillStyle = palette.paper;
    surface.fillRect(0, 0, width, height);
    this.paintPart(surface, scene, shown.filter(({ line }) => !line.pinned), RULER + layout.pinnedHeight, height, ratio, flush);
    if (layout.pinned.length > 0) {
      this.paintPart(surface, scene, shown.filter(({ line }) => line.pinned), RULER, RULER + layout.pinnedHeight, ratio, flush);
      surface.fillStyle = palette.line;
      surface.fillRect(0, RULER + layout.pinnedHeight - 1, width, 2);
    }
    drawRowMarks(surface, marks, lens, palette, (row) => this.footOf(row));
    this.paintSelection(surface, lens);
    drawRuler(surface, lens, palette);
    sayOutlined(surface, this.outlined, lens, palette);
    drawMarks(surface, marks, lens, palette);
    this.paintSpanOnRuler(surface, lens);
  }

  private paintPart(surface: Surface, scene: Scene, shown: readonly Shown[], top: number, bottom: number, ratio: number, flush: (columns: Columns) => void): void {
    surface.save();
    surface.beginPath();
    surface.rect(0, top, this.timeline.width, Math.max(0, bottom - top));
    surface.clip();
    surface.fillStyle = this.timeline.palette.paper;
    surface.fillRect(0, top, this.timeline.width, bottom - top);
    hatch(surface, this.outlined, scene.lens, this.timeline.palette, top, bottom);
    for (const { line, y } of shown) this.paintBackground(surface, line, y);
    drawGrid(surface, scene.lens, this.timeline.palette, top, bottom);
    this.columns.begin(this.timeline.width, ratio);
    const painter = new Painter(surface, this.columns, ratio, scene);
    for (const { line, y } of shown) painter.line(line, y);
    painter.finish(flush);
    surface.restore();
  }

  private paintBackground(surface: Surface, line: Line, y: number): void {
    const { palette } = this.timeline;
    if (line.row.kind === "group") {
      surface.fillStyle = palette.faint;
      surface.fillRect(0, y, this.timeline.width, line.height);
    }
    surface.fillStyle = palette.line;
    surface.fillRect(0, Math.round((y + line.height - 1) * this.timeline.ratio) / this.timeline.ratio, this.timeline.width, Math.max(1, Math.floor(this.timeline.ratio)) / this.timeline.ratio);
  }

  /** The lower edge of a row that is in sight. */
  private footOf(row: number): number | null {
    const line = this.timeline.layout.byRow.get(row);
    if (!line) return null;
    const y = this.timeline.topOf(line) + line.height - 3;
    return y > RULER + (line.pinned ? 0 : this.timeline.layout.pinnedHeight) && y < this.timeline.height ? y : null;
  }

  private paintSelection(surface: Surface, lens: Lens): void {
    const { event, details } = this.timeline.app.state;
    const { palette, width, height } = this.timeline;
    const span = this.timeline.draft ?? this.timeline.app.state.span;
    if (span) {
      const [left, right] = [lens.x(span.from), lens.x(span.to)];
      surface.fillStyle = palette.shade;
      if (left > 0) surface.fillRect(0, RULER, Math.min(width, left), height - RULER);
      if (right < width) surface.fillRect(Math.max(0, right), RULER, width - Math.max(0, right), height - RULER);
      surface.fillStyle = palette.accent;
      surface.fillRect(Math.round(left), RULER, 1, height - RULER);
      surface.fillRect(Math.round(right), RULER, 1, height - RULER);
      if (span.rows) this.paintOutside(surface, span.rows, Math.max(0, left), Math.min(width, right));
    }
    this.paintMeasure(surface, lens);
    surface.save();
    surface.beginPath();
    surface.rect(0, RULER, width, height - RULER);
    surface.clip();
    const { hovered } = this.timeline;
    if (hovered) this.outline(surface, lens, hovered.row, hovered.event, hovered.from, hovered.to, 1);
    if (event && details) this.paintLinks(surface, lens, details);
    surface.restore();
  }

  /** Of a span of some rows: the others are shaded. */
  private paintOutside(surface: Surface, rows: readonly number[], left: number, right: number): void {
    const { tree, palette } = this.timeline;
    const chosen = new Set(rows);
    surface.fillStyle = palette.shade;
    for (const { line, y } of this.timeline.visible()) {
      if (tree.path(line.row.id).some(({ id }) => chosen.has(id))) continue;
      const top = Math.max(y, RULER);
      if (right > left) surface.fillRect(left, top, right - left, Math.max(0, y + line.height - top));
    }
  }

  /** Lines at the begins of two measured events, and at the end of the first. */
  private paintMeasure(surface: Surface, lens: Lens): void {
    const { measure } = this.timeline.app.state;
    if (!measure) return;
    const { palette, height } = this.timeline;
    surface.fillStyle = palette.warning;
    for (const time of [measure.from.from, measure.from.to, measure.to.from]) {
      const x = Math.round(lens.x(time));
      if (x >= 0 && x <= lens.width) surface.fillRect(x, RULER, 1, height - RULER);
    }
    this.outline(surface, lens, measure.from.row, measure.from.event, measure.from.from, measure.from.to, 2);
    this.outline(surface, lens, measure.to.row, measure.to.event, measure.to.from, measure.to.to, 2);
  }

  private paintLinks(surface: Surface, lens: Lens, details: EventDetails): void {
    this.outline(surface, lens, details.row, details.event, details.from, details.to, 2);
    const { chain } = this.timeline;
    const linked: readonly Event[] = chain ? chain.links.flatMap(({ of, to }) => [of, to]) : details.links.filter(({ kind }) => kind !== MARKED).slice(0, MOST_LINKS);
    for (const link of linked) this.outline(surface, lens, link.row, link.event, link.from, link.to, 1);
    for (const { x, y, width, height, last } of this.instance()) {
      surface.strokeStyle = last ? this.timeline.palette.warning : this.timeline.palette.accent;
      surface.lineWidth = last ? 2 : 1;
      surface.strokeRect(x, y, width, height);
    }
    drawArrows(surface, this.arrows(), this.timeline.palette);
  }

  /** The boxes around the selected collective on all ranks in sight, from the corner of the canvas; that of the rank that came last is drawn
   * last. A folded row answers for the rows inside it. */
  instance(): { row: number; x: number; y: number; width: number; height: number; last: boolean }[] {
    const { details } = this.timeline.app.state;
    const { lens, height } = this.timeline;
    if (!details?.collective) return [];
    const { last } = details.collective;
    const calls = [...details.links.filter(({ kind, row, event }) => kind === MARKED && (row !== last?.row || event !== last.event)), ...(last ? [last] : [])];
    return calls.flatMap((call) => {
      const line = this.timeline.lineFor(call.row);
      if (!line || call.to < lens.from || call.from > lens.to) return [];
      const lane = line.drawn ? laneOf(this.timeline.tiles, line.drawn.id, call.row, call.event, call.from, call.to, lens) : null;
      const box = this.laneBox(line, lane);
      const top = RULER + (line.pinned ? 0 : this.timeline.layout.pinnedHeight);
      if (!box || box.y + box.height < top || box.y > height) return [];
      const x = Math.max(-3, lens.x(call.from));
      return [{ row: call.row, x, y: box.y, width: Math.max(2, Math.min(lens.width + 3, lens.x(call.to)) - x), height: box.height, last: call === last }];
    });
  }

  /** The arrows of the selected event, from the corner of the canvas. */
  arrows(): Arrow[] {
    const { details } = this.timeline.app.state;
    const { chain, lens } = this.timeline;
    const place = (row: number, event: number, from: number, to: number): Place | null => this.placeOf(row, event, from, to);
    if (chain) return chain.links.flatMap(({ kind, of, to }) => arrowOf(kind, of, to, lens, place) ?? []);
    return details ? arrowsOf(details, lens, place) : [];
  }

  private outline(surface: Surface, lens: Lens, row: number, event: number, from: number, to: number, weight: number): void {
    const line = this.timeline.lineFor(row);
    if (!line?.drawn || to < lens.from || from > lens.to) return;
    const lane = laneOf(this.timeline.tiles, line.drawn.id, row, event, from, to, lens);
    if (lane === null && line.drawn.id !== row) return;
    const box = this.laneBox(line, lane);
    if (!box || (!line.pinned && box.y < RULER + this.timeline.layout.pinnedHeight - line.height)) return;
    const left = Math.max(-3, lens.x(from));
    const right = Math.min(lens.width + 3, Math.max(left + 2, lens.x(to)));
    surface.strokeStyle = this.timeline.palette.accent;
    surface.lineWidth = weight;
    surface.strokeRect(left - weight / 2, box.y - weight / 2, right - left + weight, box.height + weight);
  }

  private laneBox(line: Line, lane: number | null): { y: number; height: number } | null {
    const top = this.timeline.topOf(line) + line.inset;
    if (lane === null) return { y: top, height: Math.max(1, line.height - 2 * line.inset) };
    const box = laneBox(line, lane, line.drawn ? this.timeline.firstLane(line.drawn.id) : 0);
    return box && { y: this.timeline.topOf(line) + box.top, height: Math.max(1, box.height - 1) };
  }

  /** The height at which an arrow meets an event. */
  private placeOf(row: number, event: number, from: number, to: number): Place | null {
    const line = this.timeline.lineFor(row);
    if (!line) return null;
    const lane = line.drawn ? laneOf(this.timeline.tiles, line.drawn.id, row, event, from, to, this.timeline.lens) : null;
    const box = ((lane !== null || line.drawn?.id === row) && this.laneBox(line, lane)) || { y: this.timeline.topOf(line), height: line.height };
    const middle = box.y + box.height / 2;
    const top = line.pinned ? RULER : RULER + this.timeline.layout.pinnedHeight;
    const y = Math.max(top + 3, Math.min(this.timeline.height - 3, middle));
    return { y, outside: y !== middle };
  }

  private paintSpanOnRuler(surface: Surface, lens: Lens): void {
    const span = this.timeline.draft ?? this.timeline.app.state.span;
    if (!span) return;
    const [left, right] = [Math.max(0, lens.x(span.from)), Math.min(lens.width, lens.x(span.to))];
    if (right <= left) return;
    surface.fillStyle = this.timeline.palette.accentSoft;
    surface.fillRect(left, 0, right - left, RULER);
    surface.fillStyle = this.timeline.palette.accent;
    surface.fillRect(left, RULER - 2, right - left, 2);
    const words = duration(span.to - span.from);
    surface.font = `600 ${FONT}`;
    const wide = surface.measureText(words).width;
    if (wide + 12 > right - left) return;
    surface.textAlign = "left";
    surface.textBaseline = "middle";
    surface.fillText(words, (left + right - wide) / 2, 9);
  }

  /** The present picture with the names of its rows, which are so wide, for paper: below a title with the report, its part in sight and a scale. */
  onPaper(heading: Heading, labels: number): Drawing {
    const shown = this.timeline.visible();
    const { height, width, lens } = this.timeline;
    const { about } = this.timeline.app.state;
    const words = `${duration(lens.to - lens.from)} from ${moment(lens.from)}`;
    return {
      width: width + labels,
      height: height + TITLE,
      title: `${about.name}, ${words} – Tacho`,
      draw: (surface) => {
        this.paintTitle(surface, about.name, words, width + labels);
        surface.save();
        surface.translate(labels, TITLE);
        surface.beginPath();
        surface.rect(0, 0, width, height);
        surface.clip();
        this.paint(surface, shown, 2, (columns) => columns.toSurface(surface));
        surface.restore();
        surface.save();
        surface.translate(0, TITLE);
        heading.picture(surface, shown, labels, height, this.timeline.palette);
        surface.restore();
      },
    };
  }

  /** The name of the report, the part in sight, and a bar that is as long as its label says. */
  private paintTitle(surface: Surface, name: string, words: string, width: number): void {
    const { palette, lens } = this.timeline;
    const step = tickStep(1 / lens.scale);
    const bar = step * lens.scale;
    surface.fillStyle = palette.paper;
    surface.fillRect(0, 0, width, TITLE);
    surface.textBaseline = "middle";
    surface.textAlign = "left";
    surface.fillStyle = palette.ink;
    surface.font = `600 ${FONT}`;
    surface.fillText(name.slice(0, 120), 10, TITLE / 2);
    const after = 10 + surface.measureText(name.slice(0, 120)).width + 12;
    surface.font = FONT;
    surface.fillStyle = palette.secondary;
    surface.fillText(words, after, TITLE / 2);
    const label = duration(step);
    const left = width - 12 - bar;
    surface.fillText(label, left - 8 - surface.measureText(label).width, TITLE / 2);
    surface.fillStyle = palette.ink;
    surface.fillRect(left, TITLE / 2, bar, 1);
    for (const x of [left, left + bar - 1]) surface.fillRect(x, TITLE / 2 - 4, 1, 9);
    surface.fillStyle = palette.line;
    surface.fillRect(0, TITLE - 1, width, 1);
  }
}
