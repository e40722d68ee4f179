// Details put the program's own line first: frames of libraries are folded, and where no stack was recorded stands the option that
// records it. A step shows all its figures, those of `tacho stats`.

import { execFileSync } from "node:child_process";
import { assert, finish, loadSource, report, settled, shot, test, until, view } from "./lib.mjs";

const { foldedWords, runs } = await loadSource("panels/frames.ts");
const stats = (name, file) => JSON.parse(execFileSync(process.env.TACHO, ["stats", "-q", "-f", "json", "-r", name, file], { maxBuffer: 1 << 26 }));

const file = report("kineto/train.json.gz");
const shown = await view(file);
const { page } = shown;
const details = page.locator("#panel-details");

async function select(text, at = page) {
  await at.locator("canvas.tracks").focus();
  await at.keyboard.press("/");
  await at.locator(".search input").fill(text);
  await at.keyboard.press("Enter");
  await at.locator("#panel-details .details-name .name").filter({ hasText: text }).waitFor();
}

await test("frames of libraries are told apart from the program's", () => {
  const [torch, python, own] = [{ library: "torch" }, { library: "Python" }, {}];
  assert.deepEqual(runs([torch, python, own, own, torch]).map((run) => run.length), [2, 2, 1]);
  assert.equal(foldedWords([torch, python, torch]), "3 frames of torch, Python");
});

await test("of a kernel, the line of the program is bold, and the frames of torch are folded until they are asked for", async () => {
  await select("cudnn_convolution");
  const own = details.locator(".frame.own");
  await own.waitFor();
  await shot(page, "own-line");
  assert.match(await own.textContent(), /^step.*kineto_cap\.py:8$/);
  const fold = details.locator(".folded").first();
  assert.match(await fold.locator("summary").textContent(), /^\d+ frames of .*torch/);
  const hidden = fold.locator(".frame").first();
  assert.equal(await hidden.isVisible(), false);
  await fold.locator("summary").click();
  assert.equal(await hidden.isVisible(), true);
});

await test("a step shows its figures, those of step_sum, step_breakdown and step_flops", async () => {
  await select("ProfilerStep#3");
  await page.locator("canvas.tracks").focus();
  const { rows } = await settled(page);
  const steps = rows.find(({ label }) => label === "Steps");
  const box = await page.locator("canvas.tracks").boundingBox();
  await page.keyboard.press("0");
  const { events } = await settled(page, ({ events: list }) => list.some(({ row }) => row === steps.id), "named");
  const step = events.filter(({ row }) => row === steps.id).at(-1);
  await page.mouse.click(Math.min(step.x + step.w / 2, box.x + box.width - 20), step.y + 6);
  await details.locator(".step-figures").nth(2).waitFor();
  await shot(page, "step-figures");
  const [, sum] = stats("step_sum", file);
  const names = await details.locator(".step-figures").nth(1).locator("dt").allTextContents();
  const expected = Object.keys(sum).map((name) => name.replace(/ \(.*\)$/, "")).filter((name) => !["Step", "Start", "PID", "Rank", "Name"].includes(name));
  assert.deepEqual(names, expected);
  const [, parts] = stats("step_breakdown", file);
  const compute = await details.locator(".step-figures").first().locator("dt:text-is('Compute') + dd").textContent();
  assert.ok(compute.startsWith(`${(parts["Compute (ns)"] / 1e6).toPrecision(3)} ms (`), compute);
  const [, operations] = stats("step_flops", file);
  const texts = await details.locator(".step-figures").nth(2).locator("dd").allTextContents();
  const all = Object.fromEntries((await details.locator(".step-figures").nth(2).locator("dt").allTextContents()).map((name, at) => [name, texts[at]]));
  assert.deepEqual(all, {
    "Model FLOPs": `${(operations["Model FLOPs"] / 1e9).toPrecision(4)} GFLOP`, "Hardware FLOPs": `${(operations["Hardware FLOPs"] / 1e9).toPrecision(4)} GFLOP`,
    MFU: `${operations["MFU (%)"].toFixed(1)} %`, HFU: `${operations["HFU (%)"].toFixed(1)} %`, "Peak TFLOP/s": String(operations["Peak TFLOP/s"]), "Peak Type": operations["Peak Type"],
  });
});

await test("where no stack was recorded, the option that records it", async () => {
  const other = await view(report("nsys/resnet18.sqlite.gz"));
  await select("cudaLaunchKernel", other.page);
  const text = () => other.page.locator("#panel-details").textContent();
  assert.match(await until(text, (words) => words.includes("records it")), /tacho profile --python-backtrace=cuda/);
  assert.deepEqual(other.complaints, []);
});

await test("nothing else went wrong", () => assert.deepEqual(shown.complaints, []));
await finish();
