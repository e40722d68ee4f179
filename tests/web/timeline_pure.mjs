// What the timeline computes without a browser: levels, ticks of the ruler, links, the order of rows, tiles that stand in for
// others.

import { assert, finish, loadSource, test } from "./lib.mjs";

const { Lens, confined, whole, zoomed } = await loadSource("timeline/lens.ts");
const { tickStep, ticksOf } = await loadSource("timeline/ruler.ts");
const { readPlace, writePlace } = await loadSource("timeline/place.ts");
const { laneAt, laneBox, layOut, lineAt, Tree } = await loadSource("timeline/layout.ts");
const { Tiles } = await loadSource("timeline/tiles.ts");
const { Names, brief } = await loadSource("timeline/names.ts");
const { Palette } = await loadSource("timeline/palette.ts");
const { keyOf, KEYS } = await loadSource("keys.ts");

const PLAIN = { toggled: [], pinned: [], tall: [], moved: [], filter: "", hideEmpty: false };

await test("a tile's pixel is at most one on the screen, and more than half of one", () => {
  for (const nsPerPixel of [1, 1.5, 2, 3, 1000, 1024, 123456.789, 2 ** 40 + 1]) {
    const { level } = new Lens(0, 1000 * nsPerPixel, 1000);
    assert.ok(2 ** level <= nsPerPixel * (1 + 1e-9) && 2 ** (level + 1) > nsPerPixel, `${nsPerPixel} ns: level ${level}`);
  }
  assert.equal(new Lens(0, 10, 1000).level, 0, "below a nanosecond the tiles of one are magnified");
});

await test("zooming keeps the moment under the pointer, and the view finds back to the report", () => {
  const view = { from: 1000, to: 5000 };
  const closer = zoomed(view, 2000, 0.5);
  assert.equal((2000 - closer.from) / (closer.to - closer.from), (2000 - view.from) / (view.to - view.from));
  const report = { from: 0, to: 1e9 };
  const lost = confined({ from: 5e12, to: 5e12 + 1000 }, report);
  assert.ok(lost.from <= 1.02e9, `begins at ${lost.from}`);
  const point = confined({ from: 500, to: 500 }, report);
  assert.ok(point.to > point.from);
  const single = whole({ from: 0, to: 0 });
  assert.ok(single.to - single.from >= 1000, "a report of one moment has a width");
});

await test("ticks are 1, 2 or 5 of a unit, apart enough for their labels", () => {
  for (let nsPerPixel = 1e-3; nsPerPixel < 1e11; nsPerPixel *= 1.7) {
    const step = tickStep(nsPerPixel);
    assert.ok(step >= 1 && step / nsPerPixel >= 80, `${nsPerPixel}: ${step}`);
    if (step < 3e10) assert.ok([1, 2, 5].includes(Math.round(step / 10 ** Math.floor(Math.log10(step) + 1e-9))), `step ${step}`);
  }
  const words = (from, to) => ticksOf(new Lens(from, to, 1000)).ticks.map(({ text }) => text.replaceAll("\u202f", " "));
  assert.deepEqual(words(0, 1e9).slice(0, 3), ["0", "100 ms", "200 ms"]);
  assert.deepEqual(words(1_999_999_000, 2_000_000_500), ["1.999 999 s", "+200 ns", "+400 ns", "+600 ns", "+800 ns", "2 s", "+200 ns", "+400 ns"]);
  assert.deepEqual(words(3.59e12, 3.63e12), ["59 min 50 s", "59 min 55 s", "1 h", "1 h 5 s", "1 h 10 s", "1 h 15 s", "1 h 20 s", "1 h 25 s", "1 h 30 s"]);
  assert.deepEqual(words(0, 7.2e12), ["0", "20 min", "40 min", "1 h", "1 h 20 min", "1 h 40 min", "2 h"]);
});

await test("a place survives its link", () => {
  const place = {
    view: { from: -12, to: 2 ** 50 }, span: { from: 5, to: 9 }, event: { row: 3, event: 4_000_000_000 },
    search: { text: "a b&c=#%é", mode: "regex", case: true }, panel: "tables", top: 8, chained: true, chapter: "12-345",
    choices: { toggled: [1, 2, 3, 9], pinned: [7, 0], tall: [4], moved: [[5, -1], [6, 2]], filter: "gpu 0", hideEmpty: true },
  };
  assert.deepEqual(readPlace(`#${writePlace(place)}`, 10), place);
});

await test("a mangled link still opens the report", () => {
  for (const hash of ["", "#", "#v=", "#v=9-1&s=x&e=99.1&p=<b>&t=1~999999999&pin=-1.a&mv=1:x", "#%", "#v=1e9-2e9", `#q=${"x".repeat(10000)}`]) {
    const place = readPlace(hash, 10);
    assert.equal(place.view, undefined, hash);
    assert.ok(!place.event && !place.panel, hash);
    assert.ok((place.choices?.toggled ?? []).every((row) => row < 10), hash);
  }
});

const row = (id, parent, kind, more = {}) => ({ id, parent, kind, type: "other", label: `row ${id}`, detail: "", lanes: 1, events: 1, from: 0, to: 9, open: true, kinds: [], ...more });
const tree = () => new Tree([row(0, -1, "slices"), row(1, -1, "group", { kinds: [1, 9] }), row(2, 1, "group", { open: false, kinds: [1, 2, 3, 6, 7, 9, 10] }), row(4, 2, "slices", { lanes: 12 }), row(3, 1, "counter", { label: "Memory" })]);
const ids = (lines) => lines.map((line) => line.row.id);

await test("rows stand below each other without gaps, folded ones hold their rows back", () => {
  const { lines, height } = layOut(tree(), PLAIN, new Set());
  assert.deepEqual(ids(lines), [0, 1, 2, 3]);
  lines.forEach((line, i) => assert.equal(line.y, i === 0 ? 0 : lines[i - 1].y + lines[i - 1].height));
  assert.equal(height, lines[3].y + lines[3].height);
  assert.equal(lines[2].drawn.id, 2, "a folded group has tiles of its own");
  assert.deepEqual(lines[2].slots.map(({ lane }) => lane), [0, 1, 2, 3, 4]);
  lines[2].slots.forEach(({ top, lane }, i, all) => {
    assert.ok(Math.abs(top - (i === 0 ? 0 : all[i - 1].top + all[i - 1].height)) < 1e-9, "lanes lie below each other");
    assert.equal(laneAt(lines[2], laneBox(lines[2], lane, 0).top + 0.5, 0), lane);
  });
  assert.ok(lines[2].slots[0].height > 2 * Math.max(...lines[2].slots.slice(1).map(({ height }) => height)), "the work of the GPU stands out");
  assert.equal(lines[1].drawn, null, "an open one nothing");
  for (let y = 0; y < height; y++) {
    const line = lines[lineAt(lines, y)];
    assert.ok(line.y <= y && y < line.y + line.height, `at ${y}`);
  }
});

await test("unfolded, pinned, moved, filtered and emptied", () => {
  const shown = (choices, empty = []) => layOut(tree(), { ...PLAIN, ...choices }, new Set(empty));
  assert.deepEqual(ids(shown({ toggled: [2] }).lines), [0, 1, 2, 4, 3]);
  assert.deepEqual(ids(shown({ pinned: [3, 0] }).pinned), [3, 0]);
  assert.deepEqual(ids(shown({ pinned: [0] }).lines), [1, 2, 3], "a pinned row of the top is not shown twice");
  assert.deepEqual(ids(shown({ moved: [[3, 2], [0, -1]] }).lines), [1, 3, 2, 0]);
  assert.deepEqual(ids(shown({ filter: "MEMO" }).lines), [1, 3]);
  assert.deepEqual(ids(shown({ filter: "row 2" }).lines), [1, 2, 4], "what lies below a match is kept and unfolded");
  assert.deepEqual(ids(shown({ hideEmpty: true }, [4, 0]).lines), [1, 3], "a group of empty rows is empty");
  const capped = shown({ toggled: [2] }).byRow.get(4);
  const tall = shown({ toggled: [2], tall: [4] }).byRow.get(4);
  assert.deepEqual([capped.lanes + capped.hidden, tall.lanes, tall.hidden], [12, 12, 0]);
});

await test("percents are drawn up to 100, other values and those that are asked for up to their maximum", () => {
  const rows = [row(0, -1, "counter", { unit: "%", min: 3, max: 34 }), row(1, -1, "counter", { unit: "%", max: 120 }), row(2, -1, "counter", { unit: "bytes", min: -2, max: 34 }), row(3, -1, "group", { open: false, unit: "%", max: 7 }), row(4, 3, "counter", { type: "map", unit: "%", max: 7 })];
  const scales = (tall) => layOut(new Tree(rows), { ...PLAIN, tall }, new Set()).lines.map(({ scale }) => scale);
  assert.deepEqual(scales([]), [[0, 100], [0, 120], [-2, 34], [0, 100]]);
  assert.deepEqual(scales([0, 3]), [[0, 34], [0, 120], [-2, 34], [0, 7]]);
});

const nothing = { count: 0 };
const tileOf = (id, level, index) => ({ row: id, kind: "slices", slices: { count: 0 }, dense: nothing, points: nothing, level, index });
function tilesWith(answer) {
  const asked = [];
  const engine = { tiles: async (rows, level, index) => (asked.push([level, index, rows.length]), rows.map((id) => answer(id, level, index))) };
  return { asked, tiles: new Tiles(engine, { from: 0, to: 2 ** 40 }, () => {}, assert.fail) };
}
const arrived = () => new Promise((resolve) => setImmediate(resolve));
async function load(tiles, rows, level, from, to) {
  tiles.begin();
  tiles.want(rows, level, from, to);
  tiles.send();
  while (tiles.pending > 0) await arrived();
}

await test("tiles are asked for once, all rows of a stretch together", async () => {
  const { tiles, asked } = tilesWith(tileOf);
  await load(tiles, [1, 2, 3], 10, 0, 2 ** 21);
  await load(tiles, [1, 2, 3], 10, 0, 2 ** 21);
  assert.deepEqual(asked, [[10, 0, 3], [10, 1, 3]]);
  await load(tiles, [1], 10, -(2 ** 30), 0);
  await load(tiles, [1], 10, 2 ** 40 + 2 ** 21, 2 ** 41);
  assert.equal(asked.length, 2, "outside of the report there is nothing to ask for");
});

await test("until a tile comes, coarser and finer ones stand in for exactly its time", async () => {
  const { tiles } = tilesWith(tileOf);
  const pieces = (level, from, to) => {
    const out = [];
    tiles.pieces(1, level, from, to, out);
    return out.map((piece) => [piece.tile.level, piece.tile.index, piece.from, piece.to]);
  };
  assert.deepEqual(pieces(3, 0, 8192), []);
  await load(tiles, [1], 5, 0, 1);
  assert.deepEqual(pieces(3, 8192, 16384), [[5, 0, 8192, 16384]], "coarser");
  assert.deepEqual(pieces(6, 0, 1), [[5, 0, 0, 32768]], "finer, as far as it is there");
  await load(tiles, [1], 3, 8192, 8193);
  assert.deepEqual(pieces(3, 8192, 16384), [[3, 1, 8192, 16384]], "the right one");
  assert.equal(tiles.complete(1, 3, 0, 16384), false);
});

await test("the page's tiles stay within their bytes; those in use stay", async () => {
  const { tiles } = tilesWith((id, level, index) => ({ ...tileOf(id, level, index), slices: { count: 32768 } }));
  for (let index = 0; index < 200; index++) {
    await load(tiles, [1], 0, index * 1024, index * 1024 + 1);
    assert.ok(tiles.heldBytes <= 97 << 20, `${tiles.heldBytes} bytes after ${index}`);
    assert.ok(tiles.complete(1, 0, 0, 1), "the first is looked at each time");
  }
});

await test("a name is cut to its width, never within a character, and long ones cost no more", async () => {
  const texts = ["void at::native::(anonymous namespace)::kernel<4, float>(int)", "ab\ud83d\ude00cd".repeat(9), "x".repeat(1 << 20), ""];
  const names = new Names({ names: async (ids) => ids.map((id) => texts[id]) }, () => {}, assert.fail, (text) => 10 * text.length);
  texts.forEach((_, id) => assert.equal(names.fitting(id, 100), ""));
  names.send();
  while (names.pending > 0) await arrived();
  assert.equal(names.fitting(0, 10_000), texts[0]);
  for (let width = 0; width < 400; width += 7) {
    const text = names.fitting(1, width);
    assert.ok(text.length * 10 <= width && text.isWellFormed?.() !== false, `${width}: ${text}`);
  }
  assert.ok(names.fitting(2, 200).length <= 20);
  assert.equal(brief("void at::native::vectorized_elementwise_kernel<4, at::F<float>>(int)"), "vectorized_elementwise_kernel");
  assert.equal(brief("autograd::engine::evaluate_function: AddmmBackward0"), "AddmmBackward0");
  assert.equal(brief("(anonymous)"), "(anonymous)");
});

await test("a state has the colour of its number: running, runnable, blocked, the lock held and awaited", () => {
  for (const dark of [false, true]) {
    const palette = new Palette(dark);
    const colours = [0, 1, 2, 3, 4, 255].map((number) => palette.state(number).css);
    assert.equal(new Set([colours[0], colours[1], colours[2], colours[5]]).size, 4, colours.join());
    assert.deepEqual(colours.slice(3, 5), colours.slice(0, 2), "who holds the lock runs, who waits for it could");
  }
});

await test("each key does one thing, and is written as it is pressed", () => {
  const keys = KEYS.flatMap((key) => key.keys);
  assert.equal(new Set(keys).size, keys.length, keys.filter((key, i) => keys.indexOf(key) !== i).join());
  const press = (key, more = {}) => keyOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more });
  assert.equal(press("W", { shiftKey: true }), "Shift+w");
  assert.equal(press("?", { shiftKey: true }), "?");
  assert.equal(press("ArrowLeft", { altKey: true }), "Alt+ArrowLeft");
  assert.equal(press("f", { metaKey: true }), "Ctrl+f");
});

await finish();
