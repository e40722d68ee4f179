// Advice on a program without a GPU: three workers and one lock (tests/trace/contended.c). What matters comes first, a click leads
// to it, and what was not checked is named.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { assert, finish, scratch, shot, test, until, view } from "./lib.mjs";

const source = readFileSync(join(dirname(fileURLToPath(import.meta.url)), "..", "trace", "contended.c"), "utf8").split("\n");
const line = source.findIndex((text) => text.includes("/* waits */")) + 1;
const file = join(scratch(), "contended.tacho");
execFileSync(process.env.TACHO, ["profile", "-o", file, join(process.env.PROGRAMS ?? "", "contended")], { stdio: "ignore" });
const { page, complaints } = await view(file);
const panel = page.locator("#panel-advice");

await test("the contended lock comes first, with holder and line", async () => {
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press("v");
  const first = panel.locator("tbody tr[data-index='0']");
  await first.waitFor();
  await shot(page, "advice-lock");
  assert.match(await first.locator("td").nth(3).textContent(), new RegExp(`take_turn \\(contended\\.c:${line}\\)`));
  assert.equal(await panel.locator(".advice-sentence strong").textContent(), "Contended Locks");
  const finding = await panel.locator(".advice-sentence .finding").textContent();
  assert.match(finding, new RegExp(`^lock queue_lock \\(contended\\): [23] threads waited .* in take_turn \\(contended\\.c:${line}\\), .*; held (for .* of it )?by worker\\d \\(\\d+\\), which was in crunch \\(contended\\.c:\\d+\\)`));
});

await test("a click leads to the longest wait", async () => {
  await panel.locator("tbody tr[data-index='0']").click();
  const heading = page.locator("#panel-details .details-name .name");
  await page.locator("#tab-details").click();
  assert.equal(await until(() => heading.textContent(), (text) => text !== ""), "pthread_mutex_lock");
});

await test("rules on other kinds of programs are not named", async () => {
  await page.locator("#tab-advice").click();
  assert.doesNotMatch(await panel.textContent(), /DX12|GIL|CUDA|nothing to improve/);
});

await test("rules without data are named, with the option that records it", async () => {
  const bare = join(scratch(), "bare.tacho");
  execFileSync(process.env.TACHO, ["profile", "-t", "none", "-o", bare, join(process.env.PROGRAMS ?? "", "contended")], { stdio: "ignore" });
  const other = await view(bare);
  await other.page.locator("canvas.tracks").focus();
  await other.page.keyboard.press("v");
  const unchecked = other.page.locator("#panel-advice .unchecked");
  await unchecked.locator("summary").click();
  assert.match(await unchecked.textContent(), /Contended Locks: the report has no OS calls\. Record it with --trace=osrt\./);
  assert.deepEqual(other.complaints, []);
});

await test("nothing else went wrong", () => assert.deepEqual(complaints, []));
await finish();
