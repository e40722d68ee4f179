// The colours of events, computed from the palette: contrast to the paper and of the text on them, and whether kinds can be told apart
// by readers with normal sight, with protanopia and with deuteranopia. The matrices are those of Machado, Oliveira and Fernandes (2009)
// for a severity of 1, applied to linear RGB; differences are distances in OKLab.

import { readFileSync } from "node:fs";
import { assert, finish, loadSource, test } from "./lib.mjs";

const { Palette, BRIGHT, COLOURS, DIM, keyOf } = await loadSource("timeline/palette.ts");
const { FIRST_CAUSE, PART_TONES, STATE_TONES, partColour, setToneVariables } = await loadSource("ui/tones.ts");
const { KINDS } = await loadSource("timeline/kinds.ts");

const SIGHTS = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};
/** How far kinds are apart at least; 0.02 is about what can just be seen. */
const LEAST = { normal: 0.1, protanopia: 0.06, deuteranopia: 0.06 };
/** Of the causes for which a GPU is idle, which are many, and of the work in a step, which lies beside them in a bar. */
const LEAST_CAUSES = { normal: 0.07, protanopia: 0.04, deuteranopia: 0.04 };
const SHADES = 256;
/** Threads that wait are pale on purpose. */
const BLOCKED = 2;
/** As many as the names in src/analyze/idle/gap_causes.c. */
const CAUSES = [...readFileSync(new URL("../../src/analyze/idle/gap_causes.c", import.meta.url), "utf8").matchAll(/^ {4}\[GAP_\w+\] = "/gm)].length;

function linear(css) {
  const values = css.startsWith("#") ? [1, 3, 5].map((at) => parseInt(css.slice(at, at + 2), 16)) : css.match(/\d+/g).slice(0, 3).map(Number);
  return values.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
}

function contrast(a, b) {
  const [x, y] = [a, b].map((css) => linear(css)).map(([red, green, blue]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue);
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

function oklab(css, matrix) {
  const rgb = linear(css);
  const [r, g, b] = matrix.map((row) => Math.min(1, Math.max(0, row.reduce((sum, factor, i) => sum + factor * rgb[i], 0))));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
}

const apart = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
/** The kinds that events of work have; the last one is a thread that waits, which is pale on purpose. */
const kinds = KINDS.map((_, kind) => kind).filter((kind) => KINDS[kind].lane >= 0);
const themes = [false, true].map((dark) => ({ word: dark ? "dark" : "light", palette: new Palette(dark) }));

await test("every colour of an event has a contrast of 3 to the paper, and text on it one of 4.5", () => {
  for (const { word, palette } of themes) {
    for (const kind of kinds) {
      for (let byte = 0; byte < SHADES; byte++) {
        const key = keyOf(kind, byte);
        for (const shade of [key, BRIGHT + key]) {
          const [paper, ink] = [contrast(palette.fill[shade], palette.paper), contrast(palette.fill[shade], palette.inks[shade])];
          assert.ok(paper >= 3, `${word} ${KINDS[kind].name} ${shade}: ${paper.toFixed(2)} to the paper`);
          assert.ok(ink >= 4.5, `${word} ${KINDS[kind].name} ${shade}: ${ink.toFixed(2)} of the text`);
        }
      }
    }
    for (let number = 0; number < STATE_TONES.length; number++) {
      const { css, ink } = palette.state(number);
      if (number !== BLOCKED) assert.ok(contrast(css, palette.paper) >= 3, `${word}: state ${number}: ${contrast(css, palette.paper).toFixed(2)} to the paper`);
      assert.ok(contrast(css, ink) >= 4.5, `${word}: state ${number}: ${contrast(css, ink).toFixed(2)} of the text`);
    }
    assert.ok(contrast(palette.secondary, palette.paper) >= 4.5);
  }
});

await test("kinds can be told apart, also without red or green", () => {
  for (const { word, palette } of themes) {
    for (const [sight, matrix] of Object.entries(SIGHTS)) {
      const colours = kinds.map((kind) => oklab(palette.kind(kind), matrix));
      for (let i = 0; i < kinds.length; i++) {
        for (let j = 0; j < i; j++) {
          const distance = apart(colours[i], colours[j]);
          assert.ok(distance >= LEAST[sight], `${word}, ${sight}: ${KINDS[kinds[i]].name} and ${KINDS[kinds[j]].name} are ${distance.toFixed(3)} apart`);
        }
      }
    }
  }
});

const WORK_PARTS = ["compute", "communication", "copies"];

await test("causes of idle time and the work of a step can be told apart, also without red or green", () => {
  for (const { word, palette } of themes) {
    const parts = WORK_PARTS.map((part) => [part, partColour(part, word === "dark")]);
    const causes = STATE_TONES.map((_, state) => [`state ${state}`, palette.state(state).css]).slice(FIRST_CAUSE);
    assert.equal(causes.length, CAUSES);
    for (const [sight, matrix] of Object.entries(SIGHTS)) {
      const colours = [...parts, ...causes].map(([name, css]) => [name, oklab(css, matrix)]);
      colours.forEach(([a, x], i) => colours.slice(0, i).forEach(([b, y]) => {
        assert.ok(apart(x, y) >= LEAST_CAUSES[sight], `${word}, ${sight}: ${a} and ${b} are ${apart(x, y).toFixed(3)} apart`);
      }));
    }
  }
});

await test("the parts of a step have the colours of their kinds of work, in canvases and style sheets", () => {
  const kindOf = (name) => KINDS.findIndex((kind) => kind.name === name);
  for (const { word, palette } of themes) {
    const set = new Map();
    setToneVariables({ style: { setProperty: (name, value) => set.set(name, value) } }, word === "dark");
    for (const [part, kind] of [["compute", "Kernel"], ["communication", "Communication"], ["copies", "Copy H2D"]]) {
      assert.equal(partColour(part, word === "dark"), palette.kind(kindOf(kind)));
      assert.equal(set.get(`--part-${part}`), palette.kind(kindOf(kind)));
    }
    STATE_TONES.forEach((_, state) => assert.equal(set.get(`--state-${state}`), palette.state(state).css));
    assert.equal(set.size, Object.keys(PART_TONES).length + STATE_TONES.length);
  }
});

await test("every shade looks more like its own kind than like another", () => {
  for (const { word, palette } of themes) {
    for (const [sight, matrix] of Object.entries(SIGHTS)) {
      const centres = kinds.map((kind) => oklab(palette.kind(kind), matrix));
      for (const kind of kinds) {
        for (let byte = 0; byte < SHADES; byte++) {
          const colour = oklab(palette.fill[keyOf(kind, byte)], matrix);
          const nearest = kinds[centres.map((centre) => apart(centre, colour)).reduce((best, distance, i, all) => (distance < all[best] ? i : best), 0)];
          assert.equal(KINDS[nearest].name, KINDS[kind].name, `${word}, ${sight}, byte ${byte}`);
        }
      }
    }
  }
});

await test("names of a kind have several shades, and dimmed ones are paler", () => {
  for (const { palette } of themes) {
    for (const kind of kinds) {
      assert.ok(new Set(Array.from({ length: SHADES }, (_, byte) => palette.fill[keyOf(kind, byte)])).size >= 5);
      for (let byte = 0; byte < SHADES; byte++) {
        const key = keyOf(kind, byte);
        assert.ok(key < COLOURS && COLOURS <= DIM);
        assert.ok(contrast(palette.fill[DIM + key], palette.paper) < contrast(palette.fill[key], palette.paper));
      }
    }
  }
});

await finish();
