// Every file of the page passes TypeScript's strict checks. The build itself does not look: it only drops the types.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { finish, skip, test } from "./lib.mjs";

const compiler = join(process.env.WEB ?? "", "node_modules", "typescript", "bin", "tsc");
if (!existsSync(compiler)) skip("TypeScript is not there (npm's packages were not fetched when this was built)");

await test("the page's types hold", () => {
  const { status, stdout } = spawnSync(process.execPath, [compiler, "--noEmit"], { cwd: process.env.WEB, encoding: "utf8" });
  if (status !== 0) throw new Error(stdout);
});
await finish();
