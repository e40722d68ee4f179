// What the tests of the page share: a report in a scratch folder, `tacho view` on it, a headless Chromium or Firefox on that, and tests that
// run one after the other in it. What is missing on this machine skips the script, visibly.
//
//   import { report, view, test, finish } from "./lib.mjs";
//   const shown = await view(report("nsys/resnet18.sqlite.gz"));
//   await test("what it does", async () => { … shown.page … });
//   await finish();

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

export { assert };

const { TACHO } = process.env;
const [WEB, PAGE] = [process.env.WEB, process.env.PAGE].map((folder) => resolve(folder ?? ""));
const here = dirname(fileURLToPath(import.meta.url));
const golden = join(here, "..", "golden");
const closers = [];
/** How long something may take that takes a moment on an idle machine: the limit of all tests (tests/CMakeLists.txt). */
const PATIENCE_MS = 1000 * Number(process.env.PATIENCE ?? 60);
/** scripts/test --all. */
export const all = !["", "0"].includes(process.env.TACHO_TEST_ALL ?? "");
let failures = 0;

export function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

function findBrowser() {
  const names = process.env.CHROMIUM ? [process.env.CHROMIUM] : ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
  const places = names.flatMap((name) => (name.includes("/") ? [name] : (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name))));
  return places.find((place) => existsSync(place)) ?? skip("Chromium is not installed");
}

function loadPlaywright() {
  try {
    return createRequire(join(WEB, "package.json"))("playwright-core");
  } catch {
    return skip("playwright-core is not there (npm's packages were not fetched when this was built)");
  }
}

/** A file of web/src as a module of this process, for what needs no browser. */
export async function loadSource(path) {
  let bundled;
  try {
    const { buildSync } = createRequire(join(WEB, "package.json"))("esbuild");
    bundled = buildSync({ entryPoints: [join(WEB, "src", path)], preserveSymlinks: true, bundle: true, format: "esm", write: false, logLevel: "error", loader: { ".css": "empty" } });
  } catch (error) {
    if (error.code === "MODULE_NOT_FOUND") skip("esbuild is not there (npm's packages were not fetched when this was built)");
    throw error;
  }
  return import(`data:text/javascript;base64,${Buffer.from(bundled.outputFiles[0].text).toString("base64")}`);
}

/** A folder that is gone at the end. */
export function scratch() {
  const folder = mkdtempSync(join(tmpdir(), "tacho-web-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A stored report of tests/golden, unpacked into a folder of its own, so that notes beside it are this run's. */
export function report(path) {
  const packed = readFileSync(join(golden, path));
  const place = join(scratch(), basename(path).replace(/\.gz$/, ""));
  writeFileSync(place, path.endsWith(".gz") ? gunzipSync(packed) : packed);
  return place;
}

/** Where the key of durable links is, in place of the user's own. */
let keys = null;

/** Starts `tacho view` and gives its address once it is printed. */
export async function serve(file, ...options) {
  if (!existsSync(join(PAGE, "index.html"))) skip("the page was not built");
  const child = spawn(TACHO, ["view", "--no-browser", ...options, file], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, XDG_STATE_HOME: (keys ??= scratch()) } });
  closers.push(() => child.kill("SIGTERM"));
  let said = "";
  return new Promise((resolve, reject) => {
    const hear = (bytes) => {
      said += bytes;
      const address = /http:\/\/localhost:\d+\/\?token=[0-9a-f]+/.exec(said);
      if (address) resolve({ address: address[0], child, said: () => said });
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (status) => reject(new Error(`tacho view ended with ${status}: ${said}`)));
  });
}

/** The browser that BROWSER names: a script that needs nothing of Chromium's own runs in both. Debian's Firefox understands WebDriver BiDi. */
export const inFirefox = process.env.BROWSER === "firefox";
let started = null;
export function browser() {
  const { chromium, _bidiFirefox: mozilla } = loadPlaywright();
  if (inFirefox && !hasFirefox()) skip("Firefox is not installed");
  started ??= inFirefox
    ? mozilla.launch({ executablePath: findFirefox(), timeout: PATIENCE_MS })
    : chromium.launch({ executablePath: findBrowser(), args: ["--no-sandbox"], timeout: PATIENCE_MS });
  return started;
}

/** A page at an address, with every complaint of the browser kept: a test that leaves some behind has failed. */
export async function openPage(address, { summary = false, ...options } = {}) {
  const rights = inFirefox ? {} : { acceptDownloads: true, permissions: ["clipboard-read", "clipboard-write"] };
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...rights, ...options });
  const page = await context.newPage();
  if (!summary) await page.addInitScript(`try { localStorage.getItem("tacho.summary") ?? localStorage.setItem("tacho.summary", '"closed"'); } catch { /* forbidden there */ }`); // a reader who closed it the last time
  const complaints = [];
  const refused = []; // requests that the server refused, with its words
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && !message.text().startsWith("Failed to load resource") && complaints.push(message.text()));
  page.on("response", async (response) => response.status() >= 400 && refused.push(`${response.url().replace(/.*\/api\//, "")}: ${await response.text().catch(() => "")}`));
  await page.goto(address);
  return { page, context, complaints, refused };
}

/** A report shown in a browser, ready to be looked at. */
export async function view(file, options = {}, ...words) {
  const server = await serve(file, ...words);
  const opened = await openPage(server.address, options);
  await opened.page.waitForFunction(() => window.tachoTest !== undefined);
  return { ...server, ...opened };
}

/** Asks again and again, until what is answered holds. */
export async function until(ask, holds, words = String(holds)) {
  let last;
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 20))) if (holds((last = await ask()))) return last;
  throw new Error(`waited in vain for ${words}: ${JSON.stringify(last)?.slice(0, 500)}`);
}

/** Opens a panel by its tab and waits for its contents. A click on the tab of an open panel closes it, and some open by themselves. */
export async function openTab(page, tab) {
  const opened = async () => {
    const isOpen = (await page.locator(`#${tab}`).getAttribute("aria-selected")) === "true";
    if (!isOpen) await page.locator(`#${tab}`).click();
    return isOpen;
  };
  await until(opened, (is) => is, `${tab} to be open`);
  await page.waitForFunction(() => document.querySelector("[role=tabpanel]:not([hidden])[aria-busy]") === null);
}

/** What is seen once nothing moves, nothing is on its way, and what was waited for has come; `named`: with the name of each event. */
export function settled(page, holds = () => true, look = "seen") {
  const ask = () => page.evaluate((how) => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(window.tachoTest?.[how]() ?? null)))), look).catch((error) => {
    if (!/context was destroyed/.test(error.message)) throw error;
    return null; // the page was on its way to another one
  });
  return until(ask, (now) => now !== null && !now.moving && now.pending === 0 && holds(now), holds);
}

const findFirefox = () => (process.env.PATH ?? "").split(delimiter).flatMap((folder) => ["firefox-esr", "firefox"].map((name) => join(folder, name))).find((path) => existsSync(path));
export const hasFirefox = () => findFirefox() !== undefined;

/** Firefox by its own remote control: messages are a length, a colon and JSON. */
export async function firefox() {
  const folder = scratch(), told = join(folder, "MarionetteActivePort"); // where it says which port it took
  writeFileSync(join(folder, "user.js"), 'user_pref("marionette.port", 0);\n');
  const child = spawn(findFirefox(), ["--headless", "--marionette", "--profile", folder, "--no-remote"], { stdio: "ignore", env: { ...process.env, HOME: folder } });
  const gone = new Promise((resolve) => child.on("exit", resolve));
  process.on("exit", () => child.kill("SIGKILL"));
  const port = Number(await until(() => existsSync(told) && readFileSync(told, "utf8"), (text) => /^\d+/.test(text), "Firefox to say its port"));
  const socket = connect(port, "127.0.0.1");
  let bytes = Buffer.alloc(0), wake = () => {}, isOpen = true;
  socket.on("data", (piece) => ((bytes = Buffer.concat([bytes, piece])), wake()));
  for (const end of ["error", "close"]) socket.on(end, () => ((isOpen = false), wake()));
  async function receive() {
    for (;;) {
      const colon = bytes.indexOf(":"), length = Number(bytes.subarray(0, colon));
      if (colon > 0 && bytes.length > colon + length) {
        const message = JSON.parse(bytes.subarray(colon + 1, colon + 1 + length));
        bytes = bytes.subarray(colon + 1 + length);
        return message;
      }
      if (!isOpen) throw new Error("Firefox has gone");
      await new Promise((resolve) => (wake = resolve));
    }
  }
  let last = 0;
  const send = async (name, parameters = {}) => {
    const message = JSON.stringify([0, ++last, name, parameters]);
    socket.write(`${Buffer.byteLength(message)}:${message}`);
    const [, , error, result] = await receive();
    if (error) throw new Error(`${name}: ${error.message}`);
    return result;
  };
  await receive();
  await send("WebDriver:NewSession", { capabilities: { alwaysMatch: { timeouts: { script: 300_000, pageLoad: 300_000 } } } });
  const close = async () => {
    await send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
    await gone;
  };
  /** What a script in the page returns. */
  const run = async (script) => (await send("WebDriver:ExecuteScript", { script, args: [], sandbox: null })).value;
  const click = async (x, y) => {
    const actions = [{ type: "pointerMove", x: Math.round(x), y: Math.round(y) }, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }];
    await send("WebDriver:PerformActions", { actions: [{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions }] });
  };
  return { send, close, run, click };
}

export async function test(name, body) {
  try {
    await body();
    console.log(`ok      ${name}`);
  } catch (error) {
    failures++;
    console.log(`FAILED  ${name}\n${String(error.stack ?? error).slice(0, 3000)}`);
  }
}

/** A picture for those who look, where SHOTS names a folder. */
export async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

export async function finish() {
  if (started) await (await started).close();
  for (const close of closers.reverse()) close();
  process.exit(failures > 0 ? 1 : 0);
}
