// Reports at the edges: nothing in them, one event, events without a length, times before zero, thousands of threads. The page opens,
// every panel does, and nothing is complained about.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, finish, scratch, shot, test, view } from "./lib.mjs";

const operator = (name, ts, dur, tid = 1) => ({ ph: "X", cat: "cpu_op", name, pid: 1, tid, ts, dur, args: {} });

/** Shows a trace of PyTorch's profiler with these events, and goes through all panels. */
async function show(name, traceEvents) {
  const file = join(scratch(), `${name}.json`);
  writeFileSync(file, JSON.stringify({ schemaVersion: 1, traceEvents }));
  const shown = await view(file);
  const { page } = shown;
  await page.waitForFunction(() => window.tachoTest.seen().pending === 0);
  for (const panel of ["details", "tables", "flame", "search", "sql", "notes", "advice"]) {
    await page.locator(`#tab-${panel}`).click();
    await page.locator(`#panel-${panel}:not([aria-busy])`).waitFor();
  }
  await shot(page, `edges-${name}`);
  assert.deepEqual(shown.complaints, []);
  return { ...shown, seen: await page.evaluate(() => window.tachoTest.seen()) };
}

/** Finds an event by its name and gives the words of its details. */
async function details(page, name) {
  await page.locator(".search input").fill(name);
  await page.keyboard.press("Enter");
  await page.locator("#tab-details").click();
  await page.locator("#panel-details .name").filter({ hasText: name }).waitFor();
  return page.locator("#panel-details .details-facts").textContent();
}

await test("nothing", async () => {
  const { seen, page } = await show("nothing", []);
  assert.deepEqual(seen.events, []);
  await page.locator("canvas.tracks").focus();
  for (const key of ["w", "s", "a", "d", "0", "z", ".", ",", "n", "b"]) await page.keyboard.press(key);
  assert.ok(Number.isFinite((await page.evaluate(() => window.tachoTest.seen().view)).from));
});

await test("one event, without a length", async () => {
  const { seen, page } = await show("one", [operator("alone", 1000, 0)]);
  assert.deepEqual(seen.events.map(({ from, to }) => [from, to]), [[0, 0]]);
  assert.match(await details(page, "alone"), /^0 ns at 0\.000/);
});

await test("times before zero, and two events at the same moment", async () => {
  const { seen, page } = await show("before", [operator("early", -5000.5, 100), operator("twin", 0, 7), operator("twin", 0, 7, 2)]);
  const times = seen.events.map(({ from, to }) => [from, to]).sort(([a], [b]) => a - b);
  assert.deepEqual(times, [[0, 100_000], [5_000_500, 5_007_500], [5_000_500, 5_007_500]]); // since the first event
  assert.match(await details(page, "early"), /^100\.0 µs/);
});

await test("five thousand threads", async () => {
  const threads = Array.from({ length: 5000 }, (_, index) => operator(`work ${index}`, 1000 + index, 500, index + 1));
  const { seen, page } = await show("threads", threads);
  assert.ok(seen.rows.length > 0 && seen.rows.length < 200, `${seen.rows.length} rows are in sight`);
  assert.match(await details(page, "work 4321"), /^500\.0 µs/);
  await page.waitForFunction(() => window.tachoTest.seen().events.some(({ name }) => name === "work 4321"));
});

await finish();
