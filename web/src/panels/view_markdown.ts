// The present view as Markdown for an issue tracker: where it is and how to open it, the selected event with its fields, the rows in
// sight, and the first rows of the table that is open.

import type { App, State } from "../app";
import type { EventDetails } from "../engine/engine";
import { ranks, token } from "../engine/http";
import { code, markdownTable, plain } from "../ui/markdown";
import { copy, cut } from "../ui/text";
import { duration, moment } from "../units";
import { fieldTitle, fieldWords } from "./details";
import { gridIn } from "./grid";
import { pathOf } from "./parts";

const ROWS = 20;
const FIELDS = 30;
const TABLE_ROWS = 20;

const quoted = (word: string): string => (/^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** How to come here again. Never the address of `tacho view`: it contains the token, which is nobody else's. */
function wayTo(app: App): string {
  const { state } = app;
  const hash = `#${app.linkOf(state)}`;
  if (token() === null && location.protocol.startsWith("http")) return `<${location.href.replace(/#.*/, "")}${hash}>`;
  const some = ranks();
  if (token() !== null) return code(`tacho view ${some === null ? "" : `--filter-rank ${some} `}${quoted(state.about.name)} '${hash.replaceAll("'", "%27")}'`);
  return code(`${decodeURIComponent(location.pathname.replace(/.*\//, ""))}${hash}`);
}

function eventLines(state: State, details: EventDetails): string[] {
  const fields = details.fields.slice(0, FIELDS).map((field) => [fieldTitle(field), cut(fieldWords(field), 200)]);
  return [
    `Selected: ${code(cut(details.text || details.name, 500))}, ${plain(duration(details.to - details.from))} at ${plain(moment(details.from))}, on ${code(pathOf(state.rows, details.row))}\n`,
    markdownTable([{ title: "Field", numeric: false }, { title: "Value", numeric: false }], fields),
  ];
}

export function viewMarkdown(app: App, open: Element | null): string {
  const { state } = app;
  const { about, view, span, details, search, notes, chapter } = state;
  const read = notes.find(({ id }) => id === chapter);
  const length = (what: { from: number; to: number }): string => plain(`${duration(what.to - what.from)} from ${moment(what.from)}`);
  const rows = app.rowsInSight();
  const lines = [`### ${plain(read?.text || about.name)}\n`];
  if (read && read.note.trim() !== "") lines.push(`${read.note.split("\n").map((line) => `> ${plain(line)}`).join("\n")}\n`);
  lines.push(`${code(about.name)}: ${length(view)}${span ? `; selected span: ${length(span)}` : ""}${search?.text ? `; search: ${code(search.text)}` : ""}\n`);
  lines.push(`${wayTo(app)}\n`);
  if (details) lines.push(...eventLines(state, details));
  if (rows.length > 0) lines.push(`Rows: ${rows.slice(0, ROWS).map((row) => code(cut(row.label, 100))).join(", ")}${rows.length > ROWS ? ", …" : ""}\n`);
  const table = gridIn(open)?.markdown(TABLE_ROWS) ?? "";
  if (table !== "") lines.push(table);
  return lines.join("\n");
}

export function copyView(app: App, open: Element | null): void {
  copy(viewMarkdown(app, open)).then(() => app.say("Copied the view as Markdown."), (error: Error) => app.fail(error));
}
