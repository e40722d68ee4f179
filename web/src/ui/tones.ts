// The one table of colours with a meaning: kinds of work, states of threads and GPUs, and the parts of a step. The timeline, the summary
// and the strips of steps all take them from here, so that a kind of work and a cause of idle time look the same everywhere.
// tests/web/colours.mjs computes their contrast to the paper and whether they can be told apart.

import { css, oklch, type Rgb } from "./colour";

export type Tone = readonly [lightness: number, chroma: number, hue: number];
/** In light and in dark colours. */
export type Tones = readonly [light: Tone, dark: Tone];

/** By the number of the kind of work (src/view/work/work_kinds.h). */
export const WORK_TONES: readonly Tones[] = [
  [[0.64, 0.012, 260], [0.75, 0.003, 260]], // other
  [[0.53, 0.18, 262], [0.548, 0.185, 263]], // kernel
  [[0.48, 0.205, 326], [0.56, 0.205, 331]], // communication
  [[0.62, 0.15, 150], [0.7, 0.155, 150]], // copy to the GPU
  [[0.65, 0.16, 52], [0.705, 0.155, 61]], // copy to the host
  [[0.476, 0.093, 102], [0.84, 0.125, 104]], // other copy
  [[0.533, 0.09, 20], [0.86, 0.066, 2]], // fill
  [[0.415, 0.145, 21], [0.55, 0.175, 33]], // wait
  [[0.42, 0.06, 250], [0.65, 0.075, 250]], // call
  [[0.648, 0.115, 288], [0.757, 0.12, 298]], // range
  [[0.53, 0.082, 198], [0.603, 0.1, 177]], // running
  [[0.64, 0.012, 260], [0.5, 0.01, 260]], // not running
];
export const [KERNEL, COMMUNICATION, COPY, RUNNING] = [1, 2, 3, 10] as const;

const RUNS = WORK_TONES[RUNNING]!;
const COULD: Tones = [[0.65, 0.13, 78], [0.72, 0.13, 80]];
/** Pale on purpose: nothing happens. */
const NOTHING: Tones = [[0.9, 0.015, 260], [0.36, 0.015, 260]];

/** By the number of a state (src/view/load/derived.h). The causes for which a GPU is idle differ from each other and from the work of a
 * step, in lightness too. */
export const STATE_TONES: readonly Tones[] = [
  RUNS, // running
  COULD, // runnable
  NOTHING, // blocked
  RUNS, // holds the GIL
  COULD, // waits for the GIL
  [[0.65, 0.01, 260], [0.55, 0.01, 260]], // idle, and it is not known yet why
  [[0.648, 0.107, 57], [0.744, 0.155, 59]], // launch-bound
  [[0.596, 0.123, 95], [0.852, 0.115, 96]], // Python between launches
  [[0.403, 0.086, 112], [0.774, 0.112, 119]], // CPU code between launches
  [[0.561, 0.169, 20], [0.61, 0.177, 22]], // wait for results
  [[0.509, 0.084, 146], [0.657, 0.095, 144]], // data loading
  [[0.594, 0.101, 192], [0.744, 0.097, 199]], // copy calls
  [[0.498, 0.097, 338], [0.694, 0.1, 340]], // memory allocation
  [[0.528, 0.117, 301], [0.668, 0.134, 299]], // code loading
  [[0.501, 0.158, 139], [0.574, 0.119, 128]], // garbage collection
  [[0.48, 0.143, 278], [0.603, 0.125, 276]], // compilation
  [[0.463, 0.069, 77], [0.791, 0.145, 82]], // GIL held by another thread
  [[0.547, 0.03, 260], [0.615, 0.03, 260]], // thread blocked
  [[0.63, 0.187, 347], [0.843, 0.05, 2]], // preempted
  [[0.632, 0.097, 230], [0.682, 0.085, 226]], // launch latency
  [[0.592, 0.03, 80], [0.722, 0.03, 80]], // profiler overhead
  [[0.433, 0, 0], [0.546, 0, 0]], // unknown
];
/** The first state that is a cause. */
export const FIRST_CAUSE = 6;
export const UNKNOWN_CAUSE = STATE_TONES.length - 1;

/** What a GPU does in a step; the time that is left is idle. */
export const PART_TONES = { compute: WORK_TONES[KERNEL]!, communication: WORK_TONES[COMMUNICATION]!, copies: WORK_TONES[COPY]!, idle: NOTHING } as const;
export type PartName = keyof typeof PART_TONES;

export const rgbOf = (tones: Tones, dark: boolean): Rgb => oklch(...tones[dark ? 1 : 0]);

export const partColour = (part: PartName, dark: boolean): string => css(rgbOf(PART_TONES[part], dark));

/** The same as custom properties, for style sheets and for elements that outlive a change of the theme. */
export const partVariable = (part: PartName): string => `var(--part-${part})`;
export const stateVariable = (state: number): string => `var(--state-${state})`;

export function setToneVariables({ style }: HTMLElement, dark: boolean): void {
  for (const part of Object.keys(PART_TONES) as PartName[]) style.setProperty(`--part-${part}`, partColour(part, dark));
  STATE_TONES.forEach((tones, state) => style.setProperty(`--state-${state}`, css(rgbOf(tones, dark))));
}
