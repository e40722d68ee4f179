// Starts the page: finds the report, makes the state from it and from the link, and hands both to the timeline and the panels.
// The link follows the state, so that what is copied from the address bar shows the same spot.

import "./theme.css";

import { App, PLAIN_CHOICES, type Place, type State } from "./app";
import type { About, Engine, Row } from "./engine/engine";
import { openFile } from "./engine/files";
import { ranks } from "./engine/http";
import { openEngine } from "./engine/open";
import { listen, on } from "./keys";
import { isDark } from "./ui/colour";
import { make } from "./ui/dom";
import { listenForFiles, Welcome } from "./panels/drop";
import { isText, recall, remember } from "./ui/memory";
import { setToneVariables } from "./ui/tones";
import { mountPanels } from "./panels/panels";
import { opensAtStart } from "./panels/summary/summary_panel";
import { provideCommands } from "./timeline/commands";
import { provideHook } from "./timeline/hook";
import { confined, whole } from "./timeline/lens";
import { readPlace, writePlace } from "./timeline/place";
import { Pointer } from "./timeline/pointer";
import { Timeline } from "./timeline/timeline";
import { Tooltip } from "./timeline/tooltip";

const THEMES: readonly State["theme"][] = ["system", "light", "dark"];
const LINK_MS = 250;

const page = document.getElementById("page")!;
const welcome = new Welcome(open);
const dark = matchMedia("(prefers-color-scheme: dark)");
let present: { app: App; ended: AbortController } | null = null;

/** The place that a link names, with what is shown at first for what it does not say. */
function placeOf(hash: string, about: About, rows: readonly Row[]): Place {
  const highest = rows.reduce((most, { id }) => Math.max(most, id), -1);
  const given = readPlace(hash, highest + 1);
  const steps = rows.filter(({ type, parent }) => type === "steps" && parent === -1).map(({ id }) => id);
  return {
    view: given.view ? confined(given.view, about) : whole(about.focus),
    span: given.span ?? null,
    event: given.event ?? null,
    search: given.search ?? null,
    panel: given.panel ?? (given.view === undefined && opensAtStart(about) ? "summary" : null),
    list: given.list ?? null,
    top: given.top ?? null,
    chained: given.chained ?? false,
    chapter: given.chapter ?? null,
    choices: given.choices ?? { ...PLAIN_CHOICES, pinned: steps },
  };
}

async function stateOf(engine: Engine): Promise<State> {
  const [about, rows] = await Promise.all([engine.about(), engine.rows()]);
  const theme = THEMES.find((name) => name === recall("theme", isText, "system")) ?? "system";
  return { engine, about, rows, theme, ...placeOf(location.hash, about, rows), details: null, found: null, advice: null, idle: null, notes: [], ticks: null, measure: null, hover: null };
}

function paintTheme(theme: State["theme"]): void {
  document.documentElement.dataset["theme"] = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  setToneVariables(document.documentElement, isDark());
}

async function show(engine: Engine): Promise<void> {
  const app = new App(await stateOf(engine));
  present?.ended.abort();
  present?.app.state.engine.close();
  const ended = new AbortController();
  present = { app, ended };
  const some = ranks();
  document.title = `${app.state.about.name}${some === null ? "" : ` (${some})`} – Tacho`;
  followTheme(app, ended.signal);
  const timeline = new Timeline(app, ended.signal);
  const toolbar = make("header", {});
  const workspace = make("main", { class: "workspace" }, timeline.element);
  page.replaceChildren(toolbar, workspace);
  provideCommands(timeline, new Pointer(timeline, new Tooltip(timeline), ended.signal));
  provideHook(timeline);
  mountPanels({ toolbar, workspace, open }, app);
  followLink(app, ended.signal);
}

function followTheme(app: App, signal: AbortSignal): void {
  paintTheme(app.state.theme);
  // Before the timeline hears of it, so that it finds the page in its new colours.
  app.listen((changed) => {
    if (!changed.has("theme")) return;
    paintTheme(app.state.theme);
    remember("theme", app.state.theme);
  });
  dark.addEventListener("change", () => paintTheme(app.state.theme), { signal });
  on("theme", () => app.set({ theme: THEMES[(THEMES.indexOf(app.state.theme) + 1) % THEMES.length]! }));
}

/** The address after the state, and the state after an address that the reader changes by hand. */
function followLink(app: App, signal: AbortSignal): void {
  let timer = 0;
  let written = location.hash;
  app.linkOf = writePlace;
  app.goTo = (hash) => {
    const { event, ...place } = placeOf(hash, app.state.about, app.state.rows);
    app.set(place);
    app.select(event);
  };
  app.listen(() => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      if (signal.aborted || location.hash !== written) return; // what the reader wrote there is about to be followed
      const hash = `#${writePlace(app.state)}`;
      if (hash === written) return;
      history.replaceState(null, "", hash);
      written = location.hash;
    }, LINK_MS);
  });
  addEventListener(
    "hashchange",
    () => {
      if (location.hash === written) return;
      written = location.hash;
      app.goTo(location.hash);
    },
    { signal },
  );
}

/** A file that cannot be read leaves what was shown before. */
function open(file: File): void {
  const [before, shown] = [present, [...page.childNodes]];
  wait(`Reading ${file.name} …`);
  openFile(file).then((engine) => {
    history.replaceState(null, "", "#"); // the old report's spot means nothing in the new one
    return show(engine);
  }).catch((error: unknown) => {
    const told = new Error(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
    if (!before || before !== present || shown.includes(welcome.element)) return fail(told);
    page.replaceChildren(...shown);
    before.app.fail(told);
  });
}

function wait(sentence: string): void {
  welcome.say(sentence);
  page.replaceChildren(welcome.element);
}

function fail(error: unknown): void {
  wait(error instanceof Error ? error.message : String(error));
}

paintTheme("system");
listen(document);
listenForFiles(open);
openEngine().then((engine) => (engine ? show(engine) : page.replaceChildren(welcome.element))).catch(fail);
