// Colours of events. A name's colour byte picks a hue and a lightness together, so that two names differ for colour-blind eyes
// as well; the hues avoid the pairs that those confuse. Text on a slice is dark on light paper and light on dark, always readable.

import { heatColours, oklch, type Rgb } from "../ui/colour";

const HUES = [255, 70, 195, 320, 110, 225, 40, 165, 290, 85] as const;
const PLAIN = 0;
export const DIM = 256;
export const BRIGHT = 512;
/** What is a pixel wide needs more colour than what is wide to look the same. */
export const THIN = 768;
const GREY = 1024;
export const TICK = 1025;

/** The colour of an event, by its kind of work and the byte of its name: an index of `fill` and `word`. */
export function keyOf(_work: number, colour: number): number {
  return colour;
}

interface Look {
  lightness: readonly number[];
  chroma: number;
  bright: { lightness: readonly number[]; chroma: number };
  /** How much lighter thin things are. */
  thin: number;
  /** How much a dimmed colour goes towards the paper. */
  fade: number;
}

const LIGHT: Look = { lightness: [0.82, 0.75, 0.88], chroma: 0.085, bright: { lightness: [0.72, 0.66, 0.78], chroma: 0.15 }, fade: 0.72, thin: -0.08 };
const DARK: Look = { lightness: [0.48, 0.42, 0.53], chroma: 0.075, bright: { lightness: [0.76, 0.71, 0.81], chroma: 0.12 }, fade: 0.68, thin: 0.07 };

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const at = (i: 0 | 1 | 2): number => Math.round(a[i] + (b[i] - a[i]) * share);
  return [at(0), at(1), at(2)];
}

const css = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;

/** What a thread does; the same in every report. */
const RUNS = [oklch(0.66, 0.1, 180), oklch(0.6, 0.09, 180)] as const;
const COULD = [oklch(0.8, 0.13, 80), oklch(0.68, 0.12, 80)] as const;
const WAITS = [oklch(0.9, 0.015, 260), oklch(0.36, 0.015, 260)] as const;
const both = (chroma: number, hue: number, lighter = 0): readonly [light: Rgb, dark: Rgb] => [oklch(0.68 + lighter, chroma, hue), oklch(0.54 - lighter, chroma, hue)];
/** By the number of a state: running, runnable, blocked; holds the GIL, waits for it; a GPU without work, then the causes of that in the
 * order of gap_causes.h. */
const STATES: readonly (readonly [light: Rgb, dark: Rgb])[] = [
  RUNS, COULD, WAITS, RUNS, COULD,
  both(0.01, 260), // idle, and it is not known yet why
  both(0.11, 255), // launch-bound
  both(0.12, 95), // Python between launches
  both(0.12, 60), // CPU code between launches
  both(0.15, 25), // wait for results
  both(0.11, 150), // data loading
  both(0.09, 200), // copies
  both(0.13, 330), // allocation
  both(0.12, 295), // code loading
  both(0.11, 120), // garbage collection
  both(0.12, 275), // compilation
  both(0.12, 78), // GIL held by another thread
  both(0.04, 260), // nothing to do: blocked
  both(0.12, 0), // preempted
  both(0.05, 225), // launched, not begun
  both(0.03, 90), // profiler
  both(0, 0), // unknown
];

/** The colours of one theme: 256 each plain, dimmed, bright and thin, and two greys. */
export class Palette {
  /** For fillStyle. */
  readonly fill: string[] = [];
  /** For pixels, as a little-endian RGBA word without alpha. */
  readonly word = new Uint32Array(TICK + 1);
  readonly ink: string;
  readonly dimInk: string;
  readonly brightInk: string;
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
  private readonly states: readonly { css: string; pixel: number }[];

  constructor(readonly dark: boolean) {
    const look = dark ? DARK : LIGHT;
    const paper: Rgb = dark ? [22, 24, 29] : [255, 255, 255];
    const set = (key: number, colour: Rgb): void => {
      this.fill[key] = css(colour);
      this.word[key] = colour[0] | (colour[1] << 8) | (colour[2] << 16);
    };
    for (let byte = 0; byte < 256; byte++) {
      const hue = HUES[byte % HUES.length]!;
      const shade = Math.floor(byte / HUES.length) % 3;
      const plain = oklch(look.lightness[shade]!, look.chroma, hue);
      set(PLAIN + byte, plain);
      set(DIM + byte, mix(plain, paper, look.fade));
      set(THIN + byte, oklch(look.lightness[shade]! + look.thin, look.chroma + 0.025, hue));
      set(BRIGHT + byte, oklch(look.bright.lightness[shade]!, look.bright.chroma, hue));
    }
    set(GREY, dark ? [88, 94, 106] : [176, 182, 192]);
    set(TICK, dark ? [140, 154, 180] : [92, 108, 138]);
    this.ink = dark ? "#f1f3f7" : "#171b22";
    this.brightInk = "#10131a";
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
    this.states = STATES.map(([light, night]) => {
      const colour = dark ? night : light;
      return { css: css(colour), pixel: colour[0] | (colour[1] << 8) | (colour[2] << 16) };
    });
  }

  /** The colour of a state by its number, which tiles have in the place of a colour. */
  state(number: number): { css: string; pixel: number } {
    return this.states[number] ?? { css: this.fill[GREY]!, pixel: this.word[GREY]! };
  }
}
