// Arrows from the selected event to what it is linked with: a call and its kernels, a record and its wait, forward and
// backward, a send and its receive. A folded row answers for the rows inside it; what is out of sight is pointed at from the edge.

import type { Event, EventDetails } from "../engine/engine";
import type { Surface } from "../ui/surface";
import type { Lens } from "./lens";
import type { Palette } from "./palette";

/** More arrows than these say nothing any more. */
export const MOST_LINKS = 150;
const HEAD = 5;

/** Links whose arrow goes to the selected event, since the other comes first. */
const INWARD = new Set(["launched-by", "waits-for", "forward", "lock-holder", "message-from"]);
/** Links that are marked where they are: no arrow leads from one rank of a collective to the others. */
export const MARKED = "collective";

export interface Place {
  y: number;
  /** Above or below what is seen. */
  outside: boolean;
}

export interface Arrow {
  kind: string;
  fromX: number;
  fromY: number;
  toX: number;
  toY: number;
  /** Which way its head points: 1 to the right, -1 to the left when what it points at lies out of sight there. */
  way: 1 | -1;
}

type PlaceOf = (row: number, event: number, from: number, to: number) => Place | null;

/** The arrow between an event and one that it is linked with; null where both are out of sight. */
export function arrowOf(kind: string, of: Event, to: Event, lens: Lens, place: PlaceOf): Arrow | null {
  const here = place(of.row, of.event, of.from, of.to);
  const there = here && place(to.row, to.event, to.from, to.to);
  if (!here || !there || (here.outside && there.outside)) return null;
  const inward = INWARD.has(kind);
  const [first, second] = inward ? [to, of] : [of, to];
  // An arrow leaves at the start of a call, for the call itself may wait for what it started.
  const fromX = edge(lens, first.from);
  const toX = edge(lens, second.from);
  const way = lens.x(second.from) < 0 ? -1 : 1;
  return { kind, fromX, toX, way, fromY: (inward ? there : here).y, toY: (inward ? here : there).y };
}

export function arrowsOf(details: EventDetails, lens: Lens, place: PlaceOf): Arrow[] {
  const links = details.links.filter(({ kind }) => kind !== MARKED).slice(0, MOST_LINKS);
  return links.flatMap((link) => arrowOf(link.kind, details, link, lens, place) ?? []);
}

function edge(lens: Lens, time: number): number {
  return Math.max(2, Math.min(lens.width - 2, lens.x(time)));
}

export function drawArrows(surface: Surface, arrows: readonly Arrow[], palette: Palette): void {
  surface.strokeStyle = palette.accent;
  surface.fillStyle = palette.accent;
  surface.lineWidth = 1.25;
  surface.globalAlpha = arrows.length > 20 ? 0.45 : 0.9;
  for (const { fromX, fromY, toX, toY, way } of arrows) {
    const bend = Math.max(16, Math.min(120, Math.abs(toX - fromX) / 2));
    surface.beginPath();
    surface.moveTo(fromX, fromY);
    surface.bezierCurveTo(fromX + way * bend, fromY, toX - way * bend, toY, toX - way * HEAD, toY);
    surface.stroke();
    surface.beginPath();
    surface.moveTo(toX, toY);
    surface.lineTo(toX - way * (HEAD + 2), toY - HEAD + 1);
    surface.lineTo(toX - way * (HEAD + 2), toY + HEAD - 1);
    surface.closePath();
    surface.fill();
    surface.beginPath();
    surface.arc(fromX, fromY, 2.5, 0, 2 * Math.PI);
    surface.fill();
  }
  surface.globalAlpha = 1;
}
