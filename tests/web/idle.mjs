// The rows "Why idle": gaps get the names and colours of their causes behind the first picture, from the server and in one file; a
// click tells the causes and the chain of events behind a gap, and each link of the chain leads there.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { assert, finish, openPage, report, scratch, settled, shot, test, until, view } from "./lib.mjs";

const file = report("nsys/resnet18.sqlite.gz");
const causes = JSON.parse(execFileSync(process.env.TACHO, ["stats", "-q", "-f", "json", "-r", "gpu_idle_sum", file], { encoding: "utf8" }));

/** The gaps in sight once their causes are known, the longest first. */
async function gaps(page) {
  const seen = await until(() => settled(page, () => true, "named"), ({ rows, events }) => {
    const row = rows.find(({ type }) => type === "idle");
    return row && events.some((event) => event.row === row.id) && events.every((event) => event.row !== row.id || event.name !== "Idle");
  }, "the causes of gaps");
  const { id } = seen.rows.find(({ type }) => type === "idle");
  return seen.events.filter(({ row }) => row === id).sort((a, b) => b.to - b.from - (a.to - a.from));
}

async function checkPage(page, name) {
  const known = new Set(causes.map(({ Cause }) => Cause));
  const found = await gaps(page);
  assert.ok(found.length > 10 && found.every((gap) => known.has(gap.name)), `${found.length} gaps: ${[...new Set(found.map((gap) => gap.name))]}`);
  const [gap] = found;
  await page.mouse.move(gap.x + gap.w / 2, gap.y + gap.h / 2);
  await page.locator(".tip-cause").filter({ hasText: /launch-bound \d+ %/ }).waitFor();
  await page.mouse.click(gap.x + gap.w / 2, gap.y + gap.h / 2);
  const details = page.locator("#panel-details");
  await details.locator(".gap-causes li").first().filter({ hasText: `% ${gap.name}` }).waitFor();
  assert.deepEqual(await details.locator(".gap-chain li").evaluateAll((items) => items.map((item) => item.dataset.kind)).then((kinds) => kinds.slice(0, 3)), ["work", "launch", "operator"]);
  await shot(page, `idle-${name}`);
  const launch = details.locator(".gap-chain li[data-kind=launch] button");
  await launch.click();
  await details.locator(".details-name").filter({ hasText: "cudaLaunchKernel" }).waitFor();
}

const shown = await view(file);
await test("the name of a GPU tells how busy it was, and its tooltip of which time", async () => {
  const heading = shown.page.locator("[role=treeitem]").filter({ hasText: "GPU 0 · 79 % busy" }).first();
  await heading.waitFor({ state: "attached" });
  assert.match(await heading.evaluate((element) => element.outerHTML), /of \d.*, the steps without their warm-up/);
});

await test("gaps are named after their causes, and lead to the launch behind them", () => checkPage(shown.page, "server"));

await test("the page in one file finds the same causes", async () => {
  const place = join(scratch(), "page.html");
  execFileSync(process.env.TACHO, ["export", "-q", "-t", "html", "-o", place, file]);
  const { page, complaints } = await openPage(`file://${place}`);
  await page.waitForFunction(() => window.tachoTest !== undefined);
  await checkPage(page, "file");
  assert.deepEqual(complaints, []);
});

assert.deepEqual(shown.complaints, []);
await finish();
