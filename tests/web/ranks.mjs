// The timeline of a made MPI job of three ranks: rows by rank, a selected collective on all ranks with the one that came last, and the arrow of
// a message.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { assert, finish, scratch, settled as pictured, shot, test, view } from "./lib.mjs";

const US = 1000;
const file = join(scratch(), "job.sqlite");
const thread = (rank) => (1n << 48n) | (BigInt(100 + rank) << 24n) | BigInt(100 + rank);
const statements = [
  "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
  "INSERT INTO StringIds VALUES (1, 'MPI_Init'), (2, 'MPI_Allreduce'), (3, 'MPI_Send'), (4, 'MPI_Recv'), (5, 'aa-0')",
  "CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL)",
  "CREATE TABLE MPI_COMMUNICATORS (rank INTEGER, timestamp INTEGER, commHandle INTEGER, size INTEGER, members TEXT, globalPid INTEGER, name INTEGER)",
  "CREATE TABLE MPI_OTHER_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER)",
  "CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER)",
  "CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, rootRank INTEGER, requestHandle INTEGER, requestEnd INTEGER)",
  "CREATE TABLE TACHO_MPI_MESSAGE (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, rank INTEGER, isReceived INTEGER NOT NULL, peer INTEGER, tag INTEGER, size INTEGER, communicator INTEGER)",
];
for (const rank of [0, 1, 2]) {
  const id = thread(rank);
  statements.push(
    `INSERT INTO MPI_RANKS VALUES (${id}, ${rank})`,
    `INSERT INTO MPI_COMMUNICATORS VALUES (${rank}, 0, 77, 3, '0,1,2', ${(id >> 24n) << 24n}, 5)`,
    `INSERT INTO MPI_OTHER_EVENTS VALUES (0, ${5 * US}, ${id}, 1)`,
    `INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (${(500 + (rank === 2 ? 300 : 0)) * US}, ${900 * US}, ${id}, 2, 77, NULL, NULL, NULL)`,
  );
}
for (const [rank, start, end, received] of [[0, 100, 120, 0], [1, 60, 130, 1]]) {
  statements.push(
    `INSERT INTO MPI_P2P_EVENTS VALUES (${start * US}, ${end * US}, ${thread(rank)}, ${3 + received}, 77, 0, ${1 - rank}, 8)`,
    `INSERT INTO TACHO_MPI_MESSAGE VALUES (${start * US}, ${end * US}, ${thread(rank)}, ${3 + received}, ${rank}, ${received}, ${1 - rank}, 0, 8, 5)`,
  );
}
execFileSync("python3", ["-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.stdin.read())", file], { input: `${statements.join(";\n")};` });

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
