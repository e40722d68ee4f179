// Lists of events and their figures: against the SQLite file that the report comes from, in the panel, on the overview strip and in a link.
import { execFileSync } from "node:child_process";
import { assert, finish, report, settled, shot, skip, test, until, view } from "./lib.mjs";

const file = report("nsys/resnet18.sqlite.gz");

/** Rows of the truth: the profiler's own tables. */
function truth(statement) {
  try {
    return JSON.parse(execFileSync("sqlite3", ["-json", file, statement], { encoding: "utf8", maxBuffer: 1 << 28 }) || "[]");
  } catch (error) {
    if (error.code === "ENOENT") skip("sqlite3 is not installed");
    throw error;
  }
}

const shown = await view(file, {}, "--port", "0");
const { page } = shown;
const token = new URL(shown.address).searchParams.get("token");
async function ask(request) {
  const response = await fetch(`${new URL(shown.address).origin}/api/${request}`, { headers: { "X-Tacho-Token": token } });
  return { status: response.status, answer: await response.json() };
}
const { answer: { origin } } = await ask("about");
const { answer: { rows } } = await ask("rows");
const streams = rows.filter(({ type }) => type === "stream").map(({ id }) => id).join(",");
const KERNELS = "SELECT k.start AS start, k.end AS end, s.value AS name FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName";
const kernels = truth(KERNELS).map(({ start, end, name }) => ({ from: Number(BigInt(start) - BigInt(origin)), to: Number(BigInt(end) - BigInt(origin)), name }));
const common = truth(`SELECT name, COUNT(*) AS n FROM (${KERNELS}) GROUP BY name ORDER BY n DESC LIMIT 1`)[0];

await test("pages by duration and by name are those of the tables", async () => {
  const text = encodeURIComponent(common.name);
  const longest = kernels.filter(({ name }) => name === common.name).sort((a, b) => b.to - b.from - (a.to - a.from) || a.from - b.from);
  for (const offset of [0, 5, longest.length - 3]) {
    const { answer } = await ask(`events?text=${text}&mode=exact&case=1&rows=${streams}&sort=duration&down=1&offset=${offset}&limit=10`);
    assert.equal(answer.total, longest.length);
    assert.deepEqual(answer.events.map(({ from, to }) => [from, to]), longest.slice(offset, offset + 10).map(({ from, to }) => [from, to]));
  }
  const span = { from: kernels[100].from, to: kernels[400].to };
  const inside = kernels.filter(({ from, to }) => from < span.to && to > span.from);
  const { answer } = await ask(`events?text=&mode=substring&rows=${streams}&from=${span.from}&to=${span.to}&limit=10000`);
  assert.equal(answer.events.filter(({ name }) => kernels.some((kernel) => kernel.name === name)).length, inside.length);
});

await test("one of its name: number, median, percentile and bars", async () => {
  const text = encodeURIComponent(common.name);
  const all = kernels.filter(({ name }) => name === common.name).sort((a, b) => a.from - b.from);
  const { answer: { events: [event] } } = await ask(`events?text=${text}&mode=exact&case=1&rows=${streams}&offset=7&limit=1`);
  const { answer } = await ask(`siblings?row=${event.row}&event=${event.event}`);
  const lengths = all.map(({ from, to }) => to - from).sort((a, b) => a - b);
  assert.equal(answer.count, all.length);
  assert.equal(answer.position, 7);
  assert.equal(answer.median, lengths[Math.floor((lengths.length - 1) / 2)]);
  assert.equal(answer.shorter, lengths.filter((length) => length < event.to - event.from).length);
  assert.equal(answer.bars.reduce((sum, bar) => sum + bar.count, 0), all.length);
  for (const bar of answer.bars) {
    assert.equal(bar.count, lengths.filter((length) => length >= bar.from && length <= bar.to).length);
    const { answer: listed } = await ask(`events?same=${event.row},${event.event}&least=${bar.from}&most=${bar.to}&limit=0`);
    assert.equal(listed.total, bar.count);
  }
});

await test("the figures of a selection: events, sum, union and names", async () => {
  const { answer } = await ask(`selection?rows=${streams}`);
  const named = answer.names.find(({ name }) => name === common.name);
  const own = kernels.filter(({ name }) => name === common.name);
  assert.equal(named.count, own.length);
  assert.equal(named.total, own.reduce((sum, { from, to }) => sum + to - from, 0));
  const work = ["KERNEL", "MEMCPY", "MEMSET"].map((kind) => `CUPTI_ACTIVITY_KIND_${kind}`).filter((table) => truth(`SELECT name FROM sqlite_schema WHERE name = '${table}'`).length > 0);
  const all = work.flatMap((table) => truth(`SELECT start, end FROM ${table}`)).sort((a, b) => a.start - b.start);
  let [busy, until] = [0, -Infinity];
  for (const { start, end } of all) {
    busy += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  assert.equal(answer.count, all.length);
  assert.equal(answer.busy, busy);
});

await test("what is wrong is said", async () => {
  assert.deepEqual(await ask("events?sort=colour"), { status: 400, answer: { error: "sort=colour: must be start, duration, name or row" } });
  assert.equal((await ask("events?same=9999,1")).status, 404);
  assert.equal((await ask("siblings?row=0&event=99999999")).status, 404);
});

const status = () => page.locator("#panel-events .events-status").textContent();

await test("a search says which match is selected, and ticks stand on the overview", async () => {
  await settled(page);
  await page.keyboard.press("/");
  await page.keyboard.type(common.name.slice(0, 30));
  const box = page.locator(".search-result");
  await until(() => box.textContent(), (text) => /^\d+$/.test(text.replace(/\s/g, "")));
  await page.keyboard.press("Enter");
  const first = await until(() => box.textContent(), (text) => / of /.test(text));
  await page.keyboard.press("Enter");
  const [, number, all] = /^(\S+) of (\S+)$/.exec(await until(() => box.textContent(), (text) => / of /.test(text) && text !== first));
  assert.equal(Number(number), Number(/^\S+/.exec(first)[0]) + 1);
  assert.ok(Number(all) >= common.n);
  await settled(page, ({ ticks }) => ticks > 0);
});

await test("the list has the matches, marks the selected one, sorts, and selects what is clicked", async () => {
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("Escape");
  await page.locator("#tab-search").click();
  await page.getByRole("button", { name: "List events" }).click();
  await until(status, (text) => /^\S+ of \S+$|events$/.test(text));
  await page.locator(".event-table th[data-sort=duration] button").click();
  const lines = page.locator(".event-table tbody tr");
  const longest = async () => (await ask(`events?text=${encodeURIComponent(common.name.slice(0, 30))}&sort=duration&down=1&limit=3`)).answer.events;
  const [, second] = await longest();
  await until(() => lines.nth(1).locator("td").nth(2).getAttribute("title"), (title) => title === `${second.to - second.from} ns`, "the second longest");
  await lines.nth(1).click();
  await until(status, (text) => text.startsWith("2 of "));
  const place = new URLSearchParams(new URL(await until(() => page.url(), (url) => url.includes(`e=${second.row}.${second.event}`))).hash.slice(1));
  assert.equal(place.get("l"), "search");
  assert.equal(place.get("p"), "events");
  await shot(page, "events");
  await page.locator(".event-table .grid-scroll").focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await until(status, (text) => /^(\S+) of \1$/.test(text));
});

await test("details have the histogram, and a bar lists its events", async () => {
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("i");
  const bars = page.locator(".histogram .bar-button");
  await until(() => bars.count(), (count) => count > 1);
  const own = page.locator(".histogram .own");
  const [, events] = /^(\S+) events? from/.exec(await own.getAttribute("title"));
  await shot(page, "histogram");
  await own.focus();
  await page.keyboard.press("Enter");
  await until(status, (text) => new RegExp(`of ${events}$|^${events} events?$`).test(text), `${events} events`);
  await until(() => page.url(), (url) => /p=events/.test(url));
});

await test("a link opens the same list", async () => {
  const url = await until(() => page.url(), (text) => /l=same/.test(text));
  const words = await until(status, (text) => / of /.test(text));
  await page.goto("about:blank");
  await page.goto(url);
  await page.waitForFunction(() => window.tachoTest !== undefined);
  await until(status, (text) => text === words, words);
});

assert.deepEqual(shown.complaints, []);
await finish();
