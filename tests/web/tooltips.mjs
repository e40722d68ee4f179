// Tooltips tell where an event comes from: the operator that it belongs to and the first line of the program's own code, as the captures
// themselves say (PyTorch's trace as JSON, nsys's by SQLite). A tooltip shows what is known at once; the engine is asked when the pointer
// rests, once for an event, and no longer when the pointer has left.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { assert, finish, loadSource, report, settled, shot, test, view } from "./lib.mjs";

const { tipLines } = await loadSource("timeline/tip_lines.ts");
const file = report("kineto/train.json.gz");
const shown = await view(file);
const { page } = shown;
const asked = [];
let keyed = 0; // questions of the test itself
page.on("request", (request) => request.url().includes("api/event?") && asked.push(request.url()));

const ask = (at, request) => at.evaluate((words) => fetch(`api/${words}`, { headers: { "X-Tacho-Token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()), request);
/** Only a key into the capture: which of its events this one is. */
async function correlation(at, { row, event }) {
  keyed += at === page ? 1 : 0;
  return (await ask(at, `event?row=${row}&event=${event}`)).fields.find(({ name }) => name === "correlationId")?.value;
}

/** Some events of rows of a type that are wide enough to point at, from all over the picture, but not where the scroll bar is. */
async function wide(at, type, most) {
  const { rows, events, view: now } = await settled(at, ({ rows: lines, events: all }) => lines.some((line) => line.type === type && all.some(({ row, w }) => row === line.id && w >= 4)), "named");
  const ids = new Set(rows.filter((row) => row.type === type).map(({ id }) => id));
  const found = events.filter(({ row, x, w, from }) => ids.has(row) && w >= 4 && from >= now.from && x + w <= 1240);
  return found.filter((_, index) => index % Math.ceil(found.length / most) === 0);
}

const tipOf = (at) => at.locator(".timeline .tip");
async function leave(at) {
  await at.mouse.move(700, 5);
  await tipOf(at).waitFor({ state: "hidden" });
}
async function hover(at, { x, y, w, h }) {
  await leave(at);
  await at.mouse.move(x + w / 2, y + h / 2);
  await tipOf(at).waitFor();
  await tipOf(at).locator(".tip-lines").waitFor({ state: "attached" });
  const textOf = async (part) => ((await tipOf(at).locator(part).count()) > 0 ? tipOf(at).locator(part).first().textContent() : null);
  return { operator: await textOf(".tip-operator"), own: await textOf(".tip-own") };
}

// ---- PyTorch's trace ----

const { traceEvents } = JSON.parse(readFileSync(file, "utf8"));
const of = (...kinds) => traceEvents.filter(({ cat }) => kinds.includes(cat));
const calls = new Map(of("cuda_runtime", "cuda_driver").map((call) => [call.args.correlation, call]));
/** The innermost of these events around a call, on its thread. */
const innermost = (events, call) => events.filter(({ tid, ts, dur }) => tid === call.tid && ts <= call.ts && ts + dur >= call.ts + call.dur).sort((a, b) => a.dur - b.dur)[0];
const operators = of("cpu_op");
const functions = of("python_function").filter(({ name }) => name.startsWith("kineto_cap.py("));

/** What the tooltip of work, or of a call, is to say. */
function truthOf(correlationId) {
  const call = calls.get(correlationId);
  const line = innermost(functions, call);
  const [, number, name] = /^kineto_cap\.py\((\d+)\): (.*)$/.exec(line?.name ?? "") ?? [];
  const operator = innermost(operators, call)?.name;
  return { operator: operator === undefined ? null : `in ${operator}`, own: line ? `${name} kineto_cap.py:${number}` : null };
}

/** The first work, which the forward part launches: autograd's thread has no Python of its own. */
async function showFirstWork() {
  const { rows } = await ask(page, "rows");
  const { id } = rows.find(({ type }) => type === "stream");
  const [first, last] = (await ask(page, `events?rows=${id}&limit=13`)).events.filter((_, index) => index % 12 === 0);
  const [from, to] = [first.from - 300_000, last.to];
  await page.evaluate((hash) => (location.hash = hash), `v=${from}-${to}`);
  await settled(page, ({ view: now }) => Math.abs(now.from - from) < 2 && Math.abs(now.to - to) < 2);
}

await showFirstWork();
for (const [type, words] of [["stream", "work on a GPU"], ["cuda-api", "a CUDA call"]]) {
  await test(`of ${words}, the operator and the line of the program`, async () => {
    const events = await wide(page, type, 8);
    let compared = 0;
    for (const event of events) {
      const truth = truthOf(await correlation(page, event));
      assert.deepEqual(await hover(page, event), truth, event.name);
      compared++;
    }
    assert.ok(compared >= 2, `${compared} events compared`);
    await shot(page, `tooltip-${type}`);
  });
}

await test("of an operator, the one around it", async () => {
  const outer = { "aten::convolution": "aten::conv2d", "aten::_convolution": "aten::convolution", "aten::cudnn_convolution": "aten::_convolution" };
  const nested = (await wide(page, "torch", 40)).filter(({ name }) => name in outer).slice(0, 3);
  assert.ok(nested.length >= 2, `${nested.length} operators`);
  for (const { name, ts, dur, tid } of operators.filter(({ name: one }) => one in outer)) { // what the trace says of all of them
    const around = operators.filter((one) => one.tid === tid && one.ts <= ts && one.ts + one.dur >= ts + dur && one.dur > dur).sort((a, b) => a.dur - b.dur)[0];
    assert.equal(around?.name, outer[name]);
  }
  for (const event of nested) assert.equal((await hover(page, event)).operator, `in ${outer[event.name]}`);
});

await test("the engine is asked for little, and once for each event", async () => {
  const [event] = await wide(page, "stream", 1);
  const about = () => asked.filter((request) => request.includes(`row=${event.row}&event=${event.event}&brief=1`)).length;
  await hover(page, event);
  await hover(page, event);
  assert.equal(about(), 1);
  const inFull = asked.filter((request) => !request.includes("brief=1"));
  assert.equal(inFull.length, keyed, `${inFull.length - keyed} questions in full that the test did not ask`);
});

await test("the name and the length do not wait for the engine, and a pointer that leaves calls the question off", async () => {
  const events = (await wide(page, "cuda-api", 20)).filter(({ event }) => !asked.some((request) => request.includes(`event=${event}&brief=1`)));
  const event = events[events.length - 1];
  let release = () => {};
  const held = new Promise((resolve) => (release = resolve));
  await page.route(/api\/event\?.*brief=1/, async (route) => {
    await held;
    await route.continue().catch(() => {}); // the one that was called off
  });
  const lost = page.waitForEvent("requestfailed", (request) => request.url().includes("brief=1"));
  const sent = page.waitForRequest(/brief=1/);
  await leave(page);
  await page.mouse.move(event.x + event.w / 2, event.y + event.h / 2);
  await sent;
  assert.match(await tipOf(page).textContent(), new RegExp(`^${event.name}`));
  assert.equal(await tipOf(page).locator(".tip-lines").count(), 0);
  await leave(page);
  await lost;
  release();
  await page.unroute(/api\/event\?.*brief=1/);
  assert.deepEqual(await hover(page, event), truthOf(await correlation(page, event)), "and asks again the next time");
});

// ---- nsys's capture ----

/** The innermost operator of emit_nvtx around the launch of each kernel, by its correlation id. */
const SCRIPT = `
import json, re, sqlite3, sys
base = sqlite3.connect(sys.argv[1])
ranges = base.execute("SELECT start, end, globalTid, coalesce(text, value) FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId WHERE end IS NOT NULL").fetchall()
ranges = [one for one in ranges if ", op_id = " in (one[3] or "") or (one[3] or "").startswith("aten::")]
def operator(start, end, thread):
    around = [one for one in ranges if one[2] == thread and one[0] <= start and one[1] >= end]
    return re.sub(r", (seq|op_id|sizes|input_op_ids) = .*", "", max(around, key=lambda one: (one[0], -one[1]))[3]) if around else None
print(json.dumps({c: operator(s, e, t) for c, s, e, t in base.execute("SELECT r.correlationId, r.start, r.end, r.globalTid FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)")}))
`;

await test("of a capture of nsys, the operator that SQLite finds", async () => {
  const path = report("nsys/resnet18.sqlite.gz");
  const truth = JSON.parse(execFileSync("python3", ["-c", SCRIPT, path], { encoding: "utf8" }));
  const other = await view(path);
  let compared = 0;
  for (const event of await wide(other.page, "stream", 8)) {
    const expected = truth[await correlation(other.page, event)];
    if (expected === undefined || expected === null) continue; // a copy or a fill, or work of no operator
    assert.deepEqual(await hover(other.page, event), { operator: `in ${expected}`, own: null }, event.name);
    compared++;
  }
  assert.ok(compared >= 2, `${compared} kernels compared`);
  assert.deepEqual(other.complaints, []);
});

await test("without operators the innermost range, without Python the native stack, without own code the innermost frames", () => {
  const details = { fields: [], around: [{ row: 1, name: "outer" }, { row: 2, name: "range" }], operator: null, python: null, stack: null, gap: null, from: 0, to: 1 };
  const typeOf = (row) => (row === 2 ? "nvtx" : "python");
  assert.equal(tipLines(details, typeOf).operator, "range");
  assert.equal(tipLines({ ...details, around: [details.around[0]] }, typeOf).operator, "");
  const [library, own] = [{ name: "read", library: "libc" }, { name: "work" }];
  assert.equal(tipLines({ ...details, stack: { frames: [library, own] } }, typeOf).own, own);
  assert.deepEqual(tipLines({ ...details, stack: { frames: [library] } }, typeOf).frames, [library]);
  assert.equal(tipLines({ ...details, python: { frames: [{ name: "forward", library: "torch" }] }, stack: { frames: [own] } }, typeOf).own, own);
});

await test("nothing else went wrong", () => assert.deepEqual(shown.complaints, []));
await finish();
