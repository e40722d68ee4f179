// The timeline of a made MPI job of three ranks: rows by rank, a selected collective on all ranks with the one that came last, and the arrow of
// a message.

import { assert, finish, settled as pictured, shot, test, view } from "./lib.mjs";
import { madeJob, US } from "./made_job.mjs";

const file = madeJob();
const { page } = await view(file);
const settled = (holds) => pictured(page, holds);
const click = async (rank, from) => {
  const { events } = await settled();
  const rows = await page.evaluate(() => fetch("api/rows", { headers: { "X-Tacho-Token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()));
  const event = events.find((one) => one.from === from && rows.rows[one.row].rank === rank);
  assert.ok(event, `rank ${rank} has no event at ${from}: ${JSON.stringify(events)}`);
  await page.mouse.click(event.x + event.w / 2, event.y + event.h / 2);
  return rows.rows;
};

await test("ranks are groups below their host, in order", async () => {
  const { rows } = await settled();
  assert.equal(rows[0].type, "host");
  assert.match(rows[0].label, /· 3 ranks$/);
  assert.deepEqual(rows.filter(({ type }) => type === "rank").map(({ label }) => label), ["rank 0", "rank 1", "rank 2"]);
});

await test("a selected collective is marked on all other ranks, and the rank that came last stands out", async () => {
  const rows = await click(0, 500 * US);
  const { instance, arrows } = await settled(({ instance: boxes }) => boxes.length > 0);
  assert.deepEqual(instance.map(({ row, last }) => [rows[row].rank, last]), [[1, false], [2, true]]);
  assert.equal(arrows.length, 0);
  await page.keyboard.press("i");
  assert.match(await page.locator("#panel-details .details-facts").textContent(), /rank 2 came last, 300(\.0+)?\s*µs after the first/);
  assert.equal(await page.locator('#panel-details ul[data-kind="collective"] li').count(), 2);
  await shot(page, "ranks-collective");
});

await test("the last one stands out when it is selected itself", async () => {
  const rows = await click(2, 800 * US);
  const { instance } = await settled(({ instance: boxes }) => boxes.length === 3);
  assert.deepEqual(instance.map(({ row, last }) => [rows[row].rank, last]), [[0, false], [1, false], [2, true]]);
});

await test("an arrow leads from a send to its receive, whichever is selected", async () => {
  for (const [rank, from, kind] of [[0, 100 * US, "message-to"], [1, 60 * US, "message-from"]]) {
    await click(rank, from);
    const { arrows, events } = await settled(({ arrows: [arrow] }) => arrow?.kind === kind);
    const [sent, received] = [100 * US, 60 * US].map((start) => events.find((event) => event.from === start));
    assert.equal(arrows.length, 1);
    assert.ok(Math.abs(arrows[0].fromY - sent.y) < sent.h && Math.abs(arrows[0].toY - received.y) < received.h, JSON.stringify({ arrows, sent, received }));
  }
});

await finish();
