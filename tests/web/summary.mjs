// The summary: open when the page opens, in the words of a first-time reader, and each line leads to its place. What it says of a
// capture is compared with `tacho stats`.

import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, finish, loadSource, openPage, report, scratch, settled, shot, test, until, view } from "./lib.mjs";

const stats = (name, file) => JSON.parse(execFileSync(process.env.TACHO, ["stats", "-q", "-f", "json", "-r", name, file], { maxBuffer: 1 << 26 }));
const isDone = (page) => page.waitForFunction(() => document.querySelector("#panel-summary:not([aria-busy]) .summary-cards") && !/Running the rules/.test(document.querySelector("#panel-summary").textContent));
const card = (page, title) => page.locator("#panel-summary .summary-card").filter({ has: page.locator(`h3:text("${title}")`) });
const hashOf = (page) => new URLSearchParams(new URL(page.url()).hash.slice(1));
const viewOf = async (page) => (await settled(page)).view;

const { Palette } = await loadSource("timeline/palette.ts");
const file = report("nsys/resnet18.sqlite.gz");
const shown = await view(file, { summary: true });
const { page } = shown;
const detailsOf = (place) =>
  page.evaluate(([row, event]) => fetch(`api/event?row=${row}&event=${event}`, { headers: { "X-Tacho-Token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()), place.split("."));

await test("it is open at the start, with the figures of the command line", async () => {
  await isDone(page);
  await shot(page, "summary");
  assert.equal(await page.locator("#panel-summary").isVisible(), true);
  const { rows } = await settled(page);
  assert.ok(rows.length >= 3, "the picture is seen beside it");
  const words = execFileSync(process.env.TACHO, ["summary", file], { encoding: "utf8", env: { ...process.env, COLUMNS: "10000" } });
  const tiles = await page.locator("#panel-summary .tile").allTextContents();
  assert.ok(tiles.includes(`GPU busy${/GPU busy (\d+) %/.exec(words)[1]} %of the steps`), tiles.join(" | "));
  assert.ok(tiles.some((tile) => tile.startsWith(`Step${/step ([\d.]+ .?s) over/.exec(words)[1]}`)), tiles.join(" | "));
  const found = stats("advice_sum", file); // savings per step and findings of the whole run are two lists
  for (const [heading, most, isOfGroup] of [["Estimated saving per step", 5, (row) => row["Confidence"]], ["Of the whole run", 2, (row) => !row["Confidence"]]]) {
    const advice = await card(page, "What to change first").locator(`[aria-label="${heading}"] .summary-line .line:first-child`).allTextContents();
    const expected = found.filter(isOfGroup).map((row) => row["Finding"]);
    for (const [index, text] of advice.entries()) assert.ok(expected[index].startsWith(text), `${heading}: ${text}: ${expected[index]}`);
    assert.equal(advice.length, Math.min(most, expected.length), heading);
  }
  assert.ok(!/per step/.test(await card(page, "What to change first").locator(".more").textContent()));
  const causes = await card(page, "Why the GPU was idle").locator(".summary-line .line:first-child").allTextContents();
  assert.deepEqual(causes, stats("gpu_idle_sum", file).slice(0, 6).map((row) => row["Cause"]));
});

await test("a cause of idle time has the colour that it has in the row Why idle", async () => {
  const ask = (request) => page.evaluate((what) => fetch(`api/${what}`, { headers: { "X-Tacho-Token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()), request);
  const { rows: [{ causes }] } = await ask("idle");
  const states = new Map(causes.map(({ cause, state }) => [cause, state]));
  const { parts } = await ask("summary");
  const causeOf = new Map(parts.filter(({ cause }) => cause).map(({ name, cause }) => [name, cause]));
  const linesOf = (title) => card(page, title).locator(".summary-line").evaluateAll((all) => all.map((one) => [one.querySelector(".line").textContent, getComputedStyle(one.querySelector(".swatch")).backgroundColor]));
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
    const palette = new Palette(theme === "dark");
    const plain = (css) => css.match(/\d+/g).join();
    const idle = await linesOf("Why the GPU was idle");
    const step = (await linesOf("Time of the mean step")).filter(([name]) => causeOf.has(name)).map(([name, colour]) => [causeOf.get(name), colour]);
    assert.ok(idle.length >= 3 && step.length >= 2, `${idle.length} and ${step.length} causes`);
    for (const [cause, colour] of [...idle, ...step]) assert.equal(plain(colour), plain(palette.state(states.get(cause)).css), `${theme}: ${cause}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
});

await test("a kernel leads to its longest instance, and the summary stays", async () => {
  const [longest] = stats("cuda_gpu_kern_sum", file);
  await card(page, "Top kernels").locator("button").first().click();
  await until(() => hashOf(page).get("e"), (event) => event !== null, "an event in the link");
  const details = await detailsOf(hashOf(page).get("e"));
  assert.deepEqual([details.name, details.to - details.from], [longest["Name"], longest["Max (ns)"]]);
  assert.equal(hashOf(page).get("p"), "summary");
});

await test("an idle cause leads to its longest gap in the row Why idle, and a step to itself", async () => {
  const [cause] = stats("gpu_idle_sum", file);
  const before = hashOf(page).get("e");
  await card(page, "Why the GPU was idle").locator("button").first().click();
  await until(() => hashOf(page).get("e"), (event) => event !== null && event !== before, "another event in the link");
  const gap = await detailsOf(hashOf(page).get("e"));
  assert.equal(hashOf(page).get("s"), null);
  const { rows } = await settled(page);
  assert.equal(rows.find(({ id }) => id === gap.row).label, "Why idle");
  assert.ok(gap.to - gap.from >= cause["Max (ns)"], `${gap.to - gap.from} ns`);
  const [, second] = stats("step_breakdown", file);
  await page.locator("#panel-summary .step-bar").nth(1).click();
  const now = await viewOf(page);
  assert.ok(now.to - now.from >= second["Time (ns)"], JSON.stringify(now));
});

await test("of many steps, a bar is the longest of its neighbours, and leads to it; all of them are a click away", async () => {
  const [STEPS, SLOW] = [450, 137];
  const events = [{ ph: "M", name: "process_name", pid: 1, tid: 0, args: { name: "train" } }];
  for (let i = 0, ts = 1000; i < STEPS; i++) {
    const dur = i === SLOW ? 190 : 90 + (i % 7);
    events.push({ ph: "X", cat: "user_annotation", name: `ProfilerStep#${i}`, pid: 1, tid: 1, ts, dur, args: {} });
    events.push({ ph: "X", cat: "kernel", name: "gemm", pid: 0, tid: 7, ts: ts + 10, dur: 40, args: { device: 0, stream: 7, correlation: i + 1 } });
    ts += dur + 5;
  }
  const many = join(scratch(), "many.json");
  writeFileSync(many, JSON.stringify({ schemaVersion: 1, deviceProperties: [{ id: 0, name: "GPU" }], traceEvents: events }));
  const other = await view(many, { summary: true });
  await isDone(other.page);
  const bars = other.page.locator("#panel-summary .step-bar");
  assert.equal(await bars.count(), 100);
  assert.ok((await bars.first().evaluate((bar) => bar.getBoundingClientRect().width)) >= 2, "wide enough to see");
  assert.equal(await other.page.locator("#panel-summary figcaption").textContent(), "first 300 of 450 steps, each bar is the longest of 3, up to 190 µs All steps");
  const slow = bars.filter({ has: other.page.locator(".tower") }).nth(Math.floor(SLOW / 3));
  assert.equal(await slow.getAttribute("aria-label"), `Steps 135 to 137: mean ${((90 + (135 % 7) + 90 + (136 % 7) + 190) / 3).toPrecision(3)} µs, longest 190 µs (step ${SLOW})`);
  await shot(other.page, "summary-many-steps");
  await slow.click();
  await other.page.locator("#timeline-live").filter({ hasText: `ProfilerStep#${SLOW}` }).waitFor({ state: "attached" });
  await other.page.getByRole("button", { name: "All steps" }).click();
  await other.page.locator("#panel-steps").waitFor();
  assert.deepEqual(other.complaints, []);
});

await test("the keyboard reaches every line and goes through the steps", async () => {
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press("Shift+V");
  assert.equal(await page.locator("#panel-summary").isVisible(), false, "a second time closes it");
  await page.keyboard.press("Shift+V");
  await page.locator("#panel-summary .step-bar").first().focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label").startsWith("Step 11: ")), true);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.closest(".summary-card")?.getAttribute("aria-label")), "What to change first");
  const before = page.url();
  await page.keyboard.press("Enter");
  await until(() => page.url(), (now) => now !== before, "another place");
});

await test("a click on the timeline opens the details; who closes the summary does not find it open the next time", async () => {
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press(","); // the previous event
  await page.locator("#panel-details").waitFor();
  await page.goto("about:blank");
  await page.goto(shown.address);
  await page.locator("#panel-summary").waitFor();
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press("Shift+V");
  await page.goto("about:blank");
  await page.goto(shown.address);
  await settled(page);
  assert.equal(await page.locator("#panel-summary").isVisible(), false);
  await page.goto("about:blank");
  await page.goto(`${shown.address}#p=sql`);
  await page.locator("#panel-sql").waitFor();
});

await test("of a run without steps it shows the time of the GPU; at 900 px nothing is cut off sideways", async () => {
  const other = await view(report("nsys/wait_stream.sqlite.gz"), { summary: true, viewport: { width: 900, height: 800 }, colorScheme: "dark" });
  await isDone(other.page);
  await card(other.page, "GPU time breakdown").locator(".summary-line").first().waitFor();
  await shot(other.page, "summary-narrow");
  const [inner, outer] = await other.page.locator("#panel-summary").evaluate((element) => [element.scrollWidth, element.clientWidth]);
  assert.ok(inner <= outer, `${inner} px in ${outer} px`);
  assert.deepEqual(other.complaints, []);
});

await test("of a CPU program it tells who waited for whom, where, and what the CPU did", async () => {
  const contended = join(scratch(), "contended.tacho");
  execFileSync(process.env.TACHO, ["profile", "-o", contended, join(process.env.PROGRAMS ?? "", "contended")], { stdio: "ignore" });
  const other = await view(contended, { summary: true });
  await isDone(other.page);
  await shot(other.page, "summary-lock");
  assert.match(await card(other.page, "What to change first").textContent(), /lock queue_lock .*take_turn \(contended\.c:\d+\)/);
  assert.match(await card(other.page, "Thread waits").textContent(), /worker\d: pthread_mutex_lockheld by worker\d/);
  await card(other.page, "Thread waits").locator("button").filter({ hasText: "pthread_mutex_lock" }).first().click();
  await until(() => hashOf(other.page).get("e"), (event) => event !== null, "an event in the link");
  assert.deepEqual(other.complaints, []);
});

if (existsSync(join(process.env.PAGE ?? "", "tacho.wasm")))
  await test("in one file it says the same", async () => {
    const place = join(scratch(), "page.html");
    execFileSync(process.env.TACHO, ["export", "-q", "-t", "html", "-o", place, file]);
    const alone = await openPage(`file://${place}`, { summary: true, offline: true });
    await isDone(alone.page);
    const again = await view(file, { summary: true });
    await isDone(again.page);
    const text = (one) => one.page.locator("#panel-summary").textContent();
    assert.equal(await text(alone), await text(again));
    await card(alone.page, "Top kernels").locator("button").first().click();
    await until(() => hashOf(alone.page).get("e"), (event) => event !== null, "an event in the link");
    assert.deepEqual(alone.complaints, []);
  });

await test("nothing else went wrong", () => assert.deepEqual(shown.complaints, []));
await finish();
