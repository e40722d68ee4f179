// Files dropped on the page are read in the page: reports, SQLite files of nsys, traces of PyTorch's profiler, packed or not. What
// they show is what the C on the command line says of the same file.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { assert, finish, openPage, report, scratch, serve, skip, test } from "./lib.mjs";

if (!existsSync(join(process.env.PAGE ?? "", "tacho.wasm"))) skip("tacho.wasm was not built");

const mix = report("nsys/mix.sqlite.gz");
const packed = fileURLToPath(new URL("../golden/kineto/train.json.gz", import.meta.url));
const imported = join(scratch(), "train.tacho");
execFileSync(process.env.TACHO, ["import", "-o", imported, packed]);
const kernels = (file) => JSON.parse(execFileSync(process.env.TACHO, ["sql", "-f", "json", file, "SELECT count(*) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL"]))[0].n;

const { address } = await serve(mix);
const { page, complaints } = await openPage(address.replace(/\?.*/, "")); // without the token there is no report
await page.getByText("Drop").first().waitFor();

async function drop(name, bytes) {
  const carried = await page.evaluateHandle(({ name, base64 }) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name));
    return data;
  }, { name, base64: bytes.toString("base64") });
  await page.evaluate(() => { delete window.tachoTest; });
  for (const event of ["dragover", "drop"]) await page.dispatchEvent("body", event, { dataTransfer: carried });
}

/** Its own count, by SQL, in the page's reader. */
async function kernelsShown() {
  await page.waitForFunction(() => window.tachoTest !== undefined);
  const editor = page.locator("#panel-sql .sql-editor");
  if (!(await editor.isVisible())) await page.keyboard.press("q"); // the panel of the report before it may be open still
  await editor.fill("SELECT count(*) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL");
  await page.keyboard.press("Control+Enter");
  return Number((await page.locator("#panel-sql tbody tr[data-index] td").first().innerText()).replace(/\D/g, ""));
}

for (const [file, name] of [[mix, "mix.sqlite"], [packed, "train.json.gz"], [imported, "train.tacho"]])
  await test(`${name} opens, and every kernel is there`, async () => {
    await drop(name, readFileSync(file));
    assert.equal(await kernelsShown(), kernels(file));
    assert.match(await page.title(), /Tacho/);
  });

await test("what is no report is told in words, and the page goes on", async () => {
  await drop("notes.txt", Buffer.from("these are no events"));
  await page.getByText(/not a Tacho report/i).waitFor();
  await drop("cut.json.gz", readFileSync(packed).subarray(0, 5000));
  await page.getByText(/Cannot decompress the file/i).waitFor();
  await page.locator("#panel-sql .sql-editor").fill("SELECT count(*) + 1 AS n FROM CUPTI_ACTIVITY_KIND_KERNEL"); // what was open before is there still
  await page.keyboard.press("Control+Enter");
  await page.locator("#panel-sql tbody tr[data-index] td").filter({ hasText: String(kernels(imported) + 1) }).waitFor();
  await drop("mix.sqlite", readFileSync(mix));
  assert.equal(await kernelsShown(), kernels(mix));
});

await test("nothing went wrong in the browser", () => assert.deepEqual(complaints, []));
await finish();
