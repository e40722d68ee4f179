// How the page's questions become requests, and in which order they go when there are more than can be under way.
import { assert, finish, loadSource, test } from "./lib.mjs";

const { RequestEngine, requestOf } = await loadSource("engine/requests.ts");

/** An engine whose answers come when the test says so. */
class Held extends RequestEngine {
  sent = [];
  constructor(atOnce) {
    super(atOnce);
  }
  carry(request, body, signal) {
    return new Promise((resolve, reject) => this.sent.push({ request, body, signal, reject, answer: (value) => resolve(new TextEncoder().encode(JSON.stringify(value)).buffer) }));
  }
  requests() {
    return this.sent.map(({ request }) => request);
  }
}
const turn = () => new Promise((resolve) => setTimeout(resolve));

await test("values are encoded, whole nanoseconds, and left out where they are not given", async () => {
  assert.equal(requestOf("find", { text: "a&b=c %", mode: "regex", case: true, row: undefined, name: 0 }), "find?text=a%26b%3Dc%20%25&mode=regex&case=1&name=0");
  assert.equal(requestOf("rows"), "rows");
  const engine = new Held(99);
  void engine.table("cuda_gpu_kern_sum", { from: 1.5, to: 2.5 }, 10);
  void engine.at(3, 7.9, 1, 0.2);
  void engine.next({ name: 5 }, -0.5, true, { row: 1, event: 2 });
  void engine.flame("cpu", { from: 0, to: 9, tid: 12, row: 4 });
  void engine.at(3, 9.1e15, 0, 9.2e15);
  assert.deepEqual(engine.requests(), [
    "table?report=cuda_gpu_kern_sum&from=1&to=3&limit=10", "at?row=3&time=7&lane=1&slack=1", "next?name=5&at=-1&back=1&after=1%2C2", "flame?source=cpu&from=0&to=9&row=4&thread=12",
    "at?row=3&time=9007199254740992&lane=0&slack=9007199254740992",
  ]);
});

await test("the same question that is under way is asked once, and afterwards again", async () => {
  const engine = new Held(9);
  const both = [engine.event(1, 2), engine.event(1, 2)];
  assert.equal(engine.sent.length, 1);
  engine.sent[0].answer({ name: "x" });
  assert.deepEqual(await Promise.all(both), [{ name: "x" }, { name: "x" }]);
  void engine.event(1, 2);
  assert.equal(engine.sent.length, 2);
});

await test("what is quick goes before pictures, the newest picture first, and what takes long last", async () => {
  const engine = new Held(1);
  const asked = [
    engine.event(0, 0), engine.advice(), engine.table("t", {}, 1), ...[0, 1, 2].map((index) => engine.tiles([1], 0, index)), engine.event(1, 1), engine.names([5]),
  ].map((one) => one.catch(() => null));
  for (let i = 0; i < asked.length; i++) {
    engine.sent[i].reject(new Error("no"));
    await turn();
  }
  await Promise.all(asked);
  assert.deepEqual(engine.requests().slice(1), [
    "event?row=1&event=1", "names?ids=5", "tile?rows=1&level=0&index=2", "tile?rows=1&level=0&index=1", "tile?rows=1&level=0&index=0", "advice?step=1", "table?report=t&limit=1",
  ]);
});

await test("advice waits until nobody moves", async () => {
  const engine = new Held(9);
  void engine.tiles([1], 0, 0);
  void engine.advice();
  await turn();
  assert.deepEqual(engine.requests(), ["tile?rows=1&level=0&index=0"]);
  await new Promise((resolve) => {
    const look = () => (engine.sent.length > 1 ? resolve() : setTimeout(look, 10));
    look();
  });
  assert.equal(engine.requests()[1], "advice?step=1");
});

await test("a summary is asked for part by part, after its quick parts, and while nobody moves if they take long", async () => {
  const engine = new Held(9);
  const got = [];
  void engine.tiles([1], 0, 0);
  const [part, long] = [{ long: false, complete: false }, { long: true, complete: false }];
  const quick = engine.quickSummary();
  await turn();
  engine.sent.at(-1).answer(part);
  assert.deepEqual([await quick, engine.requests().slice(1)], [part, ["summary?quick=1"]]);
  const whole = engine.summary((summary) => got.push(summary));
  await turn();
  engine.sent.at(-1).answer(part);
  await turn();
  engine.sent.at(-1).answer(long);
  await turn();
  assert.equal(engine.sent.length, 4, "it waits for calm");
  await new Promise((resolve) => {
    const look = () => (engine.sent.length > 4 ? resolve() : setTimeout(look, 10));
    look();
  });
  engine.sent.at(-1).answer({ long: false, complete: true });
  await whole;
  assert.equal(got.length, 3);
});

await test("the causes of a large report wait until nobody moves, those of a small one do not", async () => {
  const engine = new Held(9);
  void engine.tiles([1], 0, 0);
  void engine.idle(true);
  await turn();
  assert.equal(engine.sent.length, 1, "it waits for calm");
  void engine.idle(false);
  await turn();
  assert.equal(engine.requests()[1], "idle");
});

await test("no more are under way than the engine can do", async () => {
  const engine = new Held(4);
  for (let i = 0; i < 10; i++) engine.event(0, i).catch(() => null);
  assert.equal(engine.sent.length, 4);
  engine.sent[2].reject(new Error("no"));
  await turn();
  assert.equal(engine.sent.length, 5);
});

await test("what nobody waits for is called off: on its way it is told, and what has not begun never does", async () => {
  const engine = new Held(3); // of which one may take long
  const [first, second] = [new AbortController(), new AbortController()];
  void engine.table("running", {}, 1, first.signal).catch(() => null);
  const refused = assert.rejects(engine.table("waiting", {}, 1, second.signal), /was cancelled/);
  void engine.table("last", {}, 1);
  assert.deepEqual(engine.requests(), ["table?report=running&limit=1"]);
  first.abort();
  second.abort();
  assert.ok(engine.sent[0].signal.aborted);
  engine.sent[0].reject(new Error("aborted"));
  await refused;
  await turn();
  assert.deepEqual(engine.requests().slice(1), ["table?report=last&limit=1"]);
});

await test("what takes long leaves room for what is answered at once", async () => {
  const engine = new Held(4);
  for (let i = 0; i < 5; i++) engine.table(`t${i}`, {}, 1).catch(() => null);
  assert.equal(engine.sent.length, 2);
  void engine.event(0, 0).catch(() => null);
  assert.equal(engine.requests()[2], "event?row=0&event=0");
});

await test("what waits when an engine is closed is told so, and nothing more is asked", async () => {
  const engine = new Held(1);
  void engine.event(0, 0);
  const waits = assert.rejects(engine.event(0, 1), /closed/);
  engine.close();
  await waits;
  await assert.rejects(engine.about(), /closed/);
  assert.equal(engine.sent.length, 1);
});
await test("of kept notes only what is one comes through", async () => {
  const { readNotes } = await loadSource("engine/notes.ts");
  const bare = { id: "12-ab", time: 5, to: 9, row: 2, text: "<b>", colour: 3 }; // as in files of before there were stories
  const plain = { note: "", place: "", table: null };
  const good = { ...bare, ...plain };
  assert.deepEqual(readNotes([bare, null, 7, "x", [], {}, { ...good, time: null }, { ...good, time: 1e300 }, { time: -3, id: '"]', to: "9", row: {}, text: 4, colour: -1.5 }]), [
    good, { id: "note-8", time: -3, to: null, row: -1, text: "", colour: 0, ...plain },
  ]);
  for (const nothing of [undefined, null, "x", { length: 3 }]) assert.deepEqual(readNotes(nothing), []);
});

await finish();
