// Steps below each other: the strips are compared with sums of the report's events, asked for in SQL; a click goes to the step; ten
// thousand steps scroll. And two runs: `tacho view A B` shows the differences that `tacho diff` prints.

import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, finish, openPage, report, scratch, settled, shot, skip, test, until, view } from "./lib.mjs";

const tacho = (...words) => execFileSync(process.env.TACHO, words, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
const sql = (file, statement) => JSON.parse(tacho("sql", "-f", "json", file, statement));
const ask = (page, request) => page.evaluate((what) => fetch(`api/${what}`, { headers: { "X-Tacho-Token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()), request);

/** The parts of a span, each moment once: kernels before communication before copies. */
function partsOf(work, from, to) {
  const moments = [...new Set(work.flatMap(({ start, end }) => [start, end]).filter((time) => time > from && time < to).concat(from, to))].sort((a, b) => a - b);
  const sums = [0, 0, 0];
  const inside = work.filter(({ start, end }) => start < to && end > from).sort((a, b) => a.start - b.start);
  for (let i = 1; i < moments.length; i++) {
    const kinds = inside.filter(({ start, end }) => start < moments[i] && end > moments[i - 1]).map(({ part }) => part);
    if (kinds.length > 0) sums[Math.min(...kinds)] += moments[i] - moments[i - 1];
  }
  return sums;
}

function workOf(file, origin) {
  const at = (rows, part) => rows.map(({ start, end, name }) => ({ start: Number(BigInt(start) - origin), end: Number(BigInt(end) - origin), part: name?.startsWith("nccl") ? 1 : part }));
  const tables = sql(file, "SELECT name FROM sqlite_schema WHERE name LIKE 'CUPTI_ACTIVITY_KIND_MEM%'").map(({ name }) => name).filter((name) => /MEMCPY$|MEMSET$/.test(name));
  return [
    ...at(sql(file, "SELECT CAST(k.start AS TEXT) AS start, CAST(k.end AS TEXT) AS end, s.value AS name FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName"), 0),
    ...tables.flatMap((table) => at(sql(file, `SELECT CAST(start AS TEXT) AS start, CAST(end AS TEXT) AS end FROM ${table}`), 2)),
  ];
}

const resnet = report("nsys/resnet18.sqlite.gz");
const one = await view(resnet);
const press = async (page, key) => {
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press(key);
};
const listed = (page, holds) => until(() => page.locator("#panel-steps .strips").evaluate((list) => ({ ...list.dataset, height: list.clientHeight })), holds, "the steps");

await test("strips are the sums of the events of each step", async () => {
  const { page } = one;
  const about = await ask(page, "about");
  const work = workOf(resnet, BigInt(about.origin));
  const { strips, total, bin, median } = await ask(page, "steps?bins=50");
  assert.equal(total, about.steps.count);
  const lengths = strips.map(({ items: [item] }) => item.to - item.from).sort((a, b) => a - b);
  assert.equal(median.to - median.from, lengths[Math.floor((lengths.length - 1) / 2)]);
  for (const { items: [item] } of strips) {
    const parts = partsOf(work, item.from, item.to);
    assert.deepEqual([item.compute, item.communication, item.copies], parts, item.name);
    assert.equal(item.idle, item.to - item.from - parts.reduce((a, b) => a + b));
    for (const at of [0, 7, 23]) {
      const [from, to] = [item.from + at * bin, Math.min(item.to, item.from + (at + 1) * bin)];
      if (from < to) assert.deepEqual(item.bins.slice(at * 3, at * 3 + 3), partsOf(work, from, to), `${item.name}, bin ${at}`);
    }
  }
});

await test("a click on a strip goes to its step, and so do the keys", async () => {
  const { page } = one;
  await press(page, "Shift+T");
  const { strip, axis, left } = await listed(page, ({ total }) => Number(total) === 2);
  const box = await page.locator("#panel-steps .strips").boundingBox();
  await page.mouse.move(box.x + Number(left) + 50, box.y + Number(axis) + Number(strip) * 1.5);
  await page.locator("#panel-steps .tip").filter({ hasText: "iteration11" }).filter({ hasText: "compute" }).waitFor();
  await shot(page, "steps");
  await page.mouse.click(box.x + Number(left) + 50, box.y + Number(axis) + Number(strip) * 1.5);
  await page.locator("#timeline-live").filter({ hasText: "iteration11" }).waitFor({ state: "attached" });
  await page.locator("#panel-steps .strips").focus();
  await page.keyboard.press("ArrowDown");
  await page.locator("#panel-steps [role=status].offscreen").filter({ hasText: "iteration10" }).waitFor({ state: "attached" });
  await page.keyboard.press("Enter");
  await page.locator("#timeline-live").filter({ hasText: "iteration10" }).waitFor({ state: "attached" });
  const { view: now } = await settled(page);
  const { strips } = await ask(page, "steps?bins=1");
  const item = strips[0].items[0];
  assert.ok(now.from <= item.from && now.to >= item.to && now.to - now.from < 2 * (item.to - item.from), "all of the step, and little else");
  assert.deepEqual([one.complaints, one.refused], [[], []]);
});

await test("ten thousand steps scroll to the last, and the slow one comes first when asked for", async () => {
  const STEPS = 10_000, SLOW = 7321;
  const events = [{ ph: "M", name: "process_name", pid: 1, tid: 0, args: { name: "train" } }];
  for (let i = 0, ts = 1000; i < STEPS; i++) {
    const dur = i === SLOW ? 190 : 90 + (i % 7);
    events.push({ ph: "X", cat: "user_annotation", name: `ProfilerStep#${i}`, pid: 1, tid: 1, ts, dur, args: {} });
    events.push({ ph: "X", cat: "kernel", name: "gemm", pid: 0, tid: 7, ts: ts + 10, dur: 40, args: { device: 0, stream: 7, correlation: i + 1 } });
    ts += dur + 5;
  }
  const file = join(scratch(), "many.json");
  writeFileSync(file, JSON.stringify({ schemaVersion: 1, deviceProperties: [{ id: 0, name: "GPU" }], traceEvents: events }));
  const { page, complaints } = await view(file);
  await press(page, "Shift+T");
  const { strip, height } = await listed(page, ({ total }) => Number(total) === STEPS);
  await page.locator("#panel-steps .strips").focus();
  await page.keyboard.press("End");
  const said = page.locator("#panel-steps [role=status].offscreen");
  await until(async () => {
    await page.keyboard.press("ArrowDown"); // its words come with the strips
    return said.textContent();
  }, (words) => words.includes(`ProfilerStep#${STEPS - 1}`));
  assert.ok((await page.locator("#panel-steps .strips").evaluate((list) => list.scrollTop)) > (STEPS - height) * Number(strip) * 0.9, "it scrolled");
  await page.locator("#panel-steps").getByLabel("Order").selectOption("duration");
  await listed(page, ({ total }) => Number(total) === STEPS);
  await page.locator("#panel-steps .strips").focus();
  await page.keyboard.press("Home");
  await until(() => said.textContent(), (words) => words.includes(`ProfilerStep#${SLOW}`));
  await shot(page, "steps-many");
  assert.deepEqual(complaints, []);
});

if (existsSync(join(process.env.PAGE ?? "", "tacho.wasm"))) {
  await test("one file has the same strips", async () => {
    const place = join(scratch(), "page.html");
    tacho("export", "-q", "-t", "html", "-o", place, resnet);
    const { page, complaints } = await openPage(`file://${place}`);
    await page.waitForFunction(() => window.tachoTest !== undefined);
    await press(page, "Shift+T");
    await listed(page, ({ total }) => Number(total) === 2);
    await page.locator("#panel-steps .strips").focus();
    await page.keyboard.press("ArrowDown");
    const { strips } = await ask(one.page, "steps?bins=1");
    const words = await until(() => page.locator("#panel-steps [role=status].offscreen").textContent(), (text) => text !== "");
    assert.ok(words.includes(`compute ${(strips[0].items[0].compute / 1e6).toPrecision(4)} ms`), words);
    assert.deepEqual(complaints, []);
  });
}

const [before, after] = ["NoWorkers-faulty.tacho", "NoWorkers-fixed.tacho"].map((name) => report(`pairs/${name}`));
const two = await view(before, {}, after).catch((error) => skip(error.message)); // serve() puts the first operand last

await test("two runs: the differences are those of tacho diff", async () => {
  const { page } = two;
  const about = await ask(page, "about");
  assert.deepEqual([about.name, about.other].sort(), ["NoWorkers-faulty.tacho", "NoWorkers-fixed.tacho"]);
  const [first, second] = about.name === "NoWorkers-faulty.tacho" ? [before, after] : [after, before];
  const table = page.locator("#panel-compare");
  await table.locator("tbody tr[data-index]").first().waitFor();
  await shot(page, "compare");
  for (const name of ["run_sum", "cuda_gpu_kern_sum", "cuda_api_sum"]) {
    const rows = JSON.parse(tacho("diff", "-q", "-f", "json", "-r", name, first, second));
    const list = Array.isArray(rows) ? rows : rows[name];
    const answer = await ask(page, `diff?report=${name}&limit=100000`);
    const key = ({ name: title, unit }) => title + ({ ns: " (ns)", percent: " (%)", bytes: " (B)", megabytes: " (MB)", time: " (ns)" }[unit] ?? "");
    const told = answer.rows.map((row) => Object.fromEntries(answer.columns.map((column, at) => [key(column), typeof row[at] === "number" && column.kind === "real" ? Number(row[at].toFixed(column.decimals)) : row[at]])));
    assert.ok(told.length > 0, name);
    assert.deepEqual(told, list, name);
  }
  await table.getByLabel("Table").selectOption("cuda_gpu_kern_sum");
  await table.locator(".report-name").filter({ hasText: "cuda_gpu_kern_sum" }).waitFor();
});

await test("their steps stand in pairs, and a strip of the other run leads to it", async () => {
  const { page } = two;
  const { strips, total } = await ask(page, "steps?by=runs&order=duration&bins=1&count=200");
  const counts = await Promise.all([0, 1].map((run) => ask(page, `steps?run=${run}&bins=1&count=0`)));
  assert.equal(total, Math.max(...counts.map((answer) => answer.total)), "steps of the same place are pairs: their names repeat");
  const slower = strips.filter(({ items }) => items.length === 2).map(({ items: [a, b] }) => b.to - b.from - (a.to - a.from));
  assert.deepEqual(slower, [...slower].sort((a, b) => b - a));
  await press(page, "Shift+T");
  const { strip, axis, left } = await listed(page, (list) => Number(list.total) === total);
  await shot(page, "steps-two-runs");
  const box = await page.locator("#panel-steps .strips").boundingBox();
  await page.mouse.click(box.x + Number(left) + 5, box.y + Number(axis) + Number(strip) * 1.5);
  await page.waitForURL(/[?&]run=1/);
  await page.waitForFunction(() => window.tachoTest !== undefined);
  const { name, other } = await ask(page, "about?run=1");
  assert.equal(other, undefined);
  assert.ok((await page.title()).includes(name));
  await page.getByRole("link", { name: "First run" }).click();
  await page.waitForURL((url) => !url.searchParams.has("run"));
  await page.getByRole("link", { name: "Other run" }).waitFor();
  assert.deepEqual([two.complaints, two.refused], [[], []]);
});

await test("reports that options of a job name are shown as one set, with a step of each", async () => {
  const { page } = await view(before, {}, "--clock=none", after);
  const { name, other } = await ask(page, "about");
  assert.equal(other, undefined, name);
  const { total } = await ask(page, "steps?by=ranks&step=3");
  assert.equal(total, 2);
});

await finish();
