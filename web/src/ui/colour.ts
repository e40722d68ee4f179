// Colours that more than one part of the page makes: evenly spaced for the eye, in light and dark.

export type Rgb = readonly [number, number, number];
export const css = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;

/** OKLCH to sRGB; what the screen cannot show is cut. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const gamma = (value: number): number => {
    const v = value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, v)));
  };
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

const HEATS = 24;

/** The colours of a heat map, from nothing to the most: lightness alone tells them apart. */
export function heatColours(dark: boolean): readonly string[] {
  return Array.from({ length: HEATS + 1 }, (_, step) => {
    const share = step / HEATS;
    return css(dark ? oklch(0.25 + 0.6 * share, 0.02 + 0.11 * share, 255 - 150 * share) : oklch(0.965 - 0.6 * share, 0.01 + 0.13 * share, 230 + 50 * share));
  });
}

/** One of these colours by a share, 0 … 1; what is more than nothing never looks like nothing. */
export function heatOf(colours: readonly string[], share: number): string {
  const last = colours.length - 1;
  return colours[share > 0 ? Math.max(1, Math.min(last, Math.round(share * last))) : 0]!;
}

/** The colour of the n-th bookmark. */
export function noteColour(colour: number, dark: boolean): string {
  return css(oklch(dark ? 0.74 : 0.58, 0.14, (colour * 67 + 20) % 360));
}

/** Whether the page is in its dark colours now. */
export function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}
