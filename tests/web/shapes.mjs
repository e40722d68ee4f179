// Reports of odd shapes: nothing at all, one event, a moment, times before zero, many lanes at once, five thousand threads. Each
// opens, shows what it has, and can be moved in.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, finish, scratch, settled as pictured, shot, test, view } from "./lib.mjs";

const op = (name, tid, ts, dur) => ({ ph: "X", cat: "cpu_op", name, pid: 1, tid, ts, dur, args: { "External id": 1 } });

async function open(name, traceEvents) {
  const file = join(scratch(), `${name}.json`);
  writeFileSync(file, JSON.stringify({ schemaVersion: 1, baseTimeNanoseconds: 1_700_000_000_000_000_000, traceEvents }));
  const shown = await view(file, { viewport: { width: 1000, height: 600 } });
  const settled = (holds) => pictured(shown.page, holds, "named");
  const press = async (...keys) => {
    await shown.page.locator("canvas.tracks").focus();
    for (const key of keys) await shown.page.keyboard.press(key);
    return settled();
  };
  const close = async () => {
    for (const tab of await shown.page.locator(".dock-tab").all()) { // every panel opens on it
      if ((await tab.getAttribute("aria-selected")) === "false") await tab.click();
      await shown.page.locator(".panel:not([hidden]):not([aria-busy])").waitFor();
    }
    assert.deepEqual(shown.complaints, []);
    await shown.context.close();
    shown.child.kill();
  };
  return { ...shown, settled, press, close };
}
const times = ({ events }) => events.map(({ name, from, to }) => [name, to - from]).sort();

await test("a report of nothing says so, and every key is harmless", async () => {
  const { page, press, close } = await open("empty", []);
  await page.locator(".nothing").filter({ hasText: "no events" }).waitFor();
  const seen = await press("w", "s", "a", "d", "0", "z", "[", "]", "j", "k", "o", "Shift+o", "e", "p", ".", ",", ">", "<", "m", "h", "h", "PageDown", "Escape");
  assert.deepEqual([seen.rows, seen.events], [[], []]);
  await close();
});

await test("one event fills the view", async () => {
  const { page, settled, close } = await open("single", [op("only", 7, 100, 5)]);
  const { events, view: now } = await settled(({ events: list }) => list.length === 1);
  assert.deepEqual(times({ events }), [["only", 5000]]);
  assert.ok(events[0].w > 600, `${events[0].w} px wide`);
  assert.ok(now.from < 100_000 && now.to > 105_000);
  await page.locator("#tab-tables").click();
  await page.locator('#panel-tables option[value="torch_events"]').waitFor({ state: "attached" });
  assert.equal(await page.locator('#panel-tables option[value="gpu_idle_sum"]').count(), 0, "no GPU, no table of why it was idle");
  await page.locator("#tab-tables").click();
  await close();
});

await test("moments are drawn and can be chosen", async () => {
  const { page, settled, close } = await open("zero", [op("first", 7, 100, 0), op("second", 7, 101, 0), op("third", 7, 102, 0)]);
  const { events } = await settled(({ events: list }) => list.length === 3);
  assert.deepEqual(times({ events }), [["first", 0], ["second", 0], ["third", 0]]);
  const second = events.find(({ name }) => name === "second");
  await page.mouse.click(second.x + 1, second.y + 6);
  await page.locator("#panel-details .details-name .name").filter({ hasText: "second" }).waitFor();
  await close();
});

await test("times before zero keep their order and lengths", async () => {
  const { settled, close } = await open("negative", [op("early", 7, -500, 20), op("late", 7, 100, 30)]);
  const { events } = await settled(({ events: list }) => list.length === 2);
  assert.deepEqual(times({ events }), [["early", 20_000], ["late", 30_000]]);
  const [early, late] = ["early", "late"].map((wanted) => events.find(({ name }) => name === wanted));
  assert.equal(late.from - early.from, 600_000);
  await close();
});

await test("what overlaps gets a lane of its own; all of them can be reached", async () => {
  const nested = Array.from({ length: 30 }, (_, depth) => op(`depth ${depth}`, 7, 100 + depth, 1000 - 2 * depth));
  const { page, settled, press, close } = await open("lanes", nested);
  const few = await settled(({ events }) => events.length > 0);
  assert.ok(few.events.length < 30);
  const row = few.events[0].row;
  await page.locator(`.row[data-row="${row}"] .row-text`).click();
  await page.mouse.move(few.events[0].x + 50, few.events[0].y + 5);
  await page.keyboard.down("Alt");
  for (let i = 0; i < 30; i++) await page.mouse.wheel(0, 100);
  await page.keyboard.up("Alt");
  const last = await settled(({ events }) => events.some(({ lane }) => lane === 29));
  assert.equal(last.events.length, few.events.length, "the row has as many lanes as before, but others");
  await press("e");
  const all = await settled(({ events }) => events.length > few.events.length);
  assert.equal(all.rows.find(({ id }) => id === row).h > 30 * 15, true);
  await shot(page, "shapes-lanes");
  await close();
});

await test("five thousand threads scroll, filter and fold, and few of them exist at a time", async () => {
  const threads = Array.from({ length: 5000 }, (_, thread) => [op(`work ${thread}`, 10_000 + thread, thread, 50), op("again", 10_000 + thread, thread + 100, 50)]);
  const { page, settled, press, close } = await open("threads", threads.flat());
  const first = await settled(({ events }) => events.length > 0);
  assert.ok((await page.locator(".row").count()) < 100, "only what is in sight has elements");
  const bar = page.locator(".scrollbar");
  await bar.evaluate((element) => (element.scrollTop = element.scrollHeight));
  const end = await settled(({ rows }) => rows[0]?.id !== first.rows[0].id);
  assert.ok(end.events.some(({ name }) => name === "work 4999"), "the last thread is there");
  await press("r");
  await page.keyboard.type("12345");
  const found = await settled(({ rows }) => rows.length < 5);
  assert.ok(found.events.some(({ name }) => name === "work 2345"));
  await page.keyboard.press("Escape");
  await press("Shift+o");
  await settled(({ rows }) => rows.filter(({ pinned }) => !pinned).length === 1);
  await close();
});

await finish();
