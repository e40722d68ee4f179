// The page as it opens, with the summary closed, in light and dark at three widths, beside stored pictures of it
// (tests/golden/pictures): the mean colours of blocks of 12 by 12 pixels. Fonts differ between machines and move text by a few pixels,
// so a block may differ a little and a few blocks may differ a lot; a row, a panel or a colour that is another is more than that. With
// REMAKE set the pictures are stored anew:
//
//   scripts/page-pictures BUILD

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { all, assert, browser, finish, openPage, report, serve, settled, shot, test, until } from "./lib.mjs";

const folder = join(dirname(fileURLToPath(import.meta.url)), "..", "golden", "pictures");
const WIDTHS = all ? [900, 1440, 1920] : [1440];
const HEIGHT = 900;
const BLOCK = 12;
/** A block differs if one of its three colours is further away than this, of 255; so many of 100 blocks may. */
const FAR = 40;
const MOST_PERCENT = 3;

const desk = await (await (await browser()).newContext()).newPage(); // decodes and compares

/** The mean colours of the blocks, as a small PNG. Runs in the desk's page. */
const shrink = (png) => desk.evaluate(async ([data, block]) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
  const [width, height] = [Math.floor(image.width / block), Math.floor(image.height / block)];
  const whole = new OffscreenCanvas(image.width, image.height).getContext("2d");
  whole.drawImage(image, 0, 0);
  const from = whole.getImageData(0, 0, image.width, image.height).data;
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const small = new ImageData(width, height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const sum = [0, 0, 0];
      for (let dy = 0; dy < block; dy++) for (let dx = 0; dx < block; dx++) for (let c = 0; c < 3; c++) sum[c] += from[((y * block + dy) * image.width + x * block + dx) * 4 + c];
      small.data.set([...sum.map((value) => Math.round(value / block / block)), 255], (y * width + x) * 4);
    }
  canvas.getContext("2d").putImageData(small, 0, 0);
  return canvas.toDataURL("image/png").replace(/.*,/, "");
}, [png.toString("base64"), BLOCK]);

/** How many of 100 blocks differ, and the first places where they do; all of them if the sizes do. */
const compare = (one, other) => desk.evaluate(async ([pictures, far, block]) => {
  const [a, b] = await Promise.all(pictures.map(async (data) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    return canvas.getImageData(0, 0, image.width, image.height);
  }));
  if (a.width !== b.width || a.height !== b.height) return { percent: 100, where: [`${a.width}x${a.height} and ${b.width}x${b.height} blocks`] };
  const where = [];
  for (let i = 0; i < a.data.length; i += 4)
    if ([0, 1, 2].some((c) => Math.abs(a.data[i + c] - b.data[i + c]) > far)) where.push(`${((i / 4) % a.width) * block},${Math.floor(i / 4 / a.width) * block}`);
  return { percent: (where.length * 100) / (a.width * a.height), where: where.slice(0, 20) };
}, [[one, other], FAR, BLOCK]);

/** The page once it looks the same twice: advice and summary come when they are ready. */
async function calm(page) {
  let now = "", before = "";
  const look = async () => {
    await settled(page);
    await page.waitForLoadState("networkidle"); // nothing was asked for half a second
    [before, now] = [now, await shrink(await page.screenshot())];
    return before && (await compare(now, before)).percent === 0;
  };
  await until(look, (is) => is, "the page to come to rest");
  return now;
}

const server = await serve(report("nsys/resnet18.sqlite.gz"));
const opened = (colorScheme, width) => openPage(server.address, { colorScheme, viewport: { width, height: HEIGHT }, reducedMotion: "reduce" });

for (const colorScheme of ["light", "dark"])
  for (const width of WIDTHS) {
    const place = join(folder, `${colorScheme}-${width}.png`);
    await test(`${colorScheme}, ${width} pixels wide`, async () => {
      const { page, context } = await opened(colorScheme, width);
      await page.waitForFunction(() => window.tachoTest !== undefined);
      const now = await calm(page);
      await shot(page, `pictures-${colorScheme}-${width}`);
      await context.close();
      if (process.env.REMAKE) {
        mkdirSync(folder, { recursive: true });
        writeFileSync(place, Buffer.from(now, "base64"));
      }
      assert.ok(existsSync(place), `${place} is missing: scripts/page-pictures makes it`);
      const { percent, where } = await compare(now, readFileSync(place).toString("base64"));
      assert.ok(percent <= MOST_PERCENT, `${percent.toFixed(1)} % of the blocks differ, at ${where.join(" ")}; scripts/page-pictures stores the picture anew if that is meant`);
    });
  }

if (all) await test("another font passes; another layout, other colours or the other theme do not", async () => {
  const { page, context } = await opened("light", 1440);
  await page.waitForFunction(() => window.tachoTest !== undefined);
  await calm(page);
  const stored = readFileSync(join(folder, "light-1440.png")).toString("base64");
  const differs = async (css) => {
    await page.evaluate((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      document.adoptedStyleSheets = [sheet];
      dispatchEvent(new Event("resize"));
    }, css);
    return (await compare(await calm(page), stored)).percent;
  };
  const font = await differs("* { font-family: serif !important; }");
  assert.ok(font <= MOST_PERCENT, `with another font ${font.toFixed(1)} % of the blocks differ`);
  for (const css of ["canvas.tracks { filter: hue-rotate(120deg) saturate(3); }", "body { padding-left: 48px; }", "body { filter: invert(1); }"]) {
    const percent = await differs(css);
    assert.ok(percent > MOST_PERCENT, `with ${css} only ${percent.toFixed(1)} % of the blocks differ`);
  }
  await context.close();
});
await finish();
