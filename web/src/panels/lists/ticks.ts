// Ticks on the overview strip: where the matches of the search are, or the events of one name while they are listed.

import type { App } from "../../app";
import type { EventFilter, FindQuery } from "../../engine/engine";
import { Latest } from "../panel";

/** About one for each pixel of the strip. */
const BINS = 1024;

/** search: the one whose matches are known; the next one may be half typed. */
function wanted(app: App, search: FindQuery | null): EventFilter | null {
  const { panel, list, found } = app.state;
  if (panel === "events" && list?.of === "same") {
    const { row, event, least, most } = list;
    return { same: { row, event }, ...(least === undefined ? {} : { least }), ...(most === undefined ? {} : { most }) };
  }
  return search && found && found.total > 0 ? { search } : null;
}

export function followTicks(app: App): void {
  const latest = new Latest();
  let shown = "null";
  let search: FindQuery | null = null;
  app.listen((changed) => {
    if (!(["panel", "list", "found"] as const).some((part) => changed.has(part))) return;
    if (changed.has("found")) search = app.state.found && app.state.search;
    const filter = wanted(app, search);
    if (JSON.stringify(filter) === shown) return;
    shown = JSON.stringify(filter);
    const ask = latest.of(async (signal) => (filter ? await app.state.engine.events(filter, { limit: 0, bins: BINS }, signal) : null));
    ask.then(
      (page) => page !== undefined && app.set({ ticks: page && { bins: page.bins ?? [], of: BINS } }),
      () => app.set({ ticks: null }), // a pattern that is half typed
    );
  });
}
