// The timeline on a real capture (resnet18's training, as nsys recorded it), moved by mouse and keys: what is drawn is compared
// with what SQL says of the same file.

import { execFileSync } from "node:child_process";
import { assert, finish, inFirefox, loadSource, report, settled as pictured, shot, test, until, view } from "./lib.mjs";

const { Palette } = await loadSource("timeline/palette.ts");
const { KINDS } = await loadSource("timeline/kinds.ts");
const file = report("nsys/resnet18.sqlite.gz");
const sql = (statement) => JSON.parse(execFileSync(process.env.TACHO, ["sql", "-f", "json", file, statement], { encoding: "utf8", maxBuffer: 1 << 28 }));
const shown = await view(file, { hasTouch: !inFirefox });
const { page } = shown;
const seen = () => page.evaluate(() => window.tachoTest.seen());
const ask = (request) => page.evaluate((words) => fetch(`api/${words}`, { headers: { "X-Tacho-Token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()), request);
const { origin } = await ask("about");
const { rows } = await ask("rows");
const rowOf = (type, more = () => true) => rows.find((row) => row.type === type && more(row));
const box = await page.locator("canvas.tracks").boundingBox();

const settled = (holds) => pictured(page, holds);
const otherView = ({ view: { from, to } }) => ({ view: now }) => now.from !== from || now.to !== to;
/** With the first rows in sight. */
async function top() {
  await go(around);
  return press("PageUp", "PageUp", "PageUp", "PageUp");
}
async function press(...keys) {
  await page.locator("canvas.tracks").focus();
  for (const key of keys) await page.keyboard.press(key);
  return settled();
}
/** Opens a spot as a colleague's link does. */
async function go(hash) {
  await page.waitForFunction(() => { // the address follows the view a moment later; one that it has already is no change
    const { from, to } = window.tachoTest.seen().view;
    return location.hash === "" || location.hash.includes(`v=${Math.round(from)}-${Math.round(to)}`);
  });
  const [, from, to] = /v=(-?\d+)-(-?\d+)/.exec(hash).map(Number);
  await page.evaluate((place) => (location.hash = place), hash);
  return settled(({ view: now }) => Math.abs(now.from - from) < 1 && Math.abs(now.to - to) < 1);
}
async function wheel(dx, dy, ...held) {
  const before = await seen();
  for (const key of held) await page.keyboard.down(key);
  await page.mouse.wheel(dx, dy);
  for (const key of held) await page.keyboard.up(key);
  return settled(otherView(before));
}
async function drag(from, to, ...held) {
  for (const key of held) await page.keyboard.down(key);
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move((from[0] + to[0]) / 2, (from[1] + to[1]) / 2, { steps: 3 });
  await page.mouse.move(...to, { steps: 3 });
  await page.mouse.up();
  for (const key of held) await page.keyboard.up(key);
  return settled();
}
const length = ({ view: { from, to } }) => to - from;
const near = (a, b, slack, words) => assert.ok(Math.abs(a - b) <= slack, `${words}: ${a}, expected ${b} ± ${slack}`);
const labels = async () => (await seen()).rows.filter(({ pinned }) => !pinned).map(({ id }) => id);

const busy = sql("SELECT min(start) AS first, max(end) AS last FROM CUPTI_ACTIVITY_KIND_KERNEL")[0];
const since = (time) => Number(BigInt(time) - BigInt(origin));
const middle = Math.round((since(busy.first) + since(busy.last)) / 2);
const around = `v=${middle - 1_000_000}-${middle + 1_000_000}`;

await test("it opens at the work of the GPU, which is a part of the report, GPUs above processes", async () => {
  const { view: now, rows: lines } = await settled();
  const { from, to } = await ask("about");
  const work = since(busy.last) - since(busy.first);
  assert.ok(work < (to - from) / 2, "the kernels are most of the report, so that there is nothing to see here");
  assert.ok(now.from <= since(busy.first) && now.to >= since(busy.last), JSON.stringify(now));
  assert.ok(work > 0.8 * (now.to - now.from), `${work} ns of kernels in ${JSON.stringify(now)}`);
  const kinds = lines.filter(({ pinned }) => !pinned).map(({ type }) => type);
  assert.ok(kinds.indexOf("gpu") < kinds.indexOf("process"), kinds.join());
  await shot(page, "timeline-whole");
});

await test("every kernel of a stretch is drawn, where and as long as it was", async () => {
  const { events, rows: lines, view: now } = await go(around);
  const stream = lines.find(({ type }) => type === "stream").drawn;
  const drawn = events.filter(({ row }) => row === stream);
  const wanted = sql(`SELECT start, end, value AS name FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName
    WHERE start <= ${BigInt(origin) + BigInt(Math.floor(now.to))} AND end >= ${BigInt(origin) + BigInt(Math.ceil(now.from))} ORDER BY start`);
  assert.ok(wanted.length > 10, `${wanted.length} kernels`);
  for (const { start, end, name } of wanted) {
    const found = drawn.find((event) => event.from === since(start) && event.to === since(end));
    assert.ok(found, `${name} at ${since(start)} is not drawn`);
    const scale = box.width / length({ view: now });
    near(found.x, box.x + Math.max(0, (since(start) - now.from) * scale), 1, `${name} begins`);
  }
  await shot(page, "timeline-stretch");
});

await test("the wheel zooms at the pointer, w and s too", async () => {
  const x = box.x + box.width * 0.7;
  await page.mouse.move(x, box.y + 200);
  const timeAt = ({ view: { from, to } }) => from + ((to - from) * (x - box.x)) / box.width;
  const before = await settled();
  const closer = await wheel(0, -240);
  assert.ok(length(closer) < length(before) * 0.8);
  near(timeAt(closer), timeAt(before), length(before) * 0.002, "the moment under the pointer");
  const closest = await press("w");
  assert.ok(length(closest) < length(closer));
  near(timeAt(closest), timeAt(before), length(before) * 0.002, "the moment under the pointer");
  assert.ok(length(await press("s", "s", "s")) > length(before));
});

await test("a, d, arrows and Shift with the wheel move in time", async () => {
  const start = await go(around);
  const later = await press("d");
  assert.ok(later.view.from > start.view.from);
  near(length(later), length(start), 1e-3 * length(start), "the length");
  near((await press("a")).view.from, start.view.from, 1, "back");
  assert.ok((await press("ArrowRight")).view.from > start.view.from);
  assert.ok((await wheel(0, 200, "Shift")).view.from > later.view.from);
});

await test("two fingers scroll the rows, a pinch zooms", async () => {
  await go(around);
  await page.setViewportSize({ width: 1280, height: 360 });
  const before = await settled();
  await page.mouse.move(box.x + 300, box.y + 100);
  const still = await page.evaluate(() => performance.now());
  await page.waitForFunction((since) => performance.now() - since > 300, still); // a gesture is over when nothing came for a while
  for (let i = 0; i < 8; i++) await page.mouse.wheel(0, 20);
  const scrolled = await settled(({ rows: [line] }) => line.id !== before.rows[0].id || line.y !== before.rows[0].y);
  near(length(scrolled), length(before), 1, "the length");
  await page.setViewportSize({ width: 1280, height: 800 });
  assert.ok(length(await wheel(0, -10, "Control")) < length(before));
});

const chromiumOnly = (name, body) => (inFirefox ? console.log(`not in Firefox, for want of DevTools' protocol: ${name}`) : test(name, body));
await chromiumOnly("one finger moves, two zoom", async () => {
  const before = await go(around);
  const session = await shown.context.newCDPSession(page);
  const touch = (type, ...points) => session.send("Input.dispatchTouchEvent", { type, touchPoints: points.map((x, id) => ({ x: box.x + x, y: box.y + 300, id })) });
  await touch("touchStart", 600);
  for (const x of [580, 540, 500]) await touch("touchMove", x);
  await touch("touchEnd");
  const moved = await settled(otherView(before));
  near(moved.view.from - before.view.from, (100 / box.width) * length(before), length(before) * 0.01, "moved by");
  await touch("touchStart", 500, 600);
  for (const x of [20, 50, 100]) await touch("touchMove", 500 - x, 600 + x);
  await touch("touchEnd");
  near(length(await settled(otherView(moved))), length(before) / 3, length(before) * 0.02, "three times closer");
});

await test("fit, back and forward", async () => {
  const rested = ({ view: now, rested: kept }) => kept !== null && now.from === kept.from && now.to === kept.to;
  const close = await go(around);
  await settled(rested);
  const all = await press("0");
  assert.ok(length(all) > length(close) * 10);
  await settled(rested);
  near(length(await press("[")), length(close), 1, "back");
  near(length(await press("Alt+ArrowRight")), length(all), 1, "forward");
});

await test("down to the nanosecond, and no further than can be seen", async () => {
  await go(around);
  await page.mouse.move(box.x + box.width / 2, box.y + 200);
  for (let i = 0; i < 45; i++) await page.keyboard.press("w");
  const deep = await settled();
  assert.ok(length(deep) <= 10 && length(deep) > 0, `${length(deep)} ns`);
  assert.ok(deep.events.length > 0, "what goes on then is still drawn");
  await shot(page, "timeline-nanoseconds");
});

await test("a drag selects a span, z zooms to it, Escape lets go", async () => {
  const before = await go(around);
  await drag([box.x + box.width * 0.25, box.y + 300], [box.x + box.width * 0.5, box.y + 300]);
  await page.waitForFunction(() => /[#&]s=/.test(location.hash));
  const zoomed = await press("z");
  near(zoomed.view.from, before.view.from + length(before) * 0.25, length(before) * 0.03, "begins");
  near(length(zoomed), length(before) * 0.25, length(before) * 0.04, "length");
  await shot(page, "timeline-span");
  await press("Escape", "Escape", "Escape");
  await page.waitForFunction(() => !/[#&]s=/.test(location.hash));
});

await test("Shift and a drag move the picture", async () => {
  const before = await go(around);
  const after = await drag([box.x + 600, box.y + 300], [box.x + 400, box.y + 300], "Shift");
  near(after.view.from - before.view.from, (200 / box.width) * length(before), length(before) * 0.01, "moved by");
  assert.ok(!/[#&]s=/.test(await page.evaluate(() => location.hash)), "no span is made");
});

await test("the minimap has the colours of kinds: kernels for GPUs, running for threads", async () => {
  const painted = () => page.evaluate(() => {
    const canvas = document.querySelector(".minimap canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const counts = new Map();
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) counts.set(data.slice(at, at + 3).join(), (counts.get(data.slice(at, at + 3).join()) ?? 0) + 1);
    return [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  });
  const palette = new Palette(false);
  const colours = ["Kernel", "Running"].map((name) => palette.kind(KINDS.findIndex((kind) => kind.name === name)).match(/\d+/g).join());
  await until(painted, (most) => colours.every((colour) => most.slice(0, 2).includes(colour)), `${colours} to be the colours of the minimap`);
});

await test("the minimap's window follows the view and moves it", async () => {
  const before = await go(around);
  const strip = await page.locator(".minimap").boundingBox();
  const window = await page.locator(".minimap-window").boundingBox();
  const at = [window.x + window.width / 2, strip.y + 20];
  const after = await drag(at, [at[0] - 100, at[1]]);
  const { from, to } = await ask("about");
  near(before.view.from - after.view.from, (100 / strip.width) * (to - from) * 1.02, (to - from) * 0.01, "moved by");
  await drag([strip.x + strip.width * 0.2, strip.y + 20], [strip.x + strip.width * 0.4, strip.y + 20]);
  near(length(await settled()), (to - from) * 0.2 * 1.02, (to - from) * 0.01, "a window drawn anew");
});

await test("rows fold and unfold by click and key; a folded one shows what is below it", async () => {
  await top();
  const gpu = rowOf("gpu");
  const below = new Set(rows.filter((row) => row.parent === gpu.id).map(({ id }) => id));
  assert.ok((await labels()).some((id) => below.has(id)));
  await page.locator(`.row[data-row="${gpu.id}"] .row-fold`).click();
  const folded = await settled();
  assert.ok(!folded.rows.some(({ id }) => below.has(id)));
  const line = folded.rows.find(({ id }) => id === gpu.id);
  assert.equal(line.drawn, gpu.id);
  const inside = (id) => id === gpu.id || (id >= 0 && inside(rows.find((one) => one.id === id).parent));
  const [event] = folded.events.filter(({ row, y, w }) => inside(row) && y >= line.y && y < line.y + line.h && w > 3);
  assert.ok(event, "events of the rows below are drawn");
  assert.ok(folded.dense.some(({ row, work }) => row === gpu.id && work === 1), "and the share of kernels");
  assert.equal(await page.locator(`.row[data-row="${gpu.id}"]`).getAttribute("aria-expanded"), "false");
  await page.locator(`.row[data-row="${gpu.id}"]`).click();
  await press("o");
  assert.ok((await labels()).some((id) => below.has(id)));
});

await test("the legend has the kinds of the rows in sight, and highlights one", async () => {
  await top();
  const { rows: lines } = await settled();
  const shown = lines.filter(({ drawn }) => drawn !== null).flatMap(({ drawn }) => rows.find(({ id }) => id === drawn).kinds);
  const listed = await page.locator(".legend-kind").evaluateAll((chips) => chips.map(({ dataset }) => Number(dataset.kind)));
  assert.deepEqual(listed, [...new Set(shown)].filter((kind) => kind < 11).sort((a, b) => a - b));
  const types = new Set(lines.filter(({ drawn }) => drawn !== null).map(({ drawn }) => rows.find(({ id }) => id === drawn).type));
  assert.ok(types.has("state"), "the state of a thread is in sight");
  assert.deepEqual(await page.locator(".legend-state").allTextContents(), ["Runnable", "Blocked", ...(types.has("gil") ? ["Waits for the GIL"] : [])]);
  const kernel = page.locator(".legend-kind", { hasText: "Kernel" });
  await kernel.click();
  await settled();
  assert.equal(await kernel.getAttribute("aria-pressed"), "true");
  await kernel.click();
  await settled();
  assert.equal(await kernel.getAttribute("aria-pressed"), "false");
});

await test("a pinned row stays on top while the others scroll, and its link too", async () => {
  const stream = rowOf("stream");
  await top();
  await page.locator(`.row[data-row="${stream.id}"] .row-text`).first().click();
  await press("p");
  await page.setViewportSize({ width: 1280, height: 360 });
  await press("PageDown", "PageDown", "PageDown");
  const { rows: lines } = await settled();
  const pinned = lines.find(({ id, pinned: is }) => id === stream.id && is);
  assert.ok(pinned && pinned.y < box.y + 100, JSON.stringify(pinned));
  await page.waitForFunction((id) => new RegExp(`[#&]pin=[\\d.]*\\b${id}\\b`).test(location.hash), stream.id);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.locator(`.row-part.pinned .row[data-row="${stream.id}"] .row-pin`).click();
  assert.ok(!(await settled()).rows.some(({ id, pinned: is }) => id === stream.id && is));
});

await test("rows change places by keys and by dragging", async () => {
  const threads = rows.filter(({ type, parent }) => type === "thread" && parent === rowOf("process").id).map(({ id }) => id);
  await top();
  await press("Shift+o"); // all folded, so that all threads are in sight once their process is unfolded
  await page.locator(`.row[data-row="${rowOf("process").id}"] .row-fold`).click();
  await settled(({ rows: lines }) => lines.some(({ id }) => threads.includes(id)));
  const order = async () => (await labels()).filter((id) => threads.includes(id));
  const [first, second] = await order();
  await page.locator(`.row[data-row="${first}"] .row-text`).click();
  await press("Alt+ArrowDown");
  assert.deepEqual((await order()).slice(0, 2), [second, first]);
  await press("Alt+ArrowUp");
  assert.deepEqual((await order()).slice(0, 2), [first, second]);
  const from = await page.locator(`.row[data-row="${second}"] .row-text`).boundingBox();
  const to = await page.locator(`.row[data-row="${first}"]`).boundingBox();
  await drag([from.x + 10, from.y + 8], [to.x + 60, to.y + 2]);
  assert.deepEqual((await order()).slice(0, 2), [second, first]);
});

await test("the filter keeps what is asked for, and hide empty what has events here", async () => {
  await go(around);
  await press("r");
  await page.keyboard.type("NVTX");
  await page.waitForFunction(() => /[#&]r=NVTX/.test(location.hash));
  const parents = new Set(rows.map(({ parent }) => parent));
  const leaves = (await settled()).rows.filter(({ id, pinned }) => !pinned && !parents.has(id));
  assert.ok(leaves.length > 0);
  for (const { id } of leaves) {
    const path = [];
    for (let row = rows.find((one) => one.id === id); row; row = rows.find((one) => one.id === row.parent)) path.push(`${row.label} ${row.detail}`);
    assert.match(path.join(), /nvtx/i);
  }
  await page.keyboard.press("Escape");
  const filled = ({ events, dense }) => new Set([...events, ...dense].map(({ row }) => row));
  const before = await top();
  const vain = before.rows.filter(({ id }) => rows.find((row) => row.id === id).kind === "slices" && !filled(before).has(id));
  assert.ok(vain.length > 0, "some row has nothing here");
  const after = await press("h");
  for (const { id, y, h } of after.rows) {
    const row = rows.find((one) => one.id === id);
    if (row.kind !== "slices") continue;
    assert.ok(filled(after).has(id), `${row.label} is empty at ${y}, ${h} high`);
  }
  await press("h");
});

await test("pointing at a kernel tells its name and length; a click selects it and says so", async () => {
  const { events, rows: lines } = await go(around);
  const stream = lines.find(({ type }) => type === "stream").drawn;
  const kernel = events.filter(({ row, x }) => row === stream && x > box.x + 50).sort((a, b) => b.w - a.w)[0];
  await page.mouse.move(kernel.x + kernel.w / 2, kernel.y + 6);
  await page.locator(".tip").filter({ hasText: kernel.name.slice(0, 60) }).waitFor();
  assert.match(await page.locator(".tip-main").textContent(), /(ns|µs|ms)$/);
  await page.mouse.click(kernel.x + kernel.w / 2, kernel.y + 6);
  await page.waitForFunction(({ row, event }) => location.hash.includes(`e=${row}.${event}`), kernel);
  await page.locator("#timeline-live").filter({ hasText: kernel.name.slice(0, 60) }).waitFor({ state: "attached" });
  const { arrows } = await settled();
  const call = arrows.find(({ kind }) => kind === "launched-by");
  assert.ok(call, "an arrow comes from the call");
  assert.ok(call.fromX <= call.toX, "which was before it");
  await shot(page, "timeline-kernel");
});

await test("all of a name light up with the one that is selected", async () => {
  const { events } = await go(around);
  const pairs = events.filter(({ w, x }) => w > 4 && x > box.x + 20 && x < box.x + box.width - 40);
  const first = pairs.find((one) => pairs.some((other) => other.row === one.row && other.nameId === one.nameId && other.event !== one.event));
  const second = pairs.find((other) => other.row === first.row && other.nameId === first.nameId && other.event !== first.event);
  const pixel = () => page.evaluate(({ x, y }) => {
    const canvas = document.querySelector("canvas.tracks");
    const { left, top } = canvas.getBoundingClientRect();
    return [...canvas.getContext("2d").getImageData((x - left + 2) * devicePixelRatio, (y - top + 2) * devicePixelRatio, 1, 1).data].join();
  }, second);
  const before = await pixel();
  await page.mouse.click(first.x + first.w / 2, first.y + 6);
  await page.waitForFunction(({ row, event }) => location.hash.includes(`e=${row}.${event}`), first);
  await page.mouse.move(box.x + 5, box.y + 5);
  await until(pixel, (now) => now !== before, "another colour");
  await press("Escape", "Escape");
  await until(pixel, (now) => now === before, "the colour that it had");
});

await test("advice on the ruler explains itself, and a click goes to what it is about", async () => {
  await go(around);
  await press("0");
  const { marks } = await settled(({ marks: list }) => list.some(({ kind }) => kind === "advice"));
  const mark = marks.find(({ kind }) => kind === "advice");
  await page.mouse.move(mark.x + Math.min(mark.w, 4) / 2, mark.y);
  const tip = page.locator(".tip").filter({ hasText: /\w{3}/ });
  await tip.waitFor();
  assert.ok((await page.locator(".tip-main").textContent()).length > 10, "it says why");
  await page.mouse.click(mark.x + Math.min(mark.w, 4) / 2, mark.y);
  await page.waitForFunction(() => /[#&][es]=/.test(location.hash));
});

await test("an arrow to a folded row goes to the row around it", async () => {
  const gpu = rowOf("gpu");
  const { rows: lines, events } = await top();
  const api = lines.find(({ type }) => type === "cuda-api").drawn;
  const call = events.find(({ row, name, w, x }) => row === api && /LaunchKernel/.test(name ?? "") && w > 1 && x > box.x + 20);
  await page.mouse.click(call.x + call.w / 2, call.y + 6);
  await page.waitForFunction(() => window.tachoTest.seen().arrows.some(({ kind }) => kind === "launches"));
  await press("PageUp", "PageUp", "PageUp", "PageUp"); // the selected call was brought into sight
  await page.locator(`.row[data-row="${gpu.id}"] .row-fold`).click();
  const { arrows, rows: now } = await settled();
  const line = now.find(({ id }) => id === gpu.id);
  const arrow = arrows.find(({ kind }) => kind === "launches");
  assert.ok(arrow.toY >= line.y && arrow.toY <= line.y + line.h, `${arrow.toY} is not within ${line.y} + ${line.h}`);
  await page.locator(`.row[data-row="${gpu.id}"] .row-fold`).click();
});

await test("the neighbours of an event are a key away", async () => {
  const number = () => page.evaluate(() => Number(/e=\d+\.(\d+)/.exec(location.hash)?.[1]));
  await page.waitForFunction((row) => location.hash.includes(`e=${row}.`), rowOf("cuda-api").id);
  const before = await number();
  await press(".");
  await page.waitForFunction((event) => location.hash.includes(`.${event + 1}`), before);
  await press(",");
  await page.waitForFunction((event) => new RegExp(`e=\\d+\\.${event}(&|$)`).test(location.hash), before);
});

await test("what is copied from the address bar shows the same spot", async () => {
  const hash = await page.evaluate(() => location.hash);
  const { view: there } = await press("d", "w"); // no key that scrolls: a page that opens brings the selected event into sight
  await page.waitForFunction(([old, from]) => location.hash !== old && location.hash.includes(`v=${from}-`) && /[#&]y=/.test(location.hash), [hash, Math.round(there.from)]);
  const { view: before, rows: lines } = await settled(({ linked }) => linked); // the address is written for the view and for the rows, some time later
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await page.waitForFunction(() => window.tachoTest !== undefined);
  const { view: after, rows: again } = await settled();
  near(after.from, before.from, 1, "from");
  near(after.to, before.to, 1, "to");
  const first = (list) => list.slice(0, 5).map(({ id, open }) => [id, open]);
  assert.deepEqual(first(again), first(lines), `the same rows from the top, at ${address}`);
  assert.deepEqual(again.filter(({ pinned }) => pinned), lines.filter(({ pinned }) => pinned));
  await page.locator("#panel-details .details-name").waitFor();
});

await chromiumOnly("the picture has every pixel of the screen, at any zoom of the browser", async () => {
  const session = await shown.context.newCDPSession(page);
  for (const zoom of [0.75, 1.1, 2]) {
    const size = { width: Math.round(1280 / zoom), height: Math.round(800 / zoom), deviceScaleFactor: zoom, mobile: false };
    await session.send("Emulation.setDeviceMetricsOverride", size);
    await page.waitForFunction((ratio) => {
      const canvas = document.querySelector("canvas.tracks");
      return Math.abs(devicePixelRatio - ratio) < 0.01 && Math.abs(canvas.width - canvas.getBoundingClientRect().width * ratio) < 1;
    }, zoom);
    await settled(({ rows: lines }) => lines.length > 0);
  }
});

await test("nothing went wrong in the browser", () => assert.deepEqual(shown.complaints, []));

await finish();
