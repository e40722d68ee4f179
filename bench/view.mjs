#!/usr/bin/env node
// How quick the timeline is: the server's start, the first picture, each step of a walk through the report, frames while it moves,
// and what it all takes of memory, and the slow answers (a trace, a query); then the same of a page that stands alone, and Perfetto's page
// beside Tacho's on the same events.
//
//   node bench/view.mjs [--events 10000000 | --file REPORT-OR-FOLDER] [--steps 200] [--alone 1000000] [--perfetto 1000000] [--json FILE]
//
// Reports are made by bench/report/make_events.c with a fixed seed: of N events 40 % are kernels, 40 % the calls that launched them,
// 20 % nested ranges, on 4 threads and 8 streams. Takes Tacho from TACHO (build/bin/tacho), the maker of reports from PROGRAMS
// (build/bench), npm's packages from WEB (build/web). --events 0 and --alone 0 leave their parts out. --perfetto N (0 unless given) opens N
// events in Tacho's page and, as `tacho export --type perfetto` writes them, in Perfetto's, which pip fetches once into PERFETTO
// (build/perfetto); frames of both are the time between two of the browser's while the keys w, d, s and a are held. The browser is
// Debian's Chromium, headless and without a GPU: its frames are drawn by the CPU.

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
const { fetchPerfetto, perfettoReady, servePerfetto } = await import("./perfetto.mjs");

const { values: asked } = parseArgs({
  options: { file: { type: "string" }, events: { type: "string", default: "10000000" }, steps: { type: "string", default: "200" }, alone: { type: "string", default: "1000000" }, perfetto: { type: "string", default: "0" }, json: { type: "string" } },
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

/** The largest of the browser's processes that show pages, in MB of memory that is its share. Other browsers may run on the machine. */
const parentOf = (pid) => Number(readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /s, "").split(" ")[1]);
const isOurs = (pid) => pid > 1 && (pid === process.pid || isOurs(parentOf(pid)));
const renderers = () => readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && safe(() => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--type=renderer") && isOurs(Number(pid))));
function pageMemory() {
  return Math.max(...renderers().map((pid) => safe(() => memoryOf(pid, "Pss")) ?? 0));
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

/** Since the page was asked for, in ms, once the panel Summary shows how busy the GPU was and the top kernels. Runs in the page. */
const summarised = () => document.querySelector("#panel-summary .tile") && document.querySelector("#panel-summary .summary-line") && performance.now();

async function measurePage(address, steps) {
  const opened = await openPage(address, { summary: true });
  const first = await (await opened.page.waitForFunction(settled, undefined, { polling: 10, timeout: 120_000 })).jsonValue();
  const cpu = Math.max(...renderers().map((pid) => safe(() => cpuOf(pid)) ?? 0)); // of the page's threads and its engine's, until here
  const summary = await (await opened.page.waitForFunction(summarised, undefined, { polling: 10, timeout: 60_000 })).jsonValue();
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
  const figuresOfPage = { first_picture_ms: first, first_picture_cpu_ms: cpu, summary_after_picture_ms: Math.max(0, summary - first), step_ms: spread(whole), frame_ms: spread(frames), memory_mb: pageMemory(), complaints: opened.complaints };
  if (answers.length > 0) figuresOfPage.tile_answer_ms = { ...spread(answers), count: answers.length };
  await opened.context.close();
  return figuresOfPage;
}

/** Of a report, or of the folder of a job's reports. */
function bytesOf(path) {
  const about = statSync(path);
  return about.isDirectory() ? readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0) : about.size;
}

/** CPU time of a process's threads, in ms: what others take of a busy machine does not count. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /s, "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** The answers that once took seconds, wall and CPU time in ms: the first rows, and the true answer. */
async function slowAnswers(address, pid) {
  const { origin, searchParams } = new URL(address);
  const headers = { "X-Tacho-Token": searchParams.get("token") };
  const took = async (request, body) => {
    const [begin, cpu] = [performance.now(), cpuOf(pid)];
    const answer = await fetch(`${origin}/api/${request}`, { headers, method: body ? "POST" : "GET", body });
    await answer.text();
    return answer.ok ? { wall: performance.now() - begin, cpu: cpuOf(pid) - cpu } : null;
  };
  const group = "SELECT value AS kernel, count(*) AS calls, sum(k.end - k.start) AS total_ns FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds ON id = k.shortName GROUP BY value ORDER BY total_ns DESC LIMIT 20";
  const number = "SELECT shortName, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY shortName";
  return {
    cuda_gpu_trace_1000_rows_ms: await took("table?report=cuda_gpu_trace&limit=1000"),
    cuda_api_trace_1000_rows_ms: await took("table?report=cuda_api_trace&limit=1000"),
    sql_group_by_name_first_ms: await took("sql?first=1", group),
    sql_group_by_name_ms: await took("sql", group),
    sql_group_by_number_first_ms: await took("sql?first=1", number),
    sql_group_by_number_ms: await took("sql", number),
  };
}

async function measureServer(events) {
  const path = asked.file ?? make(events);
  const begin = performance.now();
  const server = await serve(path);
  const ready = performance.now() - begin;
  const readyCpu = cpuOf(server.child.pid);
  const page = await measurePage(server.address, Number(asked.steps));
  const slow = asked.file ? {} : { answers: await slowAnswers(server.address, server.child.pid) };
  return { ...(asked.file ? { file: path } : { events }), report_mb: bytesOf(path) / 1e6, server_ready_ms: ready, server_ready_cpu_ms: readyCpu, ...page, ...slow, server_memory_mb: memoryOf(server.child.pid, "VmHWM") };
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

/** The time between two frames of the browser while a key is held, in ms: the same for any page. */
async function heldFrames(page) {
  await page.mouse.move(800, 400);
  await page.evaluate(() => {
    window.benchFrames = [];
    let last = performance.now();
    const tick = (now) => {
      window.benchFrames.push(now - last);
      last = now;
      window.benchRuns && requestAnimationFrame(tick);
    };
    window.benchRuns = true;
    requestAnimationFrame(tick);
  });
  for (const key of "wwddssaawdsa") {
    await page.keyboard.down(key);
    await page.waitForTimeout(400);
    await page.keyboard.up(key);
  }
  return spread(await page.evaluate(() => ((window.benchRuns = false), window.benchFrames)));
}

const PERFETTO_MS = 600_000; // so long it may take until it shows the trace

async function measurePerfetto(events) {
  const path = make(events);
  const trace = join(folder, "events.pftrace");
  const begin = performance.now();
  execFileSync(process.env.TACHO, ["export", "-q", "-f", "true", "--type", "perfetto", "-o", trace, path]);
  const exported = performance.now() - begin;
  const server = await serve(path);
  const tacho = await openPage(server.address, { summary: true });
  const tachoFirst = await (await tacho.page.waitForFunction(settled, undefined, { polling: 10, timeout: 120_000 })).jsonValue();
  await tacho.page.locator("canvas.tracks").focus();
  const ours = { ready_ms: tachoFirst, frame_interval_ms: await heldFrames(tacho.page), memory_mb: pageMemory(), server_memory_mb: memoryOf(server.child.pid, "VmHWM") };
  await tacho.context.close();
  server.child.kill();

  const theirs = await servePerfetto(fetchPerfetto(process.env.PERFETTO ?? join(build, "perfetto")), trace);
  const opened = await openPage(theirs.address, { permissions: [] });
  const perfetto = { trace_mb: statSync(trace).size / 1e6, export_ms: exported };
  try {
    await perfettoReady(opened.page, PERFETTO_MS);
    perfetto.ready_ms = await opened.page.evaluate(() => performance.now());
    perfetto.frame_interval_ms = await heldFrames(opened.page);
  } catch (error) {
    perfetto.failed = String(error.message).split("\n")[0];
  }
  perfetto.memory_mb = pageMemory();
  await opened.context.close();
  theirs.close();
  return { events, tacho: ours, perfetto };
}

try {
  if (asked.file || Number(asked.events) > 0) figures.served = await measureServer(Number(asked.events));
  if (Number(asked.alone) > 0) figures.alone = await measureAlone(Number(asked.alone));
  if (Number(asked.perfetto) > 0) figures.beside_perfetto = await measurePerfetto(Number(asked.perfetto));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const text = JSON.stringify(figures, (_, value) => (typeof value === "number" ? Math.round(value * 10) / 10 : value), 2);
console.log(text);
if (asked.json) writeFileSync(asked.json, text + "\n");
await finish();
