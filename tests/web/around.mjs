// What stands around the timeline, on a capture with CPU samples: the flame graph, pictures, keys, facts, colours, the dock, and
// that all of it can be reached and is named for those who cannot see it.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { assert, finish, loadSource, report, settled, shot, test, view } from "./lib.mjs";

const file = report("nsys/mix.sqlite.gz");
const sql = (statement) => JSON.parse(execFileSync(process.env.TACHO, ["sql", "-f", "json", file, statement], { encoding: "utf8" }));
const shown = await view(file);
const { page } = shown;
const panel = (name) => page.locator(`#panel-${name}`);

async function press(key) {
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press(key);
}

/** A click on the tab of the open panel would close it. */
async function open(name) {
  if (!(await panel(name).isVisible())) await page.locator(`#tab-${name}`).click();
  await panel(name).waitFor();
}

await test("the flame graph has every sample; a click fills the width, the trail leads back", async () => {
  const [{ n }] = sql("SELECT count(*) AS n FROM COMPOSITE_EVENTS");
  await press("g");
  await panel("flame").locator("[role=status]").filter({ hasText: `${n} samples` }).first().waitFor();
  const canvas = await panel("flame").locator("canvas").boundingBox();
  await page.mouse.move(canvas.x + 30, canvas.y + 18 + 8);
  const tip = panel("flame").locator(".flame-tip");
  await tip.waitFor();
  const name = await tip.locator("strong").textContent();
  await shot(page, "around-flame");
  await page.mouse.click(canvas.x + 30, canvas.y + 18 + 8);
  await panel("flame").locator(".trail .link").filter({ hasText: name }).waitFor();
  await panel("flame").locator(".trail .link").first().click();
  await panel("flame").locator(".trail").waitFor({ state: "hidden" });
});

await test("a search in the flame graph says how much it found", async () => {
  await panel("flame").getByLabel("Find a function").fill("zzz nowhere");
  await panel("flame").locator("[role=status]").filter({ hasText: "0.0 % found" }).waitFor();
  await panel("flame").getByLabel("Find a function").fill("");
});

await test("the flame graph walks with the keyboard and tells where it is", async () => {
  await panel("flame").locator(".flame").focus();
  await page.keyboard.press("ArrowDown");
  await panel("flame").locator("p[role=status]").filter({ hasText: /samples \([\d.]+ %\), itself/ }).waitFor({ state: "attached" });
  await page.keyboard.press("Enter");
  await panel("flame").locator(".trail").waitFor();
  await page.keyboard.press("Escape");
  await panel("flame").locator(".trail").waitFor({ state: "hidden" });
});

await test("the flame graph is saved as SVG that a browser draws", async () => {
  const [download] = await Promise.all([page.waitForEvent("download"), panel("flame").getByRole("button", { name: "SVG" }).click()]);
  await checkSvg(readFileSync(await download.path(), "utf8"), 20);
});

await test("the timeline is saved as SVG and as PNG, with the names of its rows", async () => {
  const labels = await page.evaluate(() => window.tachoTest.seen().rows.map((row) => row.label));
  const [svg] = await Promise.all([page.waitForEvent("download"), page.getByTitle("Save the visible timeline as SVG").click()]);
  const text = await checkSvg(readFileSync(await svg.path(), "utf8"), 50);
  assert.ok(labels.some((label) => text.includes(label)), `none of ${labels} is in the picture`);
  const [png] = await Promise.all([page.waitForEvent("download"), page.getByTitle("Save the visible timeline as PNG").click()]);
  const bytes = readFileSync(await png.path());
  assert.equal(bytes.subarray(1, 4).toString(), "PNG");
  assert.ok(bytes.readUInt32BE(16) >= 2000 && bytes.length > 10_000, `${bytes.readUInt32BE(16)} pixels wide, ${bytes.length} bytes`);
});

await test("pointing at a call that failed tells why", async () => {
  const [{ start, end }] = sql("SELECT start, end FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE returnValue = 1");
  const { origin } = await page.evaluate(() => fetch("api/about", { headers: { "X-Tacho-Token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()));
  const [from, to] = [start, end].map((time) => Number(BigInt(time) - BigInt(origin)));
  await page.evaluate((span) => (location.hash = span), `v=${from - (to - from)}-${to + (to - from)}&r=CUDA%20API&p=flame`);
  const isCall = (event) => event.from === from && event.to === to;
  const call = (await settled(page, ({ events }) => events.some(isCall))).events.find(isCall);
  await page.mouse.move(call.x + call.w / 2, call.y + call.h / 2);
  await page.locator(".tip .tip-failed").filter({ hasText: "Failed: cudaErrorInvalidValue (1)" }).waitFor();
  await shot(page, "around-failed");
  await page.mouse.move(0, 0);
  await page.evaluate(() => (location.hash = "p=flame"));
  await settled(page, ({ rows }) => rows.some(({ type }) => type === "gpu"));
});

await test("? lists every key of the table", async () => {
  const { KEYS } = await loadSource("keys.ts");
  await press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await dialog.waitFor();
  await shot(page, "around-keys");
  const listed = await dialog.locator("section:not(.gestures) dd").allTextContents();
  assert.deepEqual([...listed].sort(), KEYS.map((key) => key.what).sort());
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
});

await test("the facts about the report", async () => {
  await page.locator(".toolbar .report").click();
  const dialog = page.getByRole("dialog", { name: "About this report" });
  await dialog.waitFor();
  const text = await dialog.textContent();
  assert.match(text, /mix\.sqlite/);
  assert.match(text, /NVIDIA H200/);
  assert.match(text, /Imported from Nsight Systems, whose file does not say whether events were lost/);
  assert.doesNotMatch(text, /No events were lost/);
  await shot(page, "around-about");
  await page.keyboard.press("Escape");
});

await test("light and dark, and the choice is remembered", async () => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const theme = page.getByLabel("Colour theme");
  await theme.selectOption("dark");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  const dark = await paper();
  await shot(page, "around-dark");
  await page.reload();
  await page.waitForFunction(() => window.tachoTest !== undefined && document.documentElement.dataset.theme === "dark");
  assert.equal(await paper(), dark);
  await theme.selectOption("light");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
  assert.notEqual(await paper(), dark);
});

await test("the dock is sized by mouse and keyboard, moves to the side, and stays so", async () => {
  const grip = page.getByRole("separator", { name: "Size of the panels" });
  const size = async () => Number(await grip.getAttribute("aria-valuenow"));
  const before = await size();
  await grip.focus();
  await page.keyboard.press("ArrowUp");
  assert.ok((await size()) > before);
  const box = await grip.boundingBox();
  await page.mouse.move(box.x + 200, box.y + 4);
  await page.mouse.down();
  await page.mouse.move(box.x + 200, box.y + 60, { steps: 3 });
  await page.mouse.up();
  const dragged = await size();
  assert.ok(dragged < before, `${dragged} after ${before}`);
  await page.reload();
  await page.waitForFunction(() => window.tachoTest !== undefined);
  assert.equal(await size(), dragged);
  await page.getByRole("button", { name: "Move the panels beside the timeline" }).click();
  const [dock, tracks] = [await page.locator(".dock").boundingBox(), await page.locator("canvas.tracks").boundingBox()];
  assert.ok(dock.x >= tracks.x + tracks.width - 1, "the dock is at the right");
  await page.getByRole("button", { name: "Move the panels below the timeline" }).click();
});

await test("tabs are walked with arrow keys", async () => {
  await open("flame");
  await page.locator("#tab-flame").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "tab" && document.activeElement.getAttribute("aria-selected") === "true");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Search");
});

await test("every control has a name, in every panel", async () => {
  for (const name of ["details", "tables", "flame", "search", "sql", "notes", "advice"]) {
    await open(name);
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("button, select, input, textarea, [role=tab], [role=separator], canvas[tabindex], [role=application]")]
        .filter((element) => element.checkVisibility?.() ?? true)
        .filter((element) => !(element.getAttribute("aria-label") || element.getAttribute("title") || element.textContent.trim() || element.labels?.length))
        .map((element) => element.outerHTML.slice(0, 120)));
    assert.deepEqual(nameless, [], `without a name in ${name}`);
  }
});

await test("at half the room (200 % zoom) nothing is out of reach", async () => {
  await page.setViewportSize({ width: 640, height: 400 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 640, `the page is ${wide} wide`);
  for (const control of await page.locator(".toolbar button, .toolbar select, .dock-head button").all()) {
    const box = await control.boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= 641, `${await control.getAttribute("title")} at ${JSON.stringify(box)}`);
  }
  await shot(page, "around-zoomed");
  await page.setViewportSize({ width: 1280, height: 800 });
});

await test("nothing went wrong in the browser", () => assert.deepEqual([shown.complaints, shown.refused], [[], []]));

await finish();

/** Parses it as a browser does, and draws it; returns its text. */
async function checkSvg(svg, least) {
  const { error, shapes, text } = await page.evaluate((source) => {
    const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
    return { error: parsed.querySelector("parsererror")?.textContent ?? null, shapes: parsed.querySelectorAll("rect, path, text").length, text: parsed.documentElement.textContent };
  }, svg);
  assert.equal(error, null);
  assert.ok(shapes >= least, `${shapes} shapes`);
  return text;
}
