// Names that would like to be more than names: markup, scripts, a megabyte, right to left, bytes that are no UTF-8, nothing at all.
// They are shown as they are, everywhere, and nothing of them runs.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, finish, openTab, scratch, shot, test, until, view } from "./lib.mjs";

const MARKUP = '<img src=x onerror="window.caught=1"><script>window.caught=1</script>';
const LONG = `long_${"x".repeat(1_000_000)}_end`;
const RIGHT_TO_LEFT = "\u202eevil\u05e9\u05dc\u05d5\u05dd";
const names = [MARKUP, LONG, RIGHT_TO_LEFT, "]]>&lt;b&gt;&amp;", "\u0007bell\u0000nul", "javascript:window.caught=1", "", "${window.caught=1}{{1+1}}"];

/** A trace of PyTorch's profiler whose operators have such names; one has bytes that are no UTF-8. */
function trace() {
  const events = names.map((name, index) => ({ ph: "X", cat: "cpu_op", name, pid: 1, tid: 1, ts: 1000 + index * 100, dur: index === 3 ? 0 : 80, args: { note: MARKUP, "External id": index + 1 } }));
  events.push({ ph: "X", cat: "cpu_op", name: "BROKEN", pid: 1, tid: 1, ts: 5000, dur: 10, args: {} });
  for (const [index, name] of [MARKUP, RIGHT_TO_LEFT, "a|b`c`"].entries()) { // work on a GPU, in steps, so that every panel has something to say
    const correlation = 100 + index, ts = 6000 + index * 500;
    events.push({ ph: "X", cat: "user_annotation", name: `ProfilerStep#${index}`, pid: 1, tid: 1, ts, dur: 450 });
    events.push({ ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: ts + 10, dur: 5, args: { correlation } });
    events.push({ ph: "X", cat: "kernel", name, pid: 0, tid: 7, ts: ts + 200, dur: 100, args: { correlation, device: 0, stream: 7, context: 1, grid: [1, 1, 1], block: [32, 1, 1] } });
  }
  events.push({ ph: "M", name: "process_name", pid: 1, tid: 0, args: { name: MARKUP } }, { ph: "M", name: "thread_name", pid: 1, tid: 1, args: { name: RIGHT_TO_LEFT } });
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 1, traceEvents: events }));
  const at = bytes.indexOf("BROKEN");
  bytes.set([0xff, 0xfe, 0xc0], at);
  return bytes;
}

const file = join(scratch(), "hostile.json");
writeFileSync(file, trace());
const shown = await view(file);
const { page } = shown;
const asked = []; // where requests went
page.on("request", (request) => asked.push(request.url()));
const heading = page.locator("#panel-details .details-name .name");
const caught = () => page.evaluate(() => window.caught);

/** No element came of a name, nothing of it ran, and nothing left the page. */
async function expectHarmless() {
  assert.equal(await page.locator("img, iframe, object, embed").count(), 0);
  assert.equal(await page.locator("body script:not([src])").count(), 0);
  assert.equal(await page.locator("[onerror], [onload], [onclick]").count(), 0);
  assert.equal(await caught(), undefined);
  const { origin } = new URL(page.url());
  assert.deepEqual(asked.filter((url) => !url.startsWith(`${origin}/`) && !/^(blob|data):/.test(url)), []);
}

async function find(text) {
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press("/");
  await page.locator(".search input").fill(text);
  await page.keyboard.press("Enter");
}

await test("markup is shown as text, in the picture's rows, in details and in tables", async () => {
  await find("<img");
  await heading.filter({ hasText: MARKUP }).waitFor();
  await shot(page, "hostile-details");
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press("t");
  await page.locator("#panel-tables tbody tr[data-index]").first().waitFor();
  await openTab(page, "tab-summary");
  await page.locator("#panel-summary .summary-cards").filter({ hasText: "<img" }).waitFor();
  await expectHarmless();
});

await test("every panel shows it as text, with an operator selected and with a kernel", async () => {
  const tabs = await page.locator("[role=tab]").evaluateAll((list) => list.map(({ id }) => id));
  assert.ok(tabs.length >= 7, tabs.join());
  for (const what of ["<img", "a|b"]) {
    await find(what);
    for (const tab of tabs) {
      await openTab(page, tab);
      await expectHarmless();
    }
  }
});

await test("what SQL answers is text, in its head too", async () => {
  await openTab(page, "tab-sql");
  await page.locator("#panel-sql textarea").fill(`SELECT '${MARKUP}' AS "${MARKUP.replaceAll('"', '""')}"`);
  await page.locator("#panel-sql textarea").press("Control+Enter");
  await page.locator("#panel-sql tbody tr[data-index]").filter({ hasText: "<img" }).waitFor();
  await expectHarmless();
});

await test("a name of a megabyte is cut until it is asked for, and copied whole", async () => {
  await find("long_x");
  await page.locator("#tab-details").click();
  await heading.filter({ hasText: "long_x" }).waitFor();
  assert.ok((await heading.textContent()).length < 3000);
  await page.getByRole("button", { name: "Copy the name" }).click();
  const isCopied = () => page.evaluate(async (text) => (await navigator.clipboard.readText()) === text, LONG); // both are too long to print
  await until(isCopied, (is) => is, "the name on the clipboard");
  await page.locator(".details-name").getByRole("button", { name: /^Show all/ }).click();
  assert.ok((await heading.textContent()) === LONG, "all of it is shown");
});

await test("a name that runs right to left does not turn the line that it stands in", async () => {
  await find("evil");
  await heading.filter({ hasText: "evil" }).waitFor();
  assert.equal(await heading.evaluate((element) => `${element.tagName} ${element.dir} ${getComputedStyle(element).unicodeBidi}`), "BDI auto isolate");
});

await test("bytes that are no UTF-8 become signs that say so", async () => {
  await find("KEN");
  await heading.filter({ hasText: "\ufffd" }).waitFor();
  assert.match(await heading.textContent(), /^\ufffd+KEN$/);
});

await test("a note and a search of markup are text too", async () => {
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press("b");
  await page.locator("#panel-notes input").first().fill(MARKUP);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("p=notes"));
  await page.reload();
  await page.waitForFunction((text) => document.querySelector("#panel-notes input")?.value === text, MARKUP);
  await expectHarmless();
});

await test("nothing went wrong in the browser", () => assert.deepEqual([shown.complaints, shown.refused], [[], []]));

await finish();
