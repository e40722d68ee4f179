// Every file of the page passes TypeScript's strict checks (the build itself does not look: it only drops the types), and knows
// only what stands below it.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { assert, finish, skip, test } from "./lib.mjs";

const compiler = join(process.env.WEB ?? "", "node_modules", "typescript", "bin", "tsc");
if (!existsSync(compiler)) skip("TypeScript is not there (npm's packages were not fetched when this was built)");

await test("the page's types hold", () => {
  const { status, stdout } = spawnSync(process.execPath, [compiler, "--noEmit"], { cwd: process.env.WEB, encoding: "utf8" });
  if (status !== 0) throw new Error(stdout);
});
/** What the files of a folder may import from outside it; "." is what lies in no folder. */
const BELOW = { engine: [], ui: [], timeline: [".", "engine", "ui"], panels: [".", "engine", "ui"] };

await test("imports go one way: the timeline and the panels know what both stand on, and not each other", () => {
  const source = join(process.env.WEB, "src");
  const files = readdirSync(source, { recursive: true }).filter((path) => path.endsWith(".ts"));
  const wrong = files.flatMap((path) => {
    const home = path.includes("/") ? path.split("/")[0] : ".";
    const imported = [...readFileSync(join(source, path), "utf8").matchAll(/^(?:import|export|\} from)\b.*?"(\.[^"]*)"/gm)].map(([, to]) => relative(source, join(source, dirname(path), to)));
    const folders = imported.map((to) => (to.includes("/") ? to.split("/")[0] : "."));
    return folders.filter((folder) => folder !== home && BELOW[home] && !BELOW[home].includes(folder)).map((folder) => `${path} imports from ${folder}`);
  });
  assert.ok(files.length > 40, `${files.length} files`);
  assert.deepEqual(wrong, []);
});
await finish();
