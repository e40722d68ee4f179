// axe-core on the page with each panel and dialog open, in light and dark: nothing serious or critical.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { all, assert, finish, openPage, openTab, report, serve, settled, skip, test } from "./lib.mjs";

function loadAxe() {
  try {
    return readFileSync(createRequire(join(process.env.WEB, "package.json")).resolve("axe-core/axe.min.js"), "utf8");
  } catch {
    return skip("axe-core is not there (npm's packages were not fetched when this was built)");
  }
}
const axe = loadAxe();

/** "rule: what is wrong, where", of what hinders readers seriously. */
async function findings(page) {
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.target.join(" ")} ${node.html.slice(0, 160)} ${node.any.map(({ message }) => message).join("; ")}`));
}

const server = await serve(report("nsys/resnet18.sqlite.gz"));
const selected = /** a kernel, so that its details are there */ async (page) => {
  await page.locator("canvas.tracks").focus();
  await page.keyboard.press(".");
};

for (const colorScheme of all ? ["light", "dark"] : ["light"]) {
  const { page, context } = await openPage(server.address, { colorScheme });
  await page.waitForFunction(() => window.tachoTest !== undefined);
  await settled(page);
  await page.evaluate(axe);
  await test(`${colorScheme}: the page as it opens`, async () => assert.deepEqual(await findings(page), []));
  await selected(page);
  const tabs = await page.locator("[role=tab]").evaluateAll((list) => list.map(({ id }) => id));
  await test(`${colorScheme}: there are panels`, () => assert.ok(tabs.length >= 6, tabs.join()));
  for (const tab of tabs)
    await test(`${colorScheme}: ${tab}`, async () => {
      await openTab(page, tab);
      await settled(page);
      assert.deepEqual(await findings(page), []);
    });
  await test(`${colorScheme}: the keys`, async () => {
    await page.locator("canvas.tracks").focus();
    await page.keyboard.press("?");
    await page.locator("dialog[open], [role=dialog]").first().waitFor();
    assert.deepEqual(await findings(page), []);
    await page.keyboard.press("Escape");
  });
  await test(`${colorScheme}: axe-core sees what it is to see`, async () => {
    await page.evaluate(() => {
      const button = document.body.appendChild(document.createElement("button"));
      const pale = document.body.appendChild(document.createElement("p"));
      pale.textContent = "pale";
      pale.style.cssText = "position:fixed;top:0;left:0;z-index:99;color:#777;background:#888";
      button.className = "nameless";
    });
    const found = (await findings(page)).map((words) => words.split(":")[0]);
    assert.ok(found.includes("button-name") && found.includes("color-contrast"), found.join());
  });
  await context.close();
}
await finish();
