// The reader inside the page answers as `tacho view` does, byte for byte: the same C, compiled to WebAssembly. Reports, and
// files of other profilers that it imports itself.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { all, assert, finish, loadSource, report, scratch, serve, skip, test } from "./lib.mjs";

const wasm = join(process.env.PAGE ?? "", "tacho.wasm");
if (!existsSync(wasm)) skip("tacho.wasm was not built");
const { Reader } = await loadSource("engine/reader.ts");

async function inPage(file) {
  const reader = await Reader.start(readFileSync(wasm));
  reader.open(basename(file), readFileSync(file));
  return reader;
}

async function onServer(file) {
  const { address } = await serve(file);
  const token = new URL(address).searchParams.get("token");
  return async (request, body) => {
    const answer = await fetch(new URL(`/api/${request}`, address), { method: body === undefined ? "GET" : "POST", body, headers: { "X-Tacho-Token": token } });
    return { ok: answer.ok, bytes: Buffer.from(await answer.arrayBuffer()) };
  };
}

/** Requests that touch every part of a report: each kind, rows at several levels, every table that it has data for. */
async function requestsFor(ask) {
  const json = async (request) => JSON.parse((await ask(request)).bytes.toString());
  const about = await json("about"), { rows } = await json("rows");
  const drawn = rows.filter(({ kind }) => kind !== "group").map(({ id }) => id);
  const tiled = rows.map(({ id }) => id);
  const levels = [0, 10, Math.ceil(Math.log2((about.to - about.from) / 1024))];
  // "idle" first: it gives the gaps of GPUs their names.
  const requests = [["idle"], ["about"], ["rows"], ["overview?width=333"], ["advice"], ["find?text=a&mode=substring"], ["find?text=%5Ecuda&mode=regex"],
    ["next?text=a&mode=substring&at=0"], ["no-such-request"], ["tile?rows=999999&level=0&index=0"],
    ["flame?source=cpu"], ["flame?source=python"],
    ["sql", "SELECT name, count(*), avg(length(name)) FROM sqlite_master GROUP BY 1 ORDER BY 1"], ["sql", "SELECT nonsense"]];
  for (const level of levels) requests.push([`tile?rows=${tiled.join(",")}&level=${level}&index=${Math.floor(about.to / 2 / 2 ** level / 1024)}`]);
  for (const row of drawn) for (const event of [0, 1]) requests.push([`event?row=${row}&event=${event}`]);
  for (const row of drawn.slice(0, 3)) requests.push([`flame?source=events&row=${row}`]);
  for (const { name } of about.reports) requests.push([`table?report=${name}&limit=50`], [`table?report=${name}&limit=50&from=${Math.floor(about.to / 3)}&to=${Math.floor(about.to / 2)}`]);
  requests.push([`names?ids=${Array.from({ length: 300 }, (_, id) => id).join(",")}`]);
  return requests;
}

async function compare(native, reader, requests) {
  let answered = 0;
  for (const [request, body] of requests) {
    const expected = await native(request, body);
    let bytes = null, sentence = "";
    try {
      bytes = Buffer.from(reader.answer(request, body));
    } catch (error) {
      sentence = error.message;
    }
    if (expected.ok) assert.ok(bytes?.equals(expected.bytes), `${request}\n  server: ${expected.bytes.subarray(0, 600)}\n  page:   ${bytes?.subarray(0, 600) ?? sentence}`);
    else assert.equal(JSON.stringify({ error: sentence }), JSON.stringify(JSON.parse(expected.bytes.toString())), request);
    answered += expected.ok;
  }
  return answered;
}

/** A capture of our own: samples, states and calls, which the stored files have in part only. */
function captured() {
  const place = join(scratch(), "own.tacho");
  const made = spawnSync(process.env.TACHO, ["profile", "-o", place, join(process.env.PROGRAMS ?? "", "os_threads")], { encoding: "utf8" });
  assert.ok(existsSync(place), made.stderr);
  return place;
}

const own = captured();
await test("a capture of our own: every answer is the server's", async () => {
  const native = await onServer(own);
  assert.ok((await compare(native, await inPage(own), await requestsFor(native))) > 20, "too few of the requests were answered at all");
});

const few = ["nsys/wait_stream.sqlite.gz"], more = ["kineto/stacks.json.gz", "nsys/resnet18.sqlite.gz", "nsys/mix.sqlite.gz", "kineto/train.json.gz"];
for (const stored of all ? [...few, ...more] : few) {
  const file = report(stored), imported = `${file.replace(/\.[a-z]+$/, "")}.tacho`;
  const made = spawnSync(process.env.TACHO, ["import", "-o", imported, file], { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  const native = await onServer(imported);
  const requests = await requestsFor(native);

  await test(`${basename(imported)}: every answer is the server's`, async () => {
    assert.ok((await compare(native, await inPage(imported), requests)) > 20, "too few of the requests were answered at all");
  });
  await test(`${basename(file)}, imported in the page: the same rows, tiles and tables`, async () => {
    await compare(native, await inPage(file), requests.filter(([request]) => /^(idle|rows|tile|overview|table|find|flame)/.test(request)));
  });
}

await test("what is no report is refused in words", async () => {
  const reader = await Reader.start(readFileSync(wasm));
  for (const bytes of [Buffer.alloc(0), Buffer.from("hello"), Buffer.from("TACHO"), Buffer.from("SQLite format 3\0 and then nothing")])
    assert.throws(() => reader.open("x.tacho", bytes), /^Error: [a-zA-Z].{10,}/, JSON.stringify(bytes.toString()));
});

await test("a damaged report never stops the page", async () => {
  const file = report("nsys/mix.sqlite.gz"), imported = `${file}.tacho`;
  spawnSync(process.env.TACHO, ["import", "-o", imported, file]);
  const whole = readFileSync(imported);
  for (let at = 13; at < whole.length; at += Math.ceil(whole.length / (all ? 40 : 8))) {
    const damaged = Buffer.from(whole);
    damaged.fill(0xff, at, at + 64);
    const reader = await Reader.start(readFileSync(wasm));
    try {
      reader.open("damaged.tacho", damaged);
      reader.answer("rows");
    } catch (error) {
      assert.ok(!(error instanceof WebAssembly.RuntimeError), `byte ${at}: ${error.stack}`);
    }
  }
});
await finish();
