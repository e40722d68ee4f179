// What the keys of the groups Move, Rows and Events do.

import { isMade } from "../engine/made_rows";
import { on } from "../keys";
import { remember } from "../ui/memory";
import type { Event, FindQuery, Row, Span } from "../engine/engine";
import { moved, whole, zoomed } from "./lens";
import type { Pointer } from "./pointer";
import { RULER } from "./ruler";
import type { Timeline } from "./timeline";

const ZOOM = 0.65;
const PAN = 0.15;
const PAGE = 0.9;
const SCROLL_PAGE = 0.8;

export function provideCommands(timeline: Timeline, pointer: Pointer): void {
  moves(timeline, pointer);
  rows(timeline, pointer);
  events(timeline, pointer);
}

function moves(timeline: Timeline, pointer: Pointer): void {
  const { app, motion, history } = timeline;
  const zoom = (factor: number) => (): void => timeline.glide(zoomed(motion.goal, pointer.time, factor));
  const pan = (share: number) => (): void => timeline.glide(moved(motion.goal, share));
  on("zoom-in", zoom(ZOOM));
  on("zoom-out", zoom(1 / ZOOM));
  on("pan-left", pan(-PAN));
  on("pan-right", pan(PAN));
  on("page-left", pan(-PAGE));
  on("page-right", pan(PAGE));
  on("fit", () => timeline.glide(whole(app.state.about)));
  on("view-back", () => go(history.back()));
  on("view-forward", () => go(history.forward()));
  on("zoom-selection", () => {
    const { span, details } = app.state;
    const chosen: Span | null = span ?? details;
    if (!chosen) return;
    const air = Math.max(1, (chosen.to - chosen.from) * 0.04);
    timeline.glide({ from: chosen.from - air, to: chosen.to + air });
  });
  function go(view: Span | null): void {
    if (view) app.set({ view });
  }
}

function rows(timeline: Timeline, pointer: Pointer): void {
  const { app, tree } = timeline;
  const focused = (run: (row: Row) => void) => (): void => {
    const row = tree.byId.get(timeline.focusedRow);
    if (row) run(row);
  };
  const step = (by: number) => (): void => {
    const order = [...timeline.layout.pinned, ...timeline.layout.lines];
    const at = order.findIndex(({ row }) => row.id === timeline.focusedRow);
    const next = order[Math.max(0, Math.min(order.length - 1, at + by))];
    if (!next) return;
    timeline.focus(next.row.id);
    timeline.reveal(next.row.id);
    if (timeline.rowList.element.contains(document.activeElement)) requestAnimationFrame(() => timeline.rowList.focusRow(next.row.id));
  };
  const page = (share: number) => (): void => timeline.scrollBy(share * (timeline.height - RULER));
  on("row-up", step(-1));
  on("row-down", step(1));
  on("rows-page-up", page(-SCROLL_PAGE));
  on("rows-page-down", page(SCROLL_PAGE));
  on("row-fold", focused((row) => timeline.tree.of(row.id).length > 0 && timeline.fold(row)));
  on("row-open", focused((row) => {
    if (app.state.about.map && timeline.openRank(row, pointer.time, false)) return;
    if (timeline.tree.of(row.id).length > 0) timeline.fold(row);
  }));
  on("list-row", focused((row) => app.listEvents({ of: "rows", rows: [row.id], inSpan: true })));
  on("row-remove", focused((row) => {
    if (!isMade(row.id)) return;
    if (app.state.event?.row === row.id) app.select(null);
    app.state.engine.made.remove(row.id);
    timeline.choose({ pinned: app.state.choices.pinned.filter((id) => id !== row.id) });
    app.set({ rows: app.state.rows.filter(({ id }) => id !== row.id) });
  }));
  on("row-expand", focused((row) => timeline.expand(row)));
  on("row-pin", focused((row) => timeline.pin(row)));
  on("rows-hide-empty", () => timeline.choose({ hideEmpty: !app.state.choices.hideEmpty }));
  on("rows-fold-all", () => {
    const parents = app.state.rows.filter(({ id }) => tree.of(id).length > 0);
    const { toggled } = app.state.choices;
    const open = parents.some((row) => row.open !== toggled.includes(row.id));
    timeline.choose({ toggled: parents.filter((row) => row.open === open).map(({ id }) => id) });
  });
  const move = (by: number) =>
    focused((row) => {
      const pinned = app.state.choices.pinned;
      if (pinned.includes(row.id)) {
        const order = pinned.filter((id) => id !== row.id);
        order.splice(Math.max(0, pinned.indexOf(row.id) + by), 0, row.id);
        timeline.choose({ pinned: order });
        return;
      }
      const siblings = tree.of(row.parent);
      const at = siblings.indexOf(row);
      if (at + by < 0 || at + by >= siblings.length) return;
      const before = siblings[by < 0 ? at - 1 : at + 2];
      timeline.choose({ moved: [...app.state.choices.moved, [row.id, before?.id ?? -1]] });
    });
  on("row-move-up", move(-1));
  on("row-move-down", move(1));
}

function events(timeline: Timeline, pointer: Pointer): void {
  const { app } = timeline;
  const fail = (error: Error): void => app.fail(error);
  /** Events of a lane are numbered by their start, so that the neighbour's number is known. */
  const neighbour = (by: number) => (): void => {
    const { event, engine } = app.state;
    if (!event) {
      first();
      return;
    }
    const next = event.event + by;
    const count = timeline.tree.byId.get(event.row)?.events ?? 0;
    if (next < 0 || next >= count) return;
    engine.event(event.row, next).then((details) => app.select(details, details), fail);
  };
  /** With nothing selected: what the focused row has at the pointer, or near the middle. */
  const first = (): void => {
    const line = timeline.lineFor(timeline.focusedRow);
    if (!line?.drawn) return;
    const { view, engine } = app.state;
    engine.at(line.drawn.id, Math.round(pointer.time), line.slots[0]?.lane ?? 0, Math.ceil(view.to - view.from)).then((found) => app.select(found), fail);
  };
  const same = (back: boolean) => (): void => {
    const { details, engine } = app.state;
    if (!details) return;
    const query: FindQuery = timeline.sameName === null ? { text: details.name, mode: "exact", case: true } : { name: timeline.sameName };
    engine.next(query, details.from, back, details).then((event: Event | null) => event && app.select(event, event), fail);
  };
  on("wheel", () => {
    pointer.wheelZooms = !pointer.wheelZooms;
    remember("wheel", pointer.wheelZooms ? "zoom" : "scroll");
    app.say(pointer.wheelZooms ? "The wheel zooms." : "The wheel scrolls the rows. Ctrl and the wheel zoom.");
  });
  on("select-rows", () => {
    const { span, view, about } = app.state;
    const { from, to } = span ?? { from: Math.max(about.from, Math.floor(view.from)), to: Math.min(about.to, Math.ceil(view.to)) };
    app.set({ span: { from, to, rows: [timeline.focusedRow] }, panel: "selection" });
  });
  on("event-next", neighbour(1));
  on("event-previous", neighbour(-1));
  on("same-next", same(false));
  on("same-previous", same(true));
  on("focus-chain", () => timeline.toggleChain());
  on("span-event", () => {
    const { details } = app.state;
    if (details) app.set({ span: { from: details.from, to: Math.max(details.to, details.from + 1) } });
  });
  on("clear", () => {
    // One thing at a time, the last made first: the measure, the focus, the span, then the event, then the panel, then the search.
    if (app.state.measure) app.set({ measure: null });
    else if (app.state.chained) app.set({ chained: false });
    else if (app.state.span) app.set({ span: null });
    else if (app.state.event) app.select(null);
    else if (app.state.panel) app.set({ panel: null });
    else if (app.state.search) app.set({ search: null });
  });
}
