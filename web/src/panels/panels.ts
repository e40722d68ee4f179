// Everything around the timeline: the toolbar above it, the dock with its panels, the boxes over it, and what their keys do.
// To add a panel is to add a file and a line here.

import "./panels.css";
import "./contents.css";

import type { App } from "../app";
import { ServerLost } from "../engine/http";
import { isMade } from "../engine/made_rows";
import { on } from "../keys";
import { AdvicePanel } from "./advice";
import { askAtStart } from "./ask";
import { DetailsPanel } from "./details";
import { AboutBox, Help, Toast } from "./dialogs";
import { Dock } from "./dock";
import { FlamePanel } from "./flame";
import { EventsPanel } from "./lists/events";
import { CommandPalette } from "./lists/command_palette";
import { ContextMenu } from "./lists/context_menu";
import { LostBanner } from "./lists/lost_banner";
import { MeasureBox } from "./lists/measure";
import { SelectionPanel } from "./lists/selection";
import { followTicks } from "./lists/ticks";
import { hasMatrix, MatrixPanel } from "./matrix";
import { NotesPanel } from "./notes";
import { ComparePanel } from "./compare";
import { hasSteps, StepsPanel } from "./steps";
import { Story } from "./story";
import { copyView } from "./view_markdown";
import { SearchBox, SearchPanel } from "./search";
import { SqlPanel } from "./sql";
import { SummaryPanel } from "./summary/summary_panel";
import { TablesPanel } from "./tables";
import { Toolbar } from "./toolbar";
import { copy } from "../ui/text";

export interface PanelPlaces {
  /** An empty element above the timeline. */
  toolbar: HTMLElement;
  /** The element that holds the timeline alone so far; the dock goes below or beside it. */
  workspace: HTMLElement;
  /** Opens another report in place of this one. */
  open: (file: File) => void;
}

export function mountPanels(places: PanelPlaces, app: App): void {
  const { workspace } = places;
  const toast = new Toast(workspace);
  app.fail = (error) => {
    if (!(error instanceof ServerLost)) toast.say(error.message); // the banner tells of that one
  };
  const search = new SearchBox();
  app.say = (sentence) => toast.say(sentence);
  const tables = new TablesPanel();
  const sql = new SqlPanel();
  const notes = new NotesPanel([tables, sql]);
  const story = new Story(app, [tables, sql]);
  const matrix = hasMatrix(app.state.about) ? [new MatrixPanel((report) => tables.choose(report))] : [];
  const steps = hasSteps(app.state) ? [new StepsPanel()] : [];
  const compare = app.state.about.other === undefined ? [] : [new ComparePanel()];
  if (compare.length > 0 && !/[#&]p=/.test(location.hash)) app.set({ panel: "compare" }); // what two runs are opened for
  const dock = new Dock([...compare, new SummaryPanel(), new DetailsPanel(), new EventsPanel(), new SelectionPanel(), tables, ...steps, ...matrix, new FlamePanel(), new SearchPanel(search), sql, notes, new AdvicePanel()]);
  const about = new AboutBox(workspace, app);
  new Toolbar(search, () => about.toggle(), places.open).mount(places.toolbar, app);
  dock.mount(workspace, app);
  story.mount(workspace);
  on("copy-markdown", () => copyView(app, workspace.querySelector(".dock")));
  listenToKeys(app, dock, search, notes, new Help(workspace));
  openWithSelection(app, workspace);
  askForMarks(app, story);
  followTicks(app);
  new MeasureBox(app, workspace);
  new LostBanner(app, workspace);
  new ContextMenu(app, workspace);
  new CommandPalette(app, workspace, (report) => tables.choose(report));
  on("copy-link", () => {
    const link = `${location.href.replace(/#.*/, "")}#${app.linkOf(app.state)}`;
    const made = app.state.rows.some(({ id }) => isMade(id)) ? " The link does not contain rows made from queries." : "";
    copy(link).then(() => app.say(`Copied the link to this view.${made}`), (error: Error) => app.fail(error));
  });
}

function listenToKeys(app: App, dock: Dock, search: SearchBox, notes: NotesPanel, help: Help): void {
  on("help", () => help.toggle());
  on("search", () => search.focus());
  on("match-next", () => void search.step(false));
  on("match-previous", () => void search.step(true));
  on("bookmark", () => notes.add());
  on("list-same", () => {
    const { event } = app.state;
    if (event) app.listEvents({ of: "same", ...event, inSpan: false });
  });
  for (const name of ["summary", "details", "events", "tables", "flame", "advice", "sql", "matrix", "steps", "compare"] as const) on(`panel-${name}`, () => dock.toggle(name, app));
}

/** What is selected on the timeline opens the panel that tells of it; who works in a panel, or chose another one, keeps it. */
function openWithSelection(app: App, workspace: HTMLElement): void {
  app.listen((changed) => {
    const { event, span, panel } = app.state;
    const free = panel === null || (["summary", "details", "tables", "selection"].includes(panel) && !workspace.querySelector(".dock")?.contains(document.activeElement));
    if (!free) return;
    if (changed.has("event") && event) app.set({ panel: "details" });
    else if (changed.has("span") && span) app.set({ panel: span.rows ? "selection" : "tables" });
  });
}

/** Bookmarks and advice, which the timeline draws too. */
function askForMarks(app: App, story: Story): void {
  app.state.engine.notes().then(
    (notes) => {
      app.set({ notes });
      story.open();
    },
    (error: Error) => app.fail(error),
  );
  askAtStart(app);
}
