#!/usr/bin/env node
// How quick the timeline is: the server's start, the first picture, each step of a walk through the report, frames while it moves,
// and what it all takes of memory; then the same of a page that stands alone.
//
//   node bench/view.mjs [--events 10000000 | --file REPORT-OR-FOLDER] [--steps 200] [--alone 1000000] [--json FILE]
//
// Reports are made by bench/report/make_events.c with a fixed seed: of N events 40 % are kernels, 40 % the calls that launched them,
// 20 % nested ranges, on 4 threads and 8 streams. Takes Tacho from TACHO (build/bin/tacho), the maker of reports from PROGRAMS
// (build/bench), npm's packages from WEB (build/web). --alone 0 leaves the page that stands alone out. The browser is Debian's
// Chromium, headless and without a GPU: its frames are drawn by the CPU.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const build = join(dirname(fileURLToPath(import.meta.url)), "..", "build");
process.env.TACHO ??= join(build, "bin", "tacho");
process.env.WEB ??= join(build, "web");
process.env.PAGE ??= join(build, "share", "tacho", "view");
const maker = join(process.env.PROGRAMS ?? join(build, "bench"), "make_events");
const { serve, openPage, finish } = await import("../tests/web/lib.mjs");

const { values: asked } = parseArgs({
  options: { file: { type: "string" }, events: { type: "string", default: "10000000" }, steps: { type: "string", default: "200" }, alone: { type: "string", default: "1000000" }, json: { type: "string" } },
});

const folder = mkdtempSync(join(tmpdir(), "tacho-bench-view-"));
const figures = { machine: { cores: Number(execFileSync("nproc")), load: readFileSync("/proc/loadavg", "utf8").trim() } };

function make(events) {
  const path = join(folder, `${events}.tacho`);
  execFileSync(maker, [path, String(events * 0.4), String(events * 0.2), "1"], { stdio: "ignore" });
  return path;
}

const percentile = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
const spread = (list) => ({ median: percentile(list, 0.5), p95: percentile(list, 0.95), most: Math.max(...list) });

function memoryOf(pid, what) {
  const line = readFileSync(`/proc/${pid}/${what === "VmHWM" ? "status" : "smaps_rollup"}`, "utf8").split("\n").find((text) => text.startsWith(`${what}:`));
  return Math.round(Number(/\d+/.exec(line)[0]) / 1024);
}

/** The largest of the browser's processes that show pages, in MB of memory that is its share. */
function pageMemory() {
  const renderers = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && safe(() => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--type=renderer")));
  return Math.max(...renderers.map((pid) => safe(() => memoryOf(pid, "Pss")) ?? 0));
}
function safe(read) {
  try {
    return read();
  } catch {
    return undefined; // the process is gone
  }
}

/** Since the page was asked for, in ms, once nothing moves, nothing is asked for, and there is something to see. Runs in the page. */
const settled = () => {
  const seen = window.tachoTest?.seen();
  return seen !== undefined && !seen.moving && seen.pending === 0 && seen.tileBytes > 0 && seen.rows.length > 0 ? performance.now() : false;
};
/** Presses a key and measures until the picture is whole again: the glide of 150 ms, and what was still to be answered at its end. Runs in
 * the page. */
const step = (key) =>
  new Promise((resolve) => {
    const begin = performance.now();
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const look = () => {
      const { moving, pending } = window.tachoTest.seen();
      if (!moving && pending === 0) return resolve(performance.now() - begin);
      setTimeout(look, 1);
    };
    setTimeout(look, 1);
  });

/** A walk that a person could take: in, sideways, out, from places that a seed chooses. */
function* walk(steps) {
  let seed = 12345;
  const next = (count) => (seed = (seed * 1103515245 + 12345) % 2147483648) % count;
  for (let i = 0; i < steps; i++) yield "wwwwaaddddsss"[next(13)];
}

async function measurePage(address, steps) {
  const opened = await openPage(address);
  const first = await (await opened.page.waitForFunction(settled, undefined, { polling: 10, timeout: 120_000 })).jsonValue();
  const session = await opened.context.newCDPSession(opened.page);
  await opened.page.evaluate(() => performance.clearResourceTimings() ?? performance.setResourceTimingBufferSize(10000));
  const whole = [];
  const frames = [];
  for (const key of walk(steps)) {
    whole.push(await opened.page.evaluate(step, key));
    frames.push(...(await opened.page.evaluate(() => window.tachoTest.seen().frames.splice(0)))); // the page's own list
  }
  const answers = await opened.page.evaluate(() => performance.getEntriesByType("resource").filter((entry) => entry.name.includes("/tile")).map((entry) => entry.duration));
  await session.send("HeapProfiler.collectGarbage");
  const figuresOfPage = { first_picture_ms: first, step_ms: spread(whole), frame_ms: spread(frames), memory_mb: pageMemory(), complaints: opened.complaints };
  if (answers.length > 0) figuresOfPage.tile_answer_ms = { ...spread(answers), count: answers.length };
  await opened.context.close();
  return figuresOfPage;
}

/** Of a report, or of the folder of a job's reports. */
function bytesOf(path) {
  const about = statSync(path);
  return about.isDirectory() ? readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0) : about.size;
}

async function measureServer(events) {
  const path = asked.file ?? make(events);
  const begin = performance.now();
  const server = await serve(path);
  const ready = performance.now() - begin;
  const page = await measurePage(server.address, Number(asked.steps));
  return { ...(asked.file ? { file: path } : { events }), report_mb: bytesOf(path) / 1e6, server_ready_ms: ready, ...page, server_memory_mb: memoryOf(server.child.pid, "VmHWM") };
}

async function measureAlone(events) {
  const path = make(events);
  const html = join(folder, "alone.html");
  const begin = performance.now();
  const done = spawnSync(process.env.TACHO, ["export", "--type", "html", "-o", html, path], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
  const exported = performance.now() - begin;
  return { events, export_ms: exported, file_mb: statSync(html).size / 1e6, ...(await measurePage(`file://${html}`, Number(asked.steps) / 4)) };
}

try {
  figures.served = await measureServer(Number(asked.events));
  if (Number(asked.alone) > 0) figures.alone = await measureAlone(Number(asked.alone));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const text = JSON.stringify(figures, (_, value) => (typeof value === "number" ? Math.round(value * 10) / 10 : value), 2);
console.log(text);
if (asked.json) writeFileSync(asked.json, text + "\n");
await finish();
