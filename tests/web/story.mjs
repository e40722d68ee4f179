// Bookmarks as a story: each keeps its view, its words and its table as a question; a reader walks through them in the page of
// `tacho view` and in the one file that was exported with them. And "Copy as Markdown" of a view and of a table.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, finish, loadSource, openPage, report, scratch, settled, shot, test, until, view } from "./lib.mjs";

const MARKUP = '<img src=x onerror="window.caught=1"><script>window.caught=1</script>';
const tacho = (...words) => execFileSync(process.env.TACHO, words, { encoding: "utf8", maxBuffer: 1 << 28 });
const { keptNotes, readNotes } = await loadSource("engine/notes.ts");
const { code, markdownTable } = await loadSource("ui/markdown.ts");

await test("an old file of notes is read, and what is no note is left out", () => {
  const about = { origin: "1000", events: 7 };
  const old = { id: "1-2", time: 5, to: null, row: 3, text: "look", colour: 1 };
  assert.deepEqual(readNotes({ notes: [old, 7, null, [], { time: "x" }] }, about), [{ ...old, note: "", place: "", table: null }]);
  assert.deepEqual(readNotes([old], about).length, 1, "as browsers kept them before");
  const hostile = { ...old, id: '"><b>', place: 7, table: { report: "a b", part: { pid: "1" } }, note: { toString: 1 }, to: "2" };
  assert.deepEqual(readNotes({ notes: [hostile] }, about), [{ ...old, id: "note-0", note: "", place: "", table: null }]);
  const table = { report: "cuda_gpu_kern_sum", part: { device: 0 } };
  const kept = [{ ...old, note: "why", place: "v=10-20&s=12-14&e=3.4&p=tables&t=1.2", table }];
  assert.deepEqual(readNotes(JSON.parse(keptNotes(kept, about)), about), kept);
  const [moved] = readNotes(JSON.parse(keptNotes(kept, about)), { origin: "1004", events: 3 });
  assert.deepEqual(moved, { ...kept[0], time: 1, row: -1, place: "v=6-16&s=8-10&p=tables" }, "in a part of the report");
});

await test("a table in Markdown is aligned, and no cell is more than text", () => {
  const columns = [{ title: "Name", numeric: false }, { title: "Time", numeric: true }];
  const text = markdownTable(columns, [["a|b", "1.000\u202fms"], [MARKUP, "-"], ["`x` \\| @all", "3"], ["line\nbreak", ""]]);
  const lines = text.trimEnd().split("\n");
  assert.deepEqual(lines.slice(0, 3).map((line) => line.replace(/ +/g, " ")), ["| Name | Time |", `| ${"-".repeat(MARKUP.length + 2)} | ${"-".repeat(7)}: |`, "| `a\\|b` | 1.000\u00a0ms |"]);
  assert.ok(lines[3].includes(`\`${MARKUP}\``));
  assert.match(lines[4], /^\| <code>&#96;x&#96; &#92;&#124; &#64;all<\/code> /);
  assert.match(lines[5], /^\| `line break` /);
  for (const at of [0, 1, 2, 3, 4, 5]) assert.equal(lines[at].length, lines[0].length, lines[at]);
  assert.equal(code(""), "");
});

const file = report("nsys/resnet18.sqlite.gz");
const notesFile = `${file}.notes.json`;
const shown = await view(file);
const { page } = shown;
const onPage = (one) => ({
  press: async (key) => {
    await one.locator("canvas.tracks").focus();
    await one.keyboard.press(key);
  },
  story: one.locator(".story"),
  place: () => one.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1)))),
});
const { press, story, place } = onPage(page);
const panel = (name) => page.locator(`#panel-${name}`);
const clipboard = () => page.evaluate(() => navigator.clipboard.readText());

/** Bookmarks what is shown now. */
async function bookmark(title, note) {
  await press("b");
  await page.locator("#panel-notes li input:focus").fill(title);
  await page.keyboard.press("Enter");
  const words = page.locator("#panel-notes li textarea").last();
  await words.fill(note);
  await words.blur();
  await until(() => (existsSync(notesFile) ? readFileSync(notesFile, "utf8") : ""), (text) => text.includes(JSON.stringify(note)), "the note beside the report");
}

let [first, second] = [];
await test("a bookmark keeps the view, the words and the table that was open", async () => {
  await settled(page);
  await press("/");
  await page.locator(".search input:focus").fill("aten::conv2d");
  await page.keyboard.press("Enter");
  await panel("details").locator(".details-name").filter({ hasText: "conv2d" }).waitFor();
  await page.keyboard.press("Escape");
  await until(place, ({ e, q }) => e !== undefined && q !== undefined, "the event in the link");
  await settled(page);
  first = await place();
  await bookmark("The first convolution", "It runs\non the CPU.");
  await press("Escape"); // the event
  await press("0");
  await settled(page);
  const box = await page.locator("canvas.tracks").boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await press("t");
  if (!(await panel("tables").isVisible())) await press("t");
  await panel("tables").locator("select").first().selectOption("cuda_gpu_kern_sum");
  await page.locator("#panel-tables:not([aria-busy]) tbody tr[data-index]").first().waitFor();
  await until(place, ({ s, p }) => s !== undefined && p === "tables", "the span in the link");
  second = await place();
  await bookmark(MARKUP, `${MARKUP} javascript:alert(1)`);
  const { notes } = JSON.parse(readFileSync(notesFile, "utf8"));
  assert.deepEqual(notes.map(({ text }) => text), ["The first convolution", MARKUP]);
  assert.deepEqual(notes[1].table, { report: "cuda_gpu_kern_sum", part: {} });
  assert.ok(!readFileSync(notesFile, "utf8").includes("Instances"), "the numbers are not kept");
  await shot(page, "story-bookmarks");
});

const spot = ({ v, s, e, q }) => ({ v, s, e, q });

await test("the story is offered after a reload, and read with the keys", async () => {
  await page.evaluate(() => history.replaceState(null, "", "#"));
  await page.reload();
  await story.locator(".story-contents li").nth(1).waitFor();
  assert.equal(await story.locator("img").count(), 0);
  await shot(page, "story-offered");
  await press("Shift+B");
  await story.filter({ hasText: "1 of 2" }).filter({ hasText: "It runs" }).waitFor();
  await until(place, (now) => now.st !== undefined && now.e === first.e && now.v === first.v);
  assert.deepEqual(spot(await place()), spot(first));
  await shot(page, "story-first");
  await press("}");
  await story.filter({ hasText: "2 of 2" }).waitFor();
  await until(place, (now) => now.s === second.s && now.v === second.v && now.p === "tables");
  await page.locator("#panel-tables:not([aria-busy]) tbody tr[data-index]").first().waitFor();
  assert.equal(await panel("tables").locator(".report-name").textContent(), "cuda_gpu_kern_sum");
  await shot(page, "story-second");
  await press("}"); // there is none
  await press("{");
  await story.filter({ hasText: "1 of 2" }).waitFor();
  await press("Shift+B");
  await story.waitFor({ state: "hidden" });
  assert.equal(await page.evaluate(() => window.caught), undefined);
});

await test("bookmarks can be put in another order, and lose their table", async () => {
  await page.locator("#tab-notes").click();
  await panel("notes").getByRole("button", { name: "Move this bookmark down" }).first().click();
  await until(() => JSON.parse(readFileSync(notesFile, "utf8")).notes.map(({ text }) => text), (texts) => texts[0] === MARKUP);
  await panel("notes").getByRole("button", { name: "Move this bookmark up" }).last().click();
  await until(() => JSON.parse(readFileSync(notesFile, "utf8")).notes.map(({ text }) => text), (texts) => texts[1] === MARKUP);
});

await test("the view as Markdown: a link without the token, the event with its fields, the rows", async () => {
  await press("Shift+B");
  await panel("details").locator(".details-name").filter({ hasText: "conv2d" }).waitFor();
  await settled(page);
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await press("y");
  const text = await until(clipboard, (copied) => copied !== "", "the view on the clipboard");
  const token = new URL(shown.address).searchParams.get("token");
  assert.ok(!text.includes(token) && !text.includes("http:"), text);
  assert.match(text, /^### The first convolution\n\n> It runs\n> on the CPU\.\n/);
  assert.match(text, /`tacho view resnet18\.sqlite '#v=[^']*'`/);
  assert.match(text, /Selected: `aten::conv2d/);
  assert.match(text, /\n\| Field +\| Value +\|\n\| -+ \| -+ \|\n/);
  assert.match(text, /\nRows: `/);
});

await test("a table as Markdown has the rows that it shows", async () => {
  const rows = JSON.parse(tacho("stats", "-q", "-r", "cuda_gpu_kern_sum", "-f", "json", file));
  await press("Shift+B");
  await page.locator("#tab-tables").click();
  await press("Escape");
  await panel("tables").locator(".grid-tools [role=status]").filter({ hasText: new RegExp(`^${rows.length} rows`) }).waitFor();
  await panel("tables").getByRole("button", { name: "Markdown" }).click();
  await panel("tables").locator(".grid-tools [role=status]").filter({ hasText: "copied" }).waitFor();
  const lines = (await clipboard()).trimEnd().split("\n").filter((line) => line.startsWith("|"));
  assert.equal(lines.length, rows.length + 2);
  const names = lines.slice(2).map((line) => /^\| `(.*?)` /.exec(line)[1].replaceAll("\\|", "|"));
  assert.deepEqual(names, rows.map(({ Name }) => (Name.length > 500 ? `${Name.slice(0, 500)}…` : Name)));
});

if (existsSync(join(process.env.PAGE ?? "", "tacho.wasm"))) {
  const html = join(scratch(), "page.html");
  tacho("export", "-q", "-t", "html", "-o", html, file);

  await test("one file has the story, shows it at once, and asks nobody for anything", async () => {
    const asked = [];
    const { page: one, complaints } = await openPage(`file://${html}`, { offline: true });
    one.on("request", (request) => asked.push(request.url()));
    await one.reload();
    const { press: type, story: strip, place: where } = onPage(one);
    await strip.locator(".story-contents li").nth(1).waitFor();
    assert.equal(await strip.locator(".story-contents li").nth(1).textContent(), MARKUP);
    await shot(one, "story-one-file");
    await strip.getByRole("button", { name: "Read story" }).click();
    await strip.filter({ hasText: "It runs" }).waitFor();
    await until(where, (now) => now.e === first.e && now.v === first.v);
    await type("Shift+PageDown");
    await until(where, (now) => now.s === second.s && now.v === second.v);
    await one.locator("#panel-tables:not([aria-busy]) tbody tr[data-index]").first().waitFor();
    assert.equal(await one.evaluate(() => window.caught), undefined);
    assert.deepEqual(asked.filter((url) => !/^(file|blob|data):/.test(url)), []);
    assert.deepEqual(complaints, []);
  });

  await test("a part of the report has the story at its times", async () => {
    const part = join(scratch(), "part.html");
    tacho("export", "-q", "-t", "html", "--filter-time=20ms/", "-o", part, file);
    const { page: one } = await openPage(`file://${part}`);
    const { story: strip, place: where } = onPage(one);
    await strip.getByRole("button", { name: "Read story" }).click();
    await strip.getByRole("button", { name: /^Next/ }).click();
    const { s } = await until(where, (now) => now.s !== undefined);
    assert.equal(s, second.s); // both count from the moment of the tables
  });

  await test("a file that holds no notes is left alone, with a word", () => {
    const other = report("nsys/resnet18.sqlite.gz");
    writeFileSync(`${other}.notes.json`, "</script><script>window.caught=1</script>");
    const place = join(scratch(), "other.html");
    tacho("export", "-q", "-t", "html", "-o", place, other);
    assert.ok(!readFileSync(place, "utf8").includes("tacho-notes\">"), "it has no notes");
  });
}

await test("nothing went wrong in the browser", () => assert.deepEqual([shown.complaints, shown.refused], [[], []]));
await finish();
