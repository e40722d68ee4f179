// The map of a made job in Chromium and in Firefox: a strip for each rank, as dark as it was busy; a click on one, or Enter, opens the events of
// that rank at that time on a page of its own, with its own bookmarks, and Back leads to the map again.

import { assert, finish, firefox, hasFirefox, openPage, settled as pictured, shot, test, until, view } from "./lib.mjs";
import { madeJob, US } from "./made_job.mjs";

const shown = await view(madeJob(), {}, "--map");
const { page, address } = shown;
const settled = (holds) => pictured(page, holds);
const isMap = ({ rows }) => rows.filter(({ type }) => type === "rank" || type === "map").length >= 3;
const isRank = (rank) => ({ rows, events }) => events.length > 0 && !rows.some(({ type }) => type === "map" || type === "host") && new URL(page.url()).searchParams.get("ranks") === rank;

/** Where a rank is at a time, on the map. */
function spot({ rows, view: { from, to } }, label, time) {
  const { x, y, w, h } = rows.find((row) => row.label === label);
  return [x + (w * (time - from)) / (to - from), y + h / 2];
}

/** The colour of the canvas at a place of the page. */
const colourAt = ([left, top]) => {
  const canvas = document.querySelector("canvas.tracks");
  const box = canvas.getBoundingClientRect();
  const scale = canvas.width / box.width;
  return [...canvas.getContext("2d").getImageData(Math.round((left - box.left) * scale), Math.round((top - box.top) * scale), 1, 1).data].slice(0, 3);
};

await test("each rank is a strip, dark where it was in MPI", async () => {
  const map = await settled(isMap);
  const at = async (label, time) => (await page.evaluate(colourAt, spot(map, label, time))).reduce((sum, part) => sum + part);
  assert.ok((await at("rank 0", 700 * US)) < (await at("rank 0", 300 * US)), "rank 0 waits in the allreduce at 0.7 ms and not at 0.3 ms");
  assert.ok((await at("rank 2", 850 * US)) < (await at("rank 2", 700 * US)), "rank 2 comes at 0.8 ms");
  await shot(page, "rank-map");
});

await test("a click opens the rank at that time, and Back leads to the map", async () => {
  await page.mouse.click(...spot(await settled(isMap), "rank 1", 100 * US));
  const rank = await settled(isRank("1"));
  assert.ok(rank.view.from <= 100 * US && rank.view.to >= 100 * US && rank.view.to - rank.view.from < 100 * US, JSON.stringify(rank.view));
  assert.deepEqual(rank.events.map(({ from, to }) => [from, to]), [[60 * US, 130 * US]]);
  assert.equal(await page.title(), "job.sqlite (1) – Tacho");
  await shot(page, "rank-map-rank");
  await page.goBack();
  await settled(isMap);
});

await test("the keyboard does the same, at the time of the pointer", async () => {
  const map = await settled(isMap);
  await page.mouse.move(...spot(map, "rank 0", 850 * US));
  await page.locator(`.row[data-row="${map.rows.find(({ label }) => label === "rank 2").id}"]`).focus();
  await page.keyboard.press("Enter");
  const rank = await settled(isRank("2"));
  assert.deepEqual(rank.events.map(({ from }) => from), [800 * US]);
  await page.locator(".all-ranks").click();
  await settled(isMap);
});

await test("the page of a rank has bookmarks of its own", async () => {
  const other = await openPage(`${address}&ranks=1`);
  await pictured(other.page, ({ events }) => events.length > 0);
  await other.page.keyboard.press("b");
  await other.page.locator("#tab-notes").click();
  const bookmarks = (of) => of.evaluate((request) => fetch(request, { headers: { "X-Tacho-Token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()), "api/notes" + new URL(of.url()).search.replace(/^.*&(?=ranks)/, "?").replace(/^\?token.*/, ""));
  await until(() => bookmarks(other.page), ({ notes }) => notes.length === 1, "the bookmark");
  assert.deepEqual(await bookmarks(page), { notes: [] });
  assert.deepEqual(other.complaints, []);
});

await test("ranks that the job does not have are told in a sentence", async () => {
  for (const [ranks, words] of [["7", /no rank of 7/], ["1-", /no list of ranks/]]) {
    const other = await openPage(`${address}&ranks=${ranks}`);
    await other.page.getByText(words).waitFor();
  }
});

if (!hasFirefox()) console.log("without Firefox, which is not installed");
else await test("Firefox: a click opens the rank at that time", async () => {
  const browser = await firefox();
  const seen = (holds, words) => until(() => browser.run("return window.tachoTest?.seen() ?? null"), (now) => now && !now.moving && now.pending === 0 && holds(now), words);
  await browser.send("WebDriver:SetWindowRect", { width: 1280, height: 1000 });
  await browser.send("WebDriver:Navigate", { url: address });
  await browser.click(...spot(await seen(isMap, "the map"), "rank 1", 100 * US));
  const rank = await seen(({ rows, events }) => events.length > 0 && !rows.some(({ type }) => type === "map"), "the rank");
  assert.deepEqual(rank.events.map(({ from, to }) => [from, to]), [[60 * US, 130 * US]]);
  assert.match(await browser.run("return location.search"), /&ranks=1$/);
  await browser.send("WebDriver:Back");
  await seen(isMap, "the map again");
  await browser.close();
});

assert.deepEqual(shown.complaints, []);
await finish();
