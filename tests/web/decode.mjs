// The binary answers as docs/view-api.md lays them out, byte by byte, and what becomes of them in the page.
import { assert, finish, loadSource, test } from "./lib.mjs";

const { decodeTiles, decodeOverview } = await loadSource("engine/decode.ts");

/** Bytes from [type, value] pairs, little endian. */
function bytesOf(parts) {
  const sizes = { u8: 1, u16: 2, u32: 4, f32: 4, f64: 8 };
  const view = new DataView(new ArrayBuffer(parts.reduce((sum, [type]) => sum + sizes[type], 0)));
  let at = 0;
  for (const [type, value] of parts) {
    if (type === "u8") view.setUint8(at, value);
    else if (type === "u16") view.setUint16(at, value, true);
    else if (type === "u32") view.setUint32(at, value, true);
    else if (type === "f32") view.setFloat32(at, value, true);
    else view.setFloat64(at, value, true);
    at += sizes[type];
  }
  return view.buffer;
}

const magic = (text) => [...text].map((letter) => ["u8", letter.charCodeAt(0)]);
const row = (number, kind, slices, dense) => [["u32", number], ["u32", kind], ["u32", slices], ["u32", dense]];
const slice = (from, to, event, name, lane, work, colour, flags, of) =>
  [["f64", from], ["f64", to], ["u32", event], ["u32", name], ["u8", lane], ["u8", work], ["u8", colour], ["u8", flags], ["u32", of]];
const part = (pixel, pixels, count, name, lane, work, colour, busy) =>
  [["u16", pixel], ["u16", pixels], ["u32", count], ["u32", name], ["u8", lane], ["u8", work], ["u8", colour], ["u8", busy]];

const tile = bytesOf([
  ...magic("TILE"), ["u32", 2],
  ...row(7, 1, 2, 1), ...slice(-5, 9e15, 4294967295, 70000, 255, 11, 254, 4, 7), ...slice(3, 3, 0, 1, 2, 5, 3, 1, 2147483647), ...part(1023, 1, 99, 70001, 127, 9, 8, 200),
  ...row(9, 4, 1, 0), ["f64", 12], ["f64", -1.5], ["f64", 2.5], ["f64", 0.25],
]);

await test("a tile has every part of every row, in its place", () => {
  const [slices, counter] = decodeTiles(tile);
  assert.equal(slices.row, 7);
  assert.equal(slices.kind, "slices");
  assert.deepEqual([...slices.slices.from], [-5, 3]);
  assert.deepEqual([...slices.slices.to], [9e15, 3]);
  assert.deepEqual([...slices.slices.event], [4294967295, 0]);
  assert.deepEqual([...slices.slices.name], [70000, 1]);
  assert.deepEqual([...slices.slices.lane], [255, 2]);
  assert.deepEqual([...slices.slices.work], [11, 5]);
  assert.deepEqual([...slices.slices.row], [7, 2147483647]);
  assert.deepEqual([...slices.slices.colour], [254, 3]);
  assert.deepEqual([...slices.slices.flags], [4, 1]);
  const { dense } = slices;
  assert.deepEqual([dense.count, dense.pixel[0], dense.pixels[0], dense.events[0], dense.name[0], dense.lane[0], dense.work[0], dense.colour[0], dense.busy[0]],
    [1, 1023, 1, 99, 70001, 127, 9, 8, 200]);
  assert.deepEqual([counter.row, counter.kind, counter.slices.count, counter.dense.count], [9, "counter", 0, 0]);
  assert.deepEqual([counter.points.count, counter.points.time[0], counter.points.min[0], counter.points.max[0], counter.points.last[0]], [1, 12, -1.5, 2.5, 0.25]);
});

await test("an answer that is cut off anywhere, or of another kind, is refused", () => {
  for (let length = 0; length < tile.byteLength; length++) assert.throws(() => decodeTiles(tile.slice(0, length)), /invalid tile/, `${length} bytes`);
  assert.throws(() => decodeTiles(bytesOf([...magic("OVER"), ["u32", 0]])), /invalid tile/);
  assert.throws(() => decodeTiles(bytesOf([...magic("TILE"), ["u32", 1], ...row(1, 99, 0, 0)])), /invalid tile/);
});

await test("an overview has both lines", () => {
  const { gpu, cpu } = decodeOverview(bytesOf([...magic("OVER"), ["u32", 2], ["f32", 0.5], ["f32", NaN], ["f32", 1], ["f32", 0]]));
  assert.deepEqual([...gpu], [0.5, NaN]);
  assert.deepEqual([...cpu], [1, 0]);
  assert.throws(() => decodeOverview(bytesOf([...magic("OVER"), ["u32", 2], ["f32", 0.5]])));
});
await finish();
