// A made MPI job of one report, for tests of ranks: rank 2 comes last to an allreduce of all, rank 0 sends rank 1 a message, and the ranks
// send what a test adds.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { scratch } from "./lib.mjs";

export const US = 1000;

const thread = (rank) => (1n << 48n) | (BigInt(100 + rank) << 24n) | BigInt(100 + rank);
const tables = [
  "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
  "INSERT INTO StringIds VALUES (1, 'MPI_Init'), (2, 'MPI_Allreduce'), (3, 'MPI_Send'), (4, 'MPI_Recv'), (5, 'aa-0')",
  "CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL)",
  "CREATE TABLE MPI_COMMUNICATORS (rank INTEGER, timestamp INTEGER, commHandle INTEGER, size INTEGER, members TEXT, globalPid INTEGER, name INTEGER)",
  "CREATE TABLE MPI_OTHER_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER)",
  "CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER)",
  "CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, rootRank INTEGER, requestHandle INTEGER, requestEnd INTEGER)",
  "CREATE TABLE TACHO_MPI_MESSAGE (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER, rank INTEGER, isReceived INTEGER NOT NULL, peer INTEGER, tag INTEGER, size INTEGER, communicator INTEGER)",
];
/** messages: [from rank, to rank, bytes, how many], sent one by one from 2 ms on; null: none at all. */
export function madeJob({ ranks = 3, messages = [] } = {}) {
  const file = join(scratch(), "job.sqlite");
  const statements = [...tables];
  const members = [...Array(ranks).keys()];
  for (const rank of members) {
    const id = thread(rank);
    statements.push(
      `INSERT INTO MPI_RANKS VALUES (${id}, ${rank})`,
      `INSERT INTO MPI_COMMUNICATORS VALUES (${rank}, 0, 77, ${ranks}, '${members}', ${(id >> 24n) << 24n}, 5)`,
      `INSERT INTO MPI_OTHER_EVENTS VALUES (0, ${5 * US}, ${id}, 1)`,
      `INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (${(500 + (rank === 2 ? 300 : 0)) * US}, ${900 * US}, ${id}, 2, 77, NULL, NULL, NULL)`,
    );
  }
  const calls = messages ? [[0, 100, 120, 0, 1, 8], [1, 60, 130, 1, 0, 8]] : [];
  let now = 2000;
  for (const [from, to, size, times] of messages ?? []) {
    for (let i = 0; i < times; i++, now += 10) calls.push([from, now, now + 5, 0, to, size], [to, now + 1, now + 8, 1, from, size]);
  }
  for (const [rank, start, end, received, peer, size] of calls) {
    statements.push(
      `INSERT INTO MPI_P2P_EVENTS VALUES (${start * US}, ${end * US}, ${thread(rank)}, ${3 + received}, 77, 0, ${peer}, ${size})`,
      `INSERT INTO TACHO_MPI_MESSAGE VALUES (${start * US}, ${end * US}, ${thread(rank)}, ${3 + received}, ${rank}, ${received}, ${peer}, 0, ${size}, 5)`,
    );
  }
  execFileSync("python3", ["-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.stdin.read())", file], { input: `PRAGMA synchronous = OFF;\nBEGIN;\n${statements.join(";\n")};\nCOMMIT;` });
  return file;
}
