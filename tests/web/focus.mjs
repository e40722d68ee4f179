// Focus: only the rows of the selected event's chain, with few arrows. What belongs to the chain is asked of the report in SQL.

import { execFileSync } from "node:child_process";
import { assert, finish, loadSource, report, settled, shot, test, until, view } from "./lib.mjs";

const { chainLinks, MOST_ARROWS } = await loadSource("timeline/chain.ts");

await test("of many links the longest of each kind are kept, each pair once, eight in all", () => {
  const event = (row, number, from, to) => ({ row, event: number, name: "", from, to });
  const kernels = Array.from({ length: 50 }, (_, i) => ({ ...event(1, i, i * 10, i * 10 + i), kind: "kernels", label: "" }));
  const self = { ...event(0, 0, 0, 9), links: [...kernels, { ...event(2, 0, 0, 1), kind: "collective", label: "" }] };
  const kernel = { ...event(1, 49, 490, 539), links: [{ ...event(3, 7, 5, 6), kind: "launched-by", label: "" }, { ...event(0, 0, 0, 9), kind: "kernels", label: "" }] };
  const links = chainLinks([self, kernel]);
  assert.deepEqual(links.map(({ kind, to }) => [kind, to.row, to.event]), [["launched-by", 3, 7], ["kernels", 1, 49], ["kernels", 1, 48], ["kernels", 1, 47]]);
  const many = Array.from({ length: 9 }, (_, i) => ({ ...event(5, i, 0, 1), links: kernels.slice(i * 3, i * 3 + 3) }));
  assert.equal(chainLinks(many).length, MOST_ARROWS);
});

const file = report("nsys/resnet18.sqlite.gz");
const sql = (statement) => JSON.parse(execFileSync(process.env.TACHO, ["sql", "-f", "json", file, statement], { encoding: "utf8" }));
const shown = await view(file);
const { page } = shown;
const press = async (key) => {
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press(key);
};
const all = await settled(page);
const { origin, rows } = await page.evaluate(async () => {
  const headers = { "X-Tacho-Token": new URLSearchParams(location.search).get("token") };
  const [about, list] = await Promise.all(["about", "rows"].map((request) => fetch(`api/${request}`, { headers }).then((answer) => answer.json())));
  return { origin: about.origin, rows: list.rows };
});
const typeOf = (id) => rows.find((row) => row.id === id)?.type;

/** Selects the first event of a name. */
async function select(name) {
  await press("/");
  await page.locator(".search input:focus").fill(name);
  await page.keyboard.press("Enter");
  await page.locator("#panel-details .details-name").filter({ hasText: name }).waitFor();
  await page.keyboard.press("Escape");
  await settled(page);
}

await test("a kernel with its call, its operator, its ranges and its thread, and nothing else", async () => {
  const [kernel] = sql("SELECT k.start AS start, k.correlationId AS id, s.value AS name FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName ORDER BY k.start LIMIT 1");
  const [call] = sql(`SELECT start FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = ${kernel.id}`);
  await select(kernel.name);
  await press("c");
  const isFocused = ({ rows: lines }) => lines.length > 0 && lines.every(({ type }) => !["gpu", "process", "context", "thread"].includes(type));
  const seen = await settled(page, isFocused, "named");
  const types = new Set(seen.rows.map(({ type }) => type));
  for (const type of ["stream", "cuda-api", "nvtx", "state"]) assert.ok(types.has(type), `${type} is not among ${[...types]}`);
  assert.ok(seen.rows.length < all.rows.length && !types.has("osrt"), [...types].join());
  const at = (time) => Number(BigInt(time) - BigInt(origin));
  assert.ok(seen.events.some(({ row, from }) => typeOf(row) === "cuda-api" && from === at(call.start)), "the call is in sight");
  assert.ok(seen.arrows.length > 0 && seen.arrows.length <= 8, `${seen.arrows.length} arrows`);
  assert.ok(seen.arrows.some(({ kind }) => kind === "launched-by"), "an arrow comes from the call");
  await until(() => page.url(), (url) => /[#&]ch=1/.test(url), "the focus in the link");
  await shot(page, "focus-kernel");
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await page.waitForFunction(() => window.tachoTest !== undefined);
  const again = await settled(page, isFocused);
  assert.deepEqual(again.rows.map(({ id }) => id), seen.rows.map(({ id }) => id), "a link shows the same rows");
  await press("c");
  await settled(page, ({ rows: lines }) => lines.some(({ type }) => type === "gpu" || type === "process" || type === "thread"));
});

await test("an operator with its partner and at most eight arrows; Escape leaves", async () => {
  await select("aten::conv2d");
  await press("c");
  const seen = await settled(page, ({ arrows, rows: lines }) => arrows.length > 0 && lines.every(({ type }) => type !== "process"));
  assert.ok(seen.arrows.length <= 8);
  await shot(page, "focus-operator");
  await press("Escape");
  await settled(page, ({ rows: lines }) => lines.some(({ type }) => type === "process" || type === "thread" || type === "gpu"));
  assert.match(page.url(), /[#&]e=/, "the event stays selected");
  await press("Escape");
  await press("c");
  await page.locator(".toast").filter({ hasText: "Select an event first" }).waitFor();
});

await test("nothing went wrong in the browser", () => assert.deepEqual([shown.complaints, shown.refused], [[], []]));
await finish();
