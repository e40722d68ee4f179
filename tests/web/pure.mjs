// The parts of the page that need no browser: numbers as people read them, copied tables, the tree of a flame graph.

import { assert, finish, loadSource, test } from "./lib.mjs";

const units = await loadSource("units.ts");
const { separated } = await loadSource("panels/grid.ts");
const { FlameTree } = await loadSource("panels/flame_tree.ts");
const { escapeXml } = await loadSource("ui/surface.ts");
const { cut } = await loadSource("ui/text.ts");
const { adviceRows, ranked } = await loadSource("panels/advice_rows.ts");
const { shortName } = await loadSource("panels/summary/top_cards.ts");

await test("a length has four digits and the unit that suits it", () => {
  const expected = [
    [0, "0 ns"], [1, "1 ns"], [999, "999 ns"], [12.5, "12.5 ns"], [1_000, "1.000 µs"], [12_345, "12.35 µs"], [999_940, "999.9 µs"],
    [999_999, "1.000 ms"], [1_500_000_000, "1.500 s"], [99e9, "99.00 s"], [100e9, "1 min 40 s"], [3_723e9, "1 h 2 min 3 s"], [-1_234_567, "-1.235 ms"],
  ];
  for (const [ns, words] of expected) assert.equal(units.duration(ns), words, `of ${ns} ns`);
});

await test("a moment is exact to the nanosecond, also before the origin", () => {
  assert.equal(units.moment(1_234_567_890).replaceAll("\u202f", " "), "1.234 567 890 s");
  assert.equal(units.moment(-1).replaceAll("\u202f", " "), "-0.000 000 001 s");
  assert.equal(units.moment(2 ** 53 - 1).replaceAll("\u202f", " "), "9007199.254 740 991 s");
});

await test("bytes and counts", () => {
  assert.equal(units.bytes(1023), "1023 B");
  assert.equal(units.bytes(1536), "1.500 KiB");
  assert.equal(units.bytes(3 * 2 ** 50), "3072 TiB");
  assert.equal(units.count(1234), "1234");
  assert.equal(units.count(1234567.5).replaceAll("\u202f", " "), "1 234 567.5");
});

await test("CSV quotes what must be quoted; TSV keeps a line a line", () => {
  const columns = [{ title: "Name" }, { title: "a,b" }];
  const rows = [['say "hi"', 1.5], ["two\nlines", null], ["tab\there", -3]];
  assert.equal(separated(columns, rows, ","), 'Name,"a,b"\n"say ""hi""",1.5\n"two\nlines",\ntab\there,-3\n');
  assert.equal(separated(columns, rows, "\t"), 'Name\ta,b\nsay "hi"\t1.5\ntwo lines\t\ntab here\t-3\n');
});

await test("text in a picture cannot leave its element", () => {
  assert.equal(escapeXml('<a href="x">&\u0000\ud800</a>'), "&lt;a href=&quot;x&quot;&gt;&amp;\ufffd\ufffd&lt;/a&gt;");
  assert.equal(escapeXml("\ud83d\ude00"), "\ud83d\ude00");
});

await test("a cut never leaves half a character", () => {
  assert.equal(cut("ab\ud83d\ude00cd", 3), "ab…");
  assert.equal(cut("ab\ud83d\ude00cd", 4), "ab\ud83d\ude00…");
  assert.equal(cut("abc", 3), "abc");
});

//      all 10
//      main 9        idle 1
//      work 6  main 2
const tree = new FlameTree({
  unit: "samples",
  samples: 10,
  frames: [{ name: "main", kind: "native" }, { name: "work", kind: "native" }, { name: "idle", kind: "native" }],
  nodes: [[-1, -1, 0, 10], [0, 2, 1, 1], [0, 0, 1, 9], [2, 0, 2, 2], [2, 1, 6, 6]],
});

await test("a flame graph lays the heaviest first, and children inside their parents", () => {
  const boxes = tree.boxes(0, 0).map(({ node, x, width, depth }) => [node, x, width, depth]).sort((a, b) => a[0] - b[0]);
  const rounded = boxes.map((box) => box.map((number) => Math.round(number * 1000) / 1000));
  assert.deepEqual(rounded, [[0, 0, 1, 0], [1, 0.9, 0.1, 1], [2, 0, 0.9, 1], [3, 0.6, 0.2, 2], [4, 0, 0.6, 2]]);
});

await test("what is too narrow is left out with all that it holds, and zooming fills the width", () => {
  assert.deepEqual(tree.boxes(0, 0.15).map(({ node }) => node).sort(), [0, 2, 3, 4]);
  assert.deepEqual(tree.boxes(4, 0).map(({ node, width }) => [node, width]), [[0, 1], [2, 1], [4, 1]]);
});

await test("a function that calls itself is found twice and counted once", () => {
  const { nodes, total } = tree.matching("MAI");
  assert.deepEqual([...nodes].sort(), [2, 3]);
  assert.equal(total, 9);
});

await test("values of counters are in the unit that suits", () => {
  const cases = [[1.98e9, "Hz", "1.980 GHz"], [0, "Hz", "0 Hz"], [1980, "MHz", "1980 MHz"], [49.96, "%", "50 %"], [2048, "bytes", "2.000 KiB"], [12_345, "", "12\u202f345"]];
  for (const [value, unit, words] of cases) assert.equal(units.quantity(value, unit), words);
});

await test("causes that a replay judged come first, then rules in the order of the engine, each with the place first that could gain the most", () => {
  const finding = (rule, from, impact, order = -1) => ({ rule, title: rule, what: "", where: "", operator: "", next: "", text: "", confidence: "", about: order < 0 ? null : impact / 2, bound: null, order, row: -1, event: -1, from, to: from + 100, impact });
  const rule = (name, impact) => ({ name, title: "", advice: "", count: 2, impact });
  const advice = {
    advice: [finding("copies", 0, 5), finding("gaps", 10, 2), finding("launch", 3, 80, 1), finding("copies", 7, 1), finding("gaps", 20, 9), finding("launch", 4, 40, 0), finding("list", 30, 0)],
    rules: [rule("launch", 120), rule("gaps", 11), rule("none", 7), rule("copies", 6), rule("list", 0)],
  };
  assert.deepEqual(adviceRows(advice).map(({ saves, place }) => [place.from, saves]), [[4, 20], [3, 40], [20, 9], [10, 2], [0, 5], [7, 1], [30, 0]]);
  assert.deepEqual(ranked(advice).map(({ place, ofStep }) => [place.from, ofStep]), [[4, true], [3, true], [20, false], [0, false]]);
});

await test("names of kernels are short without what is the same in many", () => {
  const cases = [
    ["void cudnn::bn_bw_1C11_kernel_new<float, float, (bool)1>(float, T1 *)", "cudnn::bn_bw_1C11_kernel_new"], ["saxpy(float, const float *, int)", "saxpy"],
    ["void at::native::(anonymous namespace)::multi_tensor<A<B>, 2>(int)", "at::native::multi_tensor"], ["sm90_xmma_gemm", "sm90_xmma_gemm"], ["<<<", "<<<"], ["", ""],
  ];
  for (const [name, short] of cases) assert.equal(shortName(name), short);
});

await finish();
