// Colours of events, from the table ui/tones.ts. The hue tells the kind of work, the shade the name: names differ a little in lightness and
// hue. Every colour has a contrast of at least 3 to the paper, and kinds differ in lightness too, so that colour-blind readers can tell them
// apart; tests/web/colours.mjs computes all of that. Text on a colour is white or black, whichever can be read better.

import { css, heatColours, oklch, type Rgb } from "../ui/colour";
import { rgbOf, STATE_TONES, WORK_TONES } from "../ui/tones";

const PLAIN = 0;
export const DIM = 256;
export const BRIGHT = 512;
const GREY = 768;
export const TICK = 769;

/** The shades of a kind: changes of lightness and hue. */
const SHADES: readonly (readonly [lightness: number, hue: number])[] = [[0, 0], [0.02, 5], [-0.022, -5], [0.02, -6], [-0.022, 6], [-0.01, 9], [0.01, -9]];
export const COLOURS = WORK_TONES.length * SHADES.length;

/** The colour of an event, by its kind of work and the byte of its name: an index of `fill` and `word`. */
export function keyOf(work: number, colour: number): number {
  return (work < WORK_TONES.length ? work : 0) * SHADES.length + (colour % SHADES.length);
}

interface Look {
  /** What the colour of names that stand out has more of. */
  bright: { lightness: number; chroma: number };
  /** How much a dimmed colour goes towards the paper. */
  fade: number;
}

const LIGHT: Look = { bright: { lightness: -0.13, chroma: 0.02 }, fade: 0.78 };
const DARK: Look = { bright: { lightness: 0.13, chroma: 0.02 }, fade: 0.74 };

/** The relative luminance of WCAG. */
function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((value) => (value <= 10.31475 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function inkOn(colour: Rgb): string {
  return luminance(colour) > 0.19 ? "#0c0e13" : "#ffffff";
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const at = (i: 0 | 1 | 2): number => Math.round(a[i] + (b[i] - a[i]) * share);
  return [at(0), at(1), at(2)];
}

/** The colours of one theme: COLOURS each plain, dimmed and bright, and two greys. */
export class Palette {
  /** For fillStyle. */
  readonly fill: string[] = [];
  /** For pixels, as a little-endian RGBA word without alpha. */
  readonly word = new Uint32Array(TICK + 1);
  /** For text on a colour, by the same number. */
  readonly inks: string[] = [];
  readonly ink: string;
  readonly dimInk: string;
  readonly paper: string;
  readonly line: string;
  readonly faint: string;
  readonly accent: string;
  readonly accentSoft: string;
  readonly secondary: string;
  readonly warning: string;
  readonly band: string;
  readonly shade: string;
  /** Of a map of ranks and time. */
  readonly heat: readonly string[];
  private readonly states: readonly { css: string; ink: string; pixel: number }[];

  constructor(readonly dark: boolean) {
    const look = dark ? DARK : LIGHT;
    const paper: Rgb = dark ? [22, 24, 29] : [255, 255, 255];
    const set = (key: number, colour: Rgb): void => {
      this.fill[key] = css(colour);
      this.inks[key] = key >= DIM && key < BRIGHT ? (dark ? "#7d8594" : "#8a93a1") : inkOn(colour);
      this.word[key] = colour[0] | (colour[1] << 8) | (colour[2] << 16);
    };
    WORK_TONES.forEach((tones, work) => {
      const [lightness, chroma, hue] = tones[dark ? 1 : 0];
      SHADES.forEach(([lighter, turn], shade) => {
        const key = keyOf(work, shade);
        const plain = oklch(lightness + lighter, chroma, hue + turn);
        set(PLAIN + key, plain);
        set(DIM + key, mix(plain, paper, look.fade));
        set(BRIGHT + key, oklch(Math.min(0.95, lightness + lighter + look.bright.lightness), chroma + look.bright.chroma, hue + turn));
      });
    });
    set(GREY, dark ? [88, 94, 106] : [176, 182, 192]);
    set(TICK, dark ? [140, 154, 180] : [92, 108, 138]);
    this.ink = dark ? "#f1f3f7" : "#171b22";
    this.dimInk = dark ? "#7d8594" : "#8a93a1";
    this.paper = css(paper);
    this.line = dark ? "#2a2e37" : "#e6e9ee";
    this.faint = dark ? "#1c1f25" : "#f7f8fa";
    this.accent = dark ? "#7cb0ff" : "#1f5fd0";
    this.accentSoft = dark ? "rgb(124 176 255 / 0.16)" : "rgb(31 95 208 / 0.10)";
    this.secondary = dark ? "#a5adba" : "#59616e";
    this.warning = dark ? "#ffb454" : "#b45f00";
    this.band = dark ? "rgb(124 176 255 / 0.28)" : "rgb(31 95 208 / 0.20)";
    this.shade = dark ? "rgb(0 0 0 / 0.38)" : "rgb(70 80 100 / 0.12)";
    this.heat = heatColours(dark);
    this.states = STATE_TONES.map((tones) => {
      const colour = rgbOf(tones, dark);
      return { css: css(colour), ink: inkOn(colour), pixel: colour[0] | (colour[1] << 8) | (colour[2] << 16) };
    });
  }

  /** The colour that stands for a kind. */
  kind(work: number): string {
    return this.fill[keyOf(work, 0)]!;
  }

  /** The colour of a state by its number, which tiles have in the place of a colour. */
  state(number: number): { css: string; ink: string; pixel: number } {
    return this.states[number] ?? { css: this.fill[GREY]!, ink: this.inks[GREY]!, pixel: this.word[GREY]! };
  }
}
