// The communication matrix of made jobs, in Chromium and in Firefox: a cell for each pair of ranks, as dark as what was sent, with a legend, the
// messages of a pair, and the way to their calls and to the table; of many ranks several share a cell.

import { readFileSync } from "node:fs";
import { all, assert, finish, firefox, hasFirefox, settled as pictured, shot, test, until, view } from "./lib.mjs";
import { madeJob, US } from "./made_job.mjs";

const MESSAGES = [[0, 1, 992, 1], [1, 2, 100_000, 3], [2, 0, 40, 5]];
const small = await view(madeJob({ messages: MESSAGES }));
const large = await view(madeJob({ ranks: 300, messages: Array.from({ length: 299 }, (_, rank) => [rank, rank + 1, 64, 1]) }), {}, "--map");
const MATRIX = "#panel-matrix .matrix";

/** The geometry of the matrix, as soon as it is drawn; runs in the page. */
const geometry = () => {
  const element = document.querySelector("#panel-matrix .matrix");
  if (!element?.dataset.size || Number(element.dataset.cells) === 0) return null;
  const box = element.getBoundingClientRect();
  return { x: box.left + Number(element.dataset.left), y: box.top + Number(element.dataset.top), size: Number(element.dataset.size), cells: Number(element.dataset.cells) };
};
const spot = ({ x, y, size }, row, column) => [x + (column + 0.5) * size, y + (row + 0.5) * size];
const lightness = ([left, top]) => {
  const canvas = document.querySelector("#panel-matrix canvas");
  const box = canvas.getBoundingClientRect();
  const scale = canvas.width / box.width;
  return [...canvas.getContext("2d").getImageData(Math.round((left - box.left) * scale), Math.round((top - box.top) * scale), 1, 1).data].slice(0, 3).reduce((sum, part) => sum + part);
};
const opened = async (page, cells) => {
  if (!(await page.locator("#panel-matrix").isVisible())) await page.keyboard.press("x");
  return until(() => page.evaluate(geometry), (found) => found?.cells === cells, `${cells} cells`);
};

await test("the more a rank sent to another, the darker their cell", async () => {
  const { page } = small;
  await pictured(page);
  const at = await opened(page, 3);
  const light = (row, column) => page.evaluate(lightness, spot(at, row, column));
  const [most, some, none] = [await light(1, 2), await light(0, 1), await light(2, 1)];
  assert.ok(most < some && some < none, `100,000 bytes ${most}, 1,000 bytes ${some}, none ${none}`);
  assert.match(await page.locator("#panel-matrix .bar").textContent(), /10 messages, 294\.1 KiB · 3 pairs of ranks · whole report/);
  await page.locator("#panel-matrix select").selectOption("messages");
  await until(async () => [await light(2, 0), await light(1, 2)], ([five, three]) => five < three, "the colours of messages");
  await page.locator("#panel-matrix select").selectOption("bytes");
  await shot(page, "matrix");
});

await test("the tooltip tells messages and bytes of a pair", async () => {
  const { page } = small;
  await page.mouse.move(...spot(await opened(page, 3), 1, 2));
  await until(() => page.locator(`${MATRIX} .tip`).innerText(), (text) => /rank 1 → rank 2\s+3 messages, 293\.0 KiB, 97\.66 KiB on average/.test(text), "the tooltip");
});

await test("a click shows the messages of the pair, and a message leads to its call", async () => {
  const { page } = small;
  await page.mouse.click(...spot(await opened(page, 3), 0, 1));
  const rows = page.locator("#panel-matrix tbody tr[data-index]");
  await until(() => rows.count(), (count) => count === 2, "two messages");
  assert.match(await page.locator("#panel-matrix .matrix-facts").textContent(), /Messages from rank 0 to rank 1/);
  await rows.nth(0).locator("td").last().click();
  await until(() => page.evaluate(() => location.hash), (hash) => /(^|&)e=/.test(hash.slice(1)), "a selected event");
  const { events } = await pictured(page, ({ arrows: [arrow] }) => arrow?.kind === "message-to");
  assert.ok(events.some(({ from }) => from === 100 * US));
});

await test("the keyboard walks through cells, opens one, and goes back", async () => {
  const { page } = small;
  await opened(page, 3);
  await page.locator(MATRIX).focus();
  for (const key of ["Escape", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
  assert.match(await page.locator(`${MATRIX} [role=status]`).textContent(), /rank 1 → rank 2: 3 messages/);
  await page.keyboard.press("Enter");
  await until(() => page.locator("#panel-matrix tbody tr[data-index]").count(), (count) => count === 3, "three messages");
});

await test("a span narrows the matrix", async () => {
  const { page } = small;
  const from = await page.evaluate(() => fetch("api/matrix?from=0&to=1000000", { headers: { "X-Tacho-Token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()));
  assert.deepEqual(from.cells, [[0, 1, 1, 8]]);
});

await test("it is saved as SVG, and there as the table", async () => {
  const { page } = small;
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#panel-matrix").getByRole("button", { name: "SVG" }).click()]);
  const svg = readFileSync(await download.path(), "utf8");
  for (const words of ["to rank", "Communication matrix of job.sqlite", "293.0 KiB"]) assert.ok(svg.includes(words), words);
  await page.locator("#panel-matrix").getByRole("button", { name: "Table" }).click();
  await until(() => page.locator("#panel-tables tbody tr[data-index]").count(), (count) => count === 3, "three pairs");
  assert.match(await page.locator("#panel-tables .report-name").textContent(), /mpi_comm_matrix/);
});

await test("of many ranks several share a cell, and a click shows them one by one", async () => {
  const { page } = large;
  await pictured(page);
  const at = await opened(page, 100);
  assert.match(await page.locator("#panel-matrix .bar").textContent(), /300 messages.* 299 pairs of ranks · 3 ranks a cell/);
  await page.mouse.move(...spot(at, 50, 50));
  await until(() => page.locator(`${MATRIX} .tip`).innerText(), (text) => /ranks 150–152 → ranks 150–152\s+2 messages/.test(text), "the tooltip");
  await shot(page, "matrix-many");
  await page.mouse.click(...spot(at, 50, 50));
  const near = await opened(page, 128);
  await page.mouse.click(...spot(near, 64, 65));
  await until(() => page.locator("#panel-matrix .matrix-facts").textContent(), (text) => /from rank 152 to rank 153 Events of both ranks/.test(text), "the pair");
  await page.locator("#panel-matrix .matrix-facts a").click();
  await until(() => page.title().catch(() => ""), (title) => /\(152,153\)/.test(title), "the page of both ranks");
  const { rows } = await pictured(page, ({ events }) => events.length > 0);
  assert.deepEqual(rows.filter(({ type }) => type === "rank").map(({ label }) => label), ["rank 152", "rank 153"]);
});

await test("a report without messages has no matrix", async () => {
  const none = await view(madeJob({ ranks: 1, messages: null }));
  await pictured(none.page);
  assert.equal(await none.page.locator("#tab-matrix").count(), 0);
  await none.page.keyboard.press("x");
  assert.equal(await none.page.locator(".dock.closed").count(), 1);
});

if (!all || !hasFirefox()) console.log("without Firefox: scripts/test --all installs it");
else await test("Firefox: the same matrix, and the messages of a pair", async () => {
  const browser = await firefox();
  await browser.send("WebDriver:SetWindowRect", { width: 1280, height: 1000 });
  await browser.send("WebDriver:Navigate", { url: `${small.address}#p=matrix` });
  const at = await until(() => browser.run(`return (${geometry})()`), (found) => found?.cells === 3, "3 cells");
  const light = (row, column) => browser.run(`return (${lightness})(${JSON.stringify(spot(at, row, column))})`);
  const [most, some, none] = [await light(1, 2), await light(0, 1), await light(2, 1)];
  assert.ok(most < some && some < none, `${most}, ${some}, ${none}`);
  await browser.click(...spot(at, 2, 0));
  await until(() => browser.run("return document.querySelectorAll('#panel-matrix tbody tr[data-index]').length"), (count) => count === 5, "five messages");
  await browser.close();
});

for (const { complaints } of [small, large]) assert.deepEqual(complaints, []);
await finish();
