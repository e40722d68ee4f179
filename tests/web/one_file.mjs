// The timeline in one file (`tacho export --type html`), opened from the disk in Chromium and in Firefox: it shows what `tacho view`
// shows of the same report, and asks nobody for anything.

import { execFileSync } from "node:child_process";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { all, assert, finish, firefox, hasFirefox, openPage, report, scratch, settled, shot, skip, test, until, view } from "./lib.mjs";

if (!existsSync(join(process.env.PAGE ?? "", "tacho.wasm"))) skip("tacho.wasm was not built");

function exportPage(file, ...options) {
  const place = join(scratch(), "page.html");
  execFileSync(process.env.TACHO, ["export", "-q", "-t", "html", ...options, "-o", place, file]);
  return place;
}

const isWide = ({ w }) => w > 40; // so that its name is shown

const hasEvents = ({ events, causes }) => causes && events.length > 0 && !events.some((event) => isWide(event) && event.name === undefined);
const drawn = ({ view: range, rows, events, dense }) => ({
  range, rows: rows.map(({ id, label }) => ({ id, label })), dense: dense.map(({ row, lane, count }) => ({ row, lane, count })),
  events: events.map(({ row, event, name, from, to, w }) => ({ row, event, from, to, name: isWide({ w }) ? name : null })),
});

const file = report("nsys/resnet18.sqlite.gz");
const served = await view(file);
const expected = await settled(served.page, hasEvents, "named");
const place = exportPage(file);

await test("Chromium shows from the disk what the server shows, and fetches nothing", async () => {
  const asked = [];
  const { page, complaints } = await openPage(`file://${place}`, { offline: true });
  page.on("request", (request) => asked.push(request.url()));
  await page.goto("about:blank"); // not a reload: the address may hold the place by then, in whole nanoseconds
  await page.goto(`file://${place}`);
  const got = await settled(page, (now) => hasEvents(now) && now.events.length >= expected.events.length, "named");
  assert.deepEqual(drawn(got), drawn(expected));
  assert.deepEqual(asked.filter((url) => !/^(file|blob|data):/.test(url)), []);
  assert.deepEqual(complaints, []);
  await shot(page, "one-file-chromium");
});

await test("a part of it is smaller, and has what is inside only", async () => {
  const part = exportPage(file, "--filter-time=20ms/30ms");
  assert.ok(statSync(part).size < statSync(place).size);
  const { page } = await openPage(`file://${part}`);
  await page.waitForFunction(() => /\d events/.test(document.body.innerText));
  const count = (text) => Number(/([\d,]+) events/.exec(text)[1].replaceAll(",", ""));
  const [some, all] = await Promise.all([page, served.page].map((one) => one.evaluate(() => document.body.innerText)));
  assert.ok(count(some) > 0 && count(some) < count(all), `${count(some)} of ${count(all)}`);
});

await test("cut to a size, the rest is an overview", async () => {
  const size = statSync(place).size - 12_000, part = exportPage(file, `--max-size=${size}`);
  assert.ok(statSync(part).size <= size);
  const { page, complaints } = await openPage(`file://${part}`);
  const got = await settled(page, hasEvents, "named");
  const isLeftOut = ({ name }) => name?.startsWith("left out (");
  const middle = ({ from, to }) => (Math.max(from, got.view.from) + Math.min(to, got.view.to)) / 2; // of the part in sight
  const middleIsOutlined = (event) => got.outlined.some((stretch) => stretch.from <= middle(event) && middle(event) <= stretch.to);
  const named = got.events.filter(({ name }) => name), leftOut = named.filter(isLeftOut);
  assert.ok(leftOut.length > 0 && leftOut.length < named.length, named.map(({ name }) => name).slice(0, 50).join("\n"));
  assert.ok(got.outlined.length > 0 && leftOut.every(middleIsOutlined), `${JSON.stringify(got.outlined)} is hatched, left out are ${JSON.stringify(leftOut.slice(0, 5))}`);
  assert.deepEqual(complaints, []);
  await shot(page, "one-file-cut");
});

let browser = null;
if (!all || !hasFirefox()) console.log("without Firefox: scripts/test --all installs it");
else await test("Firefox starts", async () => (browser = await firefox()));
const inFirefox = (script) => browser.run(script);

if (browser) {
  await test("Firefox shows the same rows and events", async () => {
    await browser.send("WebDriver:SetWindowRect", { width: 1280, height: 1000 });
    await browser.send("WebDriver:Navigate", { url: `file://${place}` });
    let lacks = "nothing came to rest";
    const missing = (now) => {
      const whole = now.rows.filter(({ pinned }) => !pinned).slice(0, -1); // the last may be in sight in part
      const rows = new Set(whole.map(({ id }) => id)), events = new Set(drawn(now).events.map((event) => JSON.stringify(event)));
      const wide = expected.events.filter((event) => event.w > 60 && rows.has(event.row)); // its window is not quite as large
      const lost = drawn({ ...expected, events: wide }).events.map((event) => JSON.stringify(event)).filter((event) => !events.has(event));
      return wide.length < 5 ? `${wide.length} events in sight in both` : lost.length > 0 ? `missing: ${lost.slice(0, 5)}` : null;
    };
    const look = () => inFirefox("return window.tachoTest?.named() ?? null");
    await until(look, (now) => now && !now.moving && now.pending === 0 && hasEvents(now) && (lacks = missing(now)) === null, "the same picture").catch((error) => {
      throw new Error(`${lacks}\n${error.message}`);
    });
    if (process.env.SHOTS) writeFileSync(join(process.env.SHOTS, "one-file-firefox.png"), (await browser.send("WebDriver:TakeScreenshot", { full: false })).value, "base64");
  });

  await test("Firefox has the same advice", async () => {
    const panel = served.page.locator("#panel-advice");
    await served.page.locator("#tab-advice").click();
    await panel.locator("tbody tr[data-index]").first().waitFor();
    await inFirefox('document.querySelector("#tab-advice").click()');
    await until(() => inFirefox('return document.querySelector("#panel-advice tbody tr[data-index]") !== null'), (isThere) => isThere, "Firefox's advice");
    const parts = "#panel-advice :is(th, tr[data-index='0'], .advice-sentence)";
    const text = await served.page.evaluate((selector) => [...document.querySelectorAll(selector)].map((part) => part.textContent), parts);
    assert.match(text.join(), /saves about .* ms/);
    assert.deepEqual(await inFirefox(`return [...document.querySelectorAll("${parts}")].map((part) => part.textContent)`), text);
  });
  await browser.close();
}

await finish();
