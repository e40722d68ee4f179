// The panels on a real capture (resnet18's training, as nsys recorded it): what they show is compared with what the command line
// says of the same file. Asked of `tacho view`, and with TACHO_TEST_ALL again of the page that stands alone.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { all, assert, finish, inFirefox, openPage, report, scratch, shot, test, until, view } from "./lib.mjs";

const file = report("nsys/resnet18.sqlite.gz");
const tacho = (...words) => execFileSync(process.env.TACHO, words, { encoding: "utf8", maxBuffer: 1 << 28 });
const sql = (statement) => JSON.parse(tacho("sql", "-f", "json", file, statement));

async function panels(shown, way) {
  const check = (name, body) => test(`${way}: ${name}`, body);
  const { page } = shown;
  const panel = (name) => page.locator(`#panel-${name}`);
  const heading = panel("details").locator(".details-name .name");
  const viewNow = () => page.evaluate(() => window.tachoTest.seen().view);

  /** Opens a panel by its key, with the keyboard on the timeline. */
  async function press(key) {
    await page.locator("canvas.tracks").focus();
    await page.keyboard.press(key);
  }

  /** All at once: letter by letter, what the first letters find may be looked at. */
  async function searchFor(text) {
    await press("/");
    await page.locator(".search input:focus").fill(text);
  }

  /** The table, once it is that of the last question. */
  const table = () => page.locator("#panel-tables:not([aria-busy])").waitFor();

  /** The selected event as the address has it, once it is another than before. */
  async function selected(before) {
    await page.waitForFunction((old) => (/[#&]e=([\d.]+)/.exec(location.hash)?.[1] ?? old) !== old, before);
    return page.evaluate(() => /[#&]e=([\d.]+)/.exec(location.hash)[1]);
  }

  async function heads(text) {
    await heading.filter({ hasText: text }).waitFor();
  }

  await check("search counts what SQL counts, and Enter goes to it", async () => {
    const [{ n }] = sql("SELECT count(*) AS n FROM NVTX_EVENTS WHERE text LIKE '%aten::conv2d%'");
    await searchFor("ATEN::conv2d");
    await page.locator(".search-result").filter({ hasText: /\d/ }).click();
    const row = panel("search").locator("tbody tr").filter({ hasText: /› .?PyTorch/ }).filter({ hasNotText: "GPU" });
    await row.filter({ has: page.locator("td", { hasText: new RegExp(`^${n}$`) }) }).waitFor();
    await row.click();
    await page.locator("#tab-details").click();
    await heads("aten::conv2d");
  });

  await check("n and N walk through the matches in time and come back", async () => {
    const first = await selected();
    await press("n");
    const second = await selected(first);
    await press("n");
    const third = await selected(second);
    await press("Shift+n");
    assert.equal(await selected(third), second);
    await press("/");
    await page.keyboard.press("Escape"); // out of the box; what was found stays
    await page.keyboard.press("n");
    await selected(second);
  });

  await check("a half-typed pattern is told beside the box", async () => {
    await page.locator(".search .choice").selectOption("regex");
    await searchFor("conv(");
    await page.locator(".search.failed").waitFor();
    assert.ok((await page.locator(".search-result").textContent()).length > 3);
    await page.locator(".search .choice").selectOption("substring");
  });

  await check("the forward conv2d of sequence 720 shows its kernels, its backward operator and what surrounds it, one click each", async () => {
    const [{ n: kernels }] = sql(`SELECT count(*) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId,
      NVTX_EVENTS n WHERE n.text = 'aten::conv2d, seq = 720, op_id = 1' AND r.start >= n.start AND r.end <= n.end AND r.globalTid = n.globalTid`);
    const [{ n: calls }] = sql("SELECT count(*) AS n FROM NVTX_EVENTS WHERE text LIKE 'aten::conv2d, %'");
    await searchFor("aten::conv2d");
    await page.locator(".search-result").filter({ hasText: new RegExp(`^${2 * calls}$`) }).waitFor(); // on the thread, and projected onto the GPU
    await press("Escape");
    await heading.waitFor({ state: "detached" });
    await press("0");
    await page.waitForFunction(() => !window.tachoTest.seen().moving);
    await press("n");
    await heads("aten::conv2d");
    assert.match(await panel("details").locator(".fields").textContent(), /Seq720Op ID1/, "what follows the name are fields");
    assert.equal(await panel("details").locator('[data-kind="kernels"] li').count(), kernels);
    await shot(page, "panels-details");
    await panel("details").locator('[data-kind="backward"] button').first().click();
    await heads("ConvolutionBackward0");
    assert.ok((await panel("details").locator(".around li").count()) > 0, "the backward operator lies in ranges");
    await panel("details").locator('[data-kind="forward"] button').first().click();
    await heads("aten::conv");
    await panel("details").locator('[data-kind="kernels"] button').first().click();
    await panel("details").locator('[data-kind="launched-by"]').waitFor();
  });

  await check("a kernel's fields are those of its row", async () => {
    const table = /CUPTI_ACTIVITY_KIND_KERNEL rowid (\d+)/.exec(await panel("details").textContent());
    assert.ok(table, "the table and rowid are told");
    const [row] = sql(`SELECT gridX, registersPerThread, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = ${table[1]}`);
    const fields = await panel("details").locator(".fields").evaluate((list) =>
      Object.fromEntries([...list.querySelectorAll("dt")].map((term) => [term.title.split(".")[1] ?? "", term.nextElementSibling.textContent])));
    assert.equal(fields.registersPerThread, String(row.registersPerThread));
    assert.equal(fields.correlationId, String(row.correlationId));
  });

  await check("without a span a table is the one of tacho stats, to the letter", async () => {
    await press("Escape");
    await press("t");
    await panel("tables").locator("select").first().selectOption({ label: "CUDA GPU Kernel Summary" });
    await panel("tables").locator(".report-name").filter({ hasText: /^cuda_gpu_kern_sum$/ }).waitFor();
    await table();
    await panel("tables").getByRole("button", { name: "CSV" }).click();
    await panel("tables").locator(".grid-tools [role=status]").filter({ hasText: "copied" }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied.trim(), tacho("stats", "-q", "-r", "cuda_gpu_kern_sum", "-f", "csv", file).trim());
  });

  await check("sorting by a column, filtering, and a click that goes to the next instance", async () => {
    const names = () => panel("tables").locator("tbody tr.acts td:nth-child(1)").allTextContents();
    const instances = async () => (await panel("tables").locator("tbody tr.acts td:nth-child(4)").allTextContents()).map((text) => Number(text.replace(/\s/g, "")));
    await panel("tables").getByRole("button", { name: "Instances" }).click();
    const falling = await instances();
    assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
    await panel("tables").getByRole("button", { name: "Instances" }).click();
    const rising = await instances();
    assert.deepEqual(rising, [...rising].sort((a, b) => a - b));
    await panel("tables").getByLabel("Filter").fill("NCHWTONHWC");
    const [{ n }] = sql(`SELECT count(DISTINCT demangledName) AS n FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName WHERE value LIKE '%nchwToNhwc%'`);
    assert.equal((await names()).length, n);
    await shot(page, "panels-tables");
    await panel("tables").locator("tbody tr.acts").first().click();
    const first = await selected();
    await panel("tables").locator("tbody tr.acts").first().click();
    await selected(first);
    await panel("tables").getByLabel("Filter").fill("");
  });

  await check("a span dragged on the timeline narrows the table to exactly that span", async () => {
    await press("0");
    await page.waitForFunction(() => !window.tachoTest.seen().moving);
    const box = await page.locator("canvas.tracks").boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => /[#&]s=/.test(location.hash));
    const [, from, to] = await page.evaluate(() => /[#&]s=(-?\d+)-(-?\d+)/.exec(decodeURIComponent(location.hash)));
    const span = `${BigInt(origin) + BigInt(from)}/${BigInt(origin) + BigInt(to)}`;
    const rows = JSON.parse(tacho("stats", "-q", "-r", "cuda_gpu_kern_sum", "-f", "json", `--filter-time=${span}`, file));
    await table();
    await panel("tables").locator(".grid-tools [role=status]").filter({ hasText: new RegExp(`^${rows.length} rows`) }).waitFor();
    await panel("tables").getByRole("button", { name: "TSV" }).click();
    await panel("tables").locator(".grid-tools [role=status]").filter({ hasText: "copied" }).waitFor();
    const copied = (await page.evaluate(() => navigator.clipboard.readText())).trim().split("\n").slice(1).map((line) => line.split("\t"));
    const byName = (list) => Object.fromEntries(list);
    assert.deepEqual(byName(copied.map((cells) => [cells[8], Number(cells[2])])), byName(rows.map((row) => [row.Name, row.Instances])));
  });

  await check("a long table has only the lines in sight, and all of them under the keys", async () => {
    const rows = JSON.parse(tacho("stats", "-q", "-r", "nvtx_pushpop_trace", "-f", "json", file));
    await press("Escape");
    await press("t");
    if (!(await panel("tables").isVisible())) await press("t");
    await panel("tables").locator("select").first().selectOption("nvtx_pushpop_trace");
    await table();
    await panel("tables").locator(".grid-tools [role=status]").filter({ hasText: `${rows.length} rows` }).waitFor();
    assert.ok((await panel("tables").locator("tbody tr[data-index]").count()) < 60);
    assert.ok(rows.length > 1000, `${rows.length} rows`); // more than are fetched at first
    await panel("tables").getByRole("grid").focus();
    await page.keyboard.press("End");
    const last = panel("tables").locator('tr[aria-selected="true"]');
    await last.waitFor();
    assert.equal(await last.getAttribute("data-index"), String(rows.length - 1));
    assert.ok((await last.textContent()).includes(rows.at(-1).Name), await last.textContent());
    await page.keyboard.press("Enter");
    await selected();
  });

  await check("every example in SQL is answered, and a time leads to the spot", async () => {
    await press("q");
    await panel("sql").getByLabel("Examples").waitFor();
    const examples = await panel("sql").getByLabel("Examples").locator("option").evaluateAll((options) => options.map((option) => option.value).filter(Boolean));
    assert.ok(examples.length >= 4, `${examples.length} examples`);
    for (const statement of examples) {
      await panel("sql").getByLabel("Examples").selectOption(statement);
      await page.waitForFunction(() => !/^…?$/.test(document.querySelector(".sql-status").textContent));
      assert.equal(await panel("sql").locator(".sql-status.failed").count(), 0, `${statement}: ${await panel("sql").locator(".sql-status").textContent()}`);
      assert.ok((await panel("sql").locator("tbody tr[data-index]").count()) > 0, statement);
    }
    await panel("sql").locator(".sql-editor").fill("SELECT start, end - start AS duration FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start DESC LIMIT 3");
    await page.keyboard.press("Control+Enter");
    await page.waitForFunction(() => document.querySelectorAll("#panel-sql tbody tr[data-index]").length === 3);
    await page.keyboard.press("Alt+ArrowUp"); // itself
    await page.keyboard.press("Alt+ArrowUp");
    assert.equal(await panel("sql").locator(".sql-editor").inputValue(), examples.at(-1));
    await shot(page, "panels-sql");
    const before = await viewNow();
    await panel("sql").locator("tbody button.link").first().click();
    await page.waitForFunction((from) => window.tachoTest.seen().view.from !== from && !window.tachoTest.seen().moving, before.from);
  });

  await check("a wrong statement is told in words", async () => {
    await panel("sql").locator(".sql-editor").fill("SELEKT 1");
    await panel("sql").getByRole("button", { name: "Run" }).click();
    await panel("sql").locator(".sql-status.failed").filter({ hasText: "SELEKT" }).waitFor();
  });

  await check("a bookmark is written beside the report, survives a reload, and goes when it is deleted", async () => {
    await press("b");
    await panel("notes").locator("li input:focus").waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("look <b>here</b>");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#panel-notes input")?.value === "look <b>here</b>");
    await shot(page, "panels-notes");
    await page.waitForFunction(() => location.hash.includes("p=notes"));
    const notes = `${file}.notes.json`;
    const written = () => (existsSync(notes) ? readFileSync(notes, "utf8") : "");
    if (way === "server") await until(written, (text) => text.includes("look <b>here</b>"));
    else await page.waitForFunction(() => Object.values(localStorage).some((kept) => kept.includes("look <b>here</b>")));
    await page.reload();
    await page.waitForFunction(() => document.querySelector("#panel-notes input")?.value === "look <b>here</b>");
    await panel("notes").getByRole("button", { name: "Delete this bookmark" }).click();
    if (way === "server") await until(written, (text) => !text.includes("look"));
    else await panel("notes").locator(".empty").waitFor();
  });

  await check("advice explains itself and leads to the place", async () => {
    await press("v");
    const place = panel("advice").locator("tbody tr[data-index]").first();
    await place.waitFor();
    await shot(page, "panels-advice");
    const about = ["Cause", "Operator", "Python line", "Next kernel"];
    assert.deepEqual(await panel("advice").locator("th").allTextContents(), ["Saves per step", ...about, "Of the whole run", ...about]);
    assert.ok((await panel("advice").locator(".advice-sentence").textContent()).length > 40);
    const before = await page.evaluate(() => location.hash);
    await place.click();
    await page.waitForFunction((hash) => location.hash !== hash, before);
  });

  await check("nothing else went wrong", () => {
    assert.deepEqual(shown.complaints, []);
    if (way === "server") assert.deepEqual(shown.refused.map((words) => words.split(/[?:]/)[0]), ["find", "sql"], shown.refused.join("\n"));
  });
}

const served = await view(file);
const { origin } = await served.page.evaluate(() => fetch("api/about", { headers: { "X-Tacho-Token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()));
await panels(served, "server");

if (all && !inFirefox && existsSync(join(process.env.PAGE ?? "", "tacho.wasm"))) { // one_file.mjs opens such a page in Firefox too
  const place = join(scratch(), "page.html");
  tacho("export", "-q", "-t", "html", "-o", place, file);
  const opened = await openPage(`file://${place}`);
  await opened.page.waitForFunction(() => window.tachoTest !== undefined);
  await panels(opened, "one file");
}

await finish();
