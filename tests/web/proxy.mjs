// The timeline behind a proxy that puts a path in front and has a name of its own, as Jupyter's and Kubernetes' do: all addresses are
// relative, and the server answers to the name that it was told.

import { createServer, request } from "node:http";
import { assert, finish, openPage, report, serve, test } from "./lib.mjs";

const PREFIX = "/user/me/proxy/7878";

/** Passes on what is below the prefix, under the hub's name. */
function proxyTo(address) {
  const { port } = new URL(address);
  const server = createServer((asked, answer) => {
    if (!asked.url.startsWith(`${PREFIX}/`)) return answer.writeHead(404).end("not below the prefix");
    const headers = { ...asked.headers, host: "hub.example:8443", ...(asked.headers.origin && { origin: "https://hub.example:8443" }) };
    const passed = request({ host: "127.0.0.1", port, method: asked.method, path: asked.url.slice(PREFIX.length), headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    asked.pipe(passed);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve({ server, place: `http://127.0.0.1:${server.address().port}${PREFIX}/` })));
}

const file = report("nsys/resnet18.sqlite.gz");

await test("the page works below a path, under the hub's name", async () => {
  const { address } = await serve(file, "--allow-host", "hub.example");
  const { server, place } = await proxyTo(address);
  const { page, complaints, refused } = await openPage(`${place}${new URL(address).search}`);
  await page.waitForFunction(() => window.tachoTest?.seen().events.length > 0);
  const answer = await page.evaluate(async () => {
    const headers = { "X-Tacho-Token": new URLSearchParams(location.search).get("token") };
    return (await fetch("api/sql", { method: "POST", headers, body: "SELECT 6 * 7 AS answer" })).json();
  });
  assert.deepEqual(answer.rows, [[42]]);
  assert.deepEqual([complaints, refused], [[], []]);
  server.close();
});

await test("without --allow-host it gets nothing but a sentence", async () => {
  const { address } = await serve(file);
  const { server, place } = await proxyTo(address);
  const answer = await fetch(`${place}${new URL(address).search}`);
  assert.equal(answer.status, 403);
  assert.match((await answer.json()).error, /--allow-host/);
  server.close();
});

await finish();
