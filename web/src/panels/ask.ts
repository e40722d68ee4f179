// When the page asks for what takes the engine long: the summary, the causes of idle GPUs and the advice. The first picture goes
// before them, quick figures go before long ones, and in a large report the long ones wait until the reader asks.

import type { App } from "../app";
import type { About, Summary } from "../engine/engine";
import { button, make } from "../ui/dom";

/** Reports of more events take longer than a few seconds, and a page in one file cannot draw meanwhile. */
const MOST_UNASKED = 20_000_000;
const asked = new WeakSet<About>();

/** Whether the long parts are under way, or there already. */
export function isAsked(about: About): boolean {
  return about.events <= MOST_UNASKED || asked.has(about);
}

async function read(app: App): Promise<void> {
  const { engine, about, rows } = app.state;
  const each = (summary: Summary): void => app.set({ summary });
  try {
    const quick = await engine.quickSummary();
    each(quick);
    if (!isAsked(about)) return;
    if (rows.some(({ type }) => type === "idle")) app.set({ idle: await engine.idle(quick.long) });
    await engine.summary(each);
    app.set({ advice: await engine.advice() });
  } catch (error) {
    app.fail(error as Error);
  }
}

export function askAtStart(app: App): void {
  if (!app.state.about.map) void app.firstPicture.then(() => read(app));
}

export function askForAll(app: App): void {
  asked.add(app.state.about);
  void read(app);
}

/** In place of the advice, until the rules have run. */
export function rulesPending(app: App, className: string): HTMLElement {
  if (isAsked(app.state.about)) return make("p", { class: className, role: "status" }, "Running the rules …");
  const run = button("Run the rules", () => {
    askForAll(app);
    pending.replaceWith(rulesPending(app, className));
  });
  const pending = make("p", { class: className }, "This report is large: the timeline may pause while the rules run. ", run);
  return pending;
}
