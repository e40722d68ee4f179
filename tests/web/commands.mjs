// What readers do beyond looking: the palette and the menu of commands, the wheel as they like it, spans that snap and have rows, the
// distance between two events, links and pictures, and a server that goes away and comes back.
import { readFileSync } from "node:fs";
import { assert, finish, inFirefox, report, serve, settled, shot, test, until, view } from "./lib.mjs";

const file = report("nsys/resnet18.sqlite.gz");
const shown = await view(file);
const { page } = shown;
const api = async (request) => (await fetch(`${new URL(shown.address).origin}/api/${request}`, { headers: { "X-Tacho-Token": new URL(shown.address).searchParams.get("token") } })).json();
const hash = () => new URLSearchParams(new URL(page.url()).hash.slice(1));
const free = () => page.evaluate(() => document.activeElement?.blur());
const { rows } = await api("rows");

/** Kernels that are wide enough to be pointed at. */
async function kernels() {
  const stream = rows.find(({ type, events }) => type === "stream" && events > 100);
  const { events } = await api(`events?rows=${stream.id}&sort=duration&down=1&limit=1`);
  await page.evaluate(({ from, to }) => (location.hash = `v=${from - 200_000}-${to + 200_000}&p=details`), events[0]);
  const seen = await settled(page, ({ view: { from }, events: drawn }) => Math.abs(from - (events[0].from - 200_000)) < 10 && drawn.some(({ row }) => row === stream.id), "named");
  return seen.events.filter(({ row, w, from, to }) => row === stream.id && w > 30 && from > seen.view.from && to < seen.view.to);
}

await test("the palette lists commands, panels and tables, filters them, and runs one", async () => {
  await settled(page);
  await page.keyboard.press("Control+k");
  const list = page.locator("#palette-list li");
  assert.ok((await list.count()) > 60);
  await page.keyboard.type("flame pan");
  await until(() => list.allTextContents(), (words) => words.length === 1 && words[0].includes("Flame graph"));
  await page.keyboard.press("Enter");
  await until(() => page.locator("#panel-flame").isVisible(), Boolean);
  await free();
  await page.keyboard.press(":");
  await page.keyboard.type("cuda_gpu_kern_sum");
  await page.keyboard.press("Enter");
  await until(() => page.locator("#panel-tables .report-name").textContent(), (name) => name === "cuda_gpu_kern_sum");
  await page.keyboard.press("Escape");
  await free();
});

await test("the menu is about what is under the pointer, and the keyboard opens it too", async () => {
  const [first] = await kernels();
  await page.mouse.click(first.x + first.w / 2, first.y + first.h / 2, { button: "right" });
  const items = page.locator(".context-menu [role=menuitem]");
  await until(() => items.count(), (count) => count > 8);
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll(".context-menu [role=group]")].map((group) => group.ariaLabel)), ["Event", "Row", "View"]);
  await shot(page, "menu");
  await page.locator("[data-command=list-same]").click();
  await until(() => hash().get("p"), (panel) => panel === "events");
  assert.equal(hash().get("e"), `${first.row}.${first.event}`);
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press("Shift+F10");
  await until(() => items.first().evaluate((item) => item === document.activeElement), Boolean);
  await page.keyboard.press("End");
  await page.keyboard.press("Escape");
  assert.ok(await page.locator(".context-menu").isHidden());
});

await test("Shift and a click measures from the selected event", async () => {
  const [a, b] = await kernels();
  await page.mouse.click(a.x + a.w / 2, a.y + a.h / 2);
  await until(() => hash().get("e"), (event) => event === `${a.row}.${a.event}`);
  await until(() => page.locator("#panel-details .details-name").count(), (count) => count === 1);
  await page.keyboard.down("Shift");
  await page.mouse.click(b.x + b.w / 2, b.y + b.h / 2);
  await page.keyboard.up("Shift");
  const words = await until(() => page.locator(".measure").textContent(), (text) => /start to start/.test(text));
  const ns = (text) => Number(/^(-?[\d.]+)/.exec(text)[1]) * { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 }[/ns|µs|ms|s/.exec(text)[0]];
  const [, begins, gap] = /start to start (-?[\d.]+ \S+?)end to start (-?[\d.]+ (?:ns|µs|ms|s))/.exec(words);
  assert.ok(Math.abs(ns(begins) - (b.from - a.from)) <= Math.abs(b.from - a.from) / 1000 + 1, words);
  assert.ok(Math.abs(ns(gap) - (b.from - a.to)) <= Math.abs(b.from - a.to) / 1000 + 1, words);
  await shot(page, "measure");
  await page.keyboard.press("Escape");
  await until(() => page.locator(".measure").isHidden(), Boolean);
});

await test("a span snaps to the begin and end of events, with Alt it does not", async () => {
  const [a, b] = await kernels();
  const y = a.y + a.h / 2;
  const drag = async () => {
    await page.mouse.move(a.x + 3, y);
    await page.mouse.down();
    await page.mouse.move(b.x + b.w - 40, y, { steps: 4 });
    await page.mouse.move(b.x + b.w - 3, y);
    await page.mouse.up();
  };
  await drag();
  await until(() => hash().get("s"), (span) => span === `${a.from}-${b.to}`, `${a.from}-${b.to}`);
  await page.keyboard.press("Escape");
  await until(() => hash().get("s"), (span) => span === null);
  await page.keyboard.down("Alt");
  await drag();
  await page.keyboard.up("Alt");
  await until(() => hash().get("s"), (span) => span !== null && span !== `${a.from}-${b.to}`);
  await page.keyboard.press("Escape");
});

await test("Ctrl and a drag selects rows, and sums them up as the engine does", async () => {
  const [a, b] = await kernels();
  const y = a.y + a.h / 2;
  await page.keyboard.down("Control");
  await page.mouse.move(a.x + 2, y);
  await page.mouse.down();
  await page.mouse.move(b.x + b.w - 2, y + 3, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Control");
  await until(() => hash().get("sr"), (chosen) => chosen === String(a.row), `row ${a.row}`);
  const figures = await api(`selection?rows=${a.row}&from=${hash().get("s").split("-")[0]}&to=${hash().get("s").split("-")[1]}`);
  await until(() => page.locator(".selection-facts").textContent(), (text) => text.replace(/\s/g, "").startsWith(`${figures.count}events`), `${figures.count} events`);
  assert.equal(await page.locator("#panel-selection tbody tr[data-index]").count(), figures.names.length);
  await shot(page, "selection");
  await page.locator("#panel-selection tbody tr[data-index]").first().click();
  await until(() => page.locator("#panel-events .events-status").textContent(), (text) => text.replace(/\s/g, "").startsWith(`${figures.names[0].count}event`), `${figures.names[0].count} events`);
  await free();
  await page.keyboard.press("Escape");
});

await test("the answer to a query becomes a row with its events, and is removed again", async () => {
  const text = 'SELECT start, "end", \'<img src=x onerror=alert(1)>\' AS name FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start LIMIT 50';
  await page.evaluate(() => (location.hash = "p=sql"));
  await page.locator(".sql-editor").fill(text);
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Add as row" }).click();
  const kernels50 = await api(`events?rows=${rows.filter(({ type }) => type === "stream").map(({ id }) => id).join(",")}&limit=60`);
  const { from, to } = kernels50.events[5];
  await page.evaluate((span) => (location.hash = `v=${span.from - 20_000}-${span.to + 20_000}&p=sql`), { from, to });
  // the link has no such row: it is pinned again when it is made again
  await free();
  await page.locator(".sql-editor").focus();
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Add as row" }).click();
  const seen = await settled(page, ({ rows: lines, view: shownView }) => lines.some(({ type, pinned }) => type === "query" && pinned) && shownView.from > from - 30_000, "named");
  const own = seen.events.filter(({ row }) => row >= 1e9);
  assert.ok(own.length > 0 && own.every(({ name }) => name === "<img src=x onerror=alert(1)>"));
  assert.ok(own.some((event) => event.from === from && event.to === to));
  await free();
  await page.mouse.click(own[0].x + own[0].w / 2, own[0].y + own[0].h / 2);
  await page.keyboard.press("i");
  await until(() => page.locator("#panel-details .details-name").textContent().catch(() => ""), (name) => name.includes("<img src=x"));
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press("Shift+y");
  await page.locator(".toast").filter({ hasText: "The link does not contain rows made from queries." }).waitFor();
  const count = async () => (await settled(page)).rows.filter(({ type }) => type === "query").length;
  const before = await count();
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press("Delete");
  await until(count, (now) => now === before - 1);
});

await test("the wheel zooms or scrolls, as was chosen last", async () => {
  await page.evaluate(() => (location.hash = ""));
  const before = (await settled(page)).view;
  await page.mouse.move(800, 300);
  await free();
  await page.keyboard.press("Shift+w");
  await page.mouse.wheel(0, 120);
  const after = await settled(page);
  assert.deepEqual(after.view, before);
  await page.reload();
  await page.waitForFunction(() => window.tachoTest !== undefined);
  await settled(page);
  await page.mouse.move(800, 300);
  const reloaded = (await settled(page)).view;
  await page.mouse.wheel(0, 120);
  assert.deepEqual((await settled(page)).view, reloaded);
  await page.keyboard.press("Shift+w");
  await page.mouse.wheel(0, -120);
  await settled(page, ({ view: { from, to } }) => to - from < (reloaded.to - reloaded.from) * 0.95);
});

await test("a link is copied, and a picture has its title and scale", async () => {
  const [a] = await kernels();
  await page.mouse.click(a.x + a.w / 2, a.y + a.h / 2);
  await until(() => hash().get("e"), (event) => event === `${a.row}.${a.event}`);
  await page.keyboard.press("Shift+y");
  await page.locator(".toast").waitFor();
  assert.equal(await page.locator(".toast").textContent(), "Copied the link to this view.");
  if (inFirefox) return; // its remote control tells of no downloads
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "SVG", exact: true }).first().click();
  const picture = readFileSync(await (await saved).path(), "utf8");
  assert.match(picture, /<text[^>]*>resnet18\.sqlite<\/text>/);
  assert.match(picture, /(µs|ms) from \d\./);
});

await test("a link outlives the server: the same file has the same token, and the page goes on by itself", async () => {
  const { port } = new URL(shown.address);
  const gone = new Promise((resolve) => shown.child.on("exit", resolve));
  shown.child.kill("SIGTERM");
  await gone;
  await free();
  await page.keyboard.press("0");
  const banner = page.locator(".lost-banner");
  await banner.waitFor();
  const again = await serve(file, "--port", port);
  assert.equal(again.address, shown.address);
  await until(() => banner.isHidden(), Boolean);
  const other = await serve(file, "--port", "0", "--new-token");
  assert.notEqual(new URL(other.address).search, new URL(shown.address).search);
});

await test("while the server is gone a banner says so; when it is back, the page goes on", async () => {
  const { port } = new URL(shown.address);
  await page.route("**/api/**", (route) => route.abort("connectionrefused"));
  await free();
  await page.keyboard.press("/");
  await page.keyboard.type("gone");
  const banner = page.locator(".lost-banner");
  await banner.waitFor();
  assert.match(await banner.textContent(), /does not answer.*tacho view resnet18/);
  await shot(page, "banner");
  await page.unroute("**/api/**");
  await banner.getByRole("button", { name: "Retry" }).click();
  await until(() => banner.isHidden(), Boolean);
  await page.getByLabel("Search names").fill("nothing has this name");
  await until(() => page.locator(".search-result").textContent(), (text) => text === "No matches");
  assert.equal(new URL(page.url()).port, port);
});

assert.deepEqual(shown.complaints.filter((text) => !/ERR_CONNECTION_REFUSED|NetworkError/.test(text)), []);
await finish();
