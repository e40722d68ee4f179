// Numbers as people read them: times, lengths, sizes, counts. One place, so that the ruler, the panels and a copied table agree.

export const TIME_UNITS: readonly [unit: string, ns: number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];

const BYTE_UNITS: readonly [unit: string, bytes: number][] = [
  ["TiB", 2 ** 40],
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
  ["B", 1],
];

const HERTZ_UNITS: readonly [unit: string, hertz: number][] = [
  ["GHz", 1e9],
  ["MHz", 1e6],
  ["kHz", 1e3],
  ["Hz", 1],
];

const FLOP_UNITS: readonly [unit: string, operations: number][] = [
  ["PFLOP", 1e15],
  ["TFLOP", 1e12],
  ["GFLOP", 1e9],
  ["MFLOP", 1e6],
  ["kFLOP", 1e3],
  ["FLOP", 1],
];

/** Four significant digits, whole where the unit is the smallest one. What would be rounded up to the next unit is given in it. */
function scaled(value: number, units: readonly [string, number][]): string {
  const size = Math.abs(value);
  const [unit, one] = units.find(([, least]) => Number((size / least).toPrecision(4)) >= 1) ?? units[units.length - 1]!;
  const number = value / one;
  if (one === 1) return `${Number.isInteger(number) ? number : number.toFixed(1)} ${unit}`;
  return `${size / one < 1000 ? number.toPrecision(4) : number.toFixed(0)} ${unit}`;
}

/** A length of time: "1.234 ms", "12 ns"; minutes from 100 s on. */
export function duration(ns: number): string {
  if (!Number.isFinite(ns)) return "–";
  if (Math.abs(ns) < 100e9) return scaled(ns, TIME_UNITS);
  const seconds = Math.round(Math.abs(ns) / 1e9);
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  return `${ns < 0 ? "-" : ""}${hours > 0 ? `${hours} h ` : ""}${minutes} min ${rest} s`;
}

/** A moment since the origin, to the nanosecond: "1.234 567 890 s". */
export function moment(ns: number): string {
  const whole = Math.round(Math.abs(ns));
  const fraction = String(whole % 1e9).padStart(9, "0");
  const groups = [0, 3, 6].map((at) => fraction.slice(at, at + 3)).join("\u202f");
  return `${ns < 0 ? "-" : ""}${Math.floor(whole / 1e9)}.${groups} s`;
}

/** Floating-point operations: "170.4 GFLOP". */
export function flops(value: number): string {
  return scaled(value, FLOP_UNITS);
}

export function bytes(value: number): string {
  return scaled(value, BYTE_UNITS);
}

/** A count with thin spaces between thousands; the same in every locale, so that a screenshot is. */
export function count(value: number): string {
  const [whole, fraction] = String(Math.abs(value)).split(".");
  const grouped = (whole ?? "").length > 4 ? (whole ?? "").replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f") : (whole ?? "");
  return `${value < 0 ? "-" : ""}${grouped}${fraction ? `.${fraction}` : ""}`;
}

/** A value of a counter in its unit: bytes and clocks in the size that suits, large numbers in thousands, the rest with few digits. */
export function quantity(value: number, unit: string): string {
  if (unit === "bytes") return bytes(value);
  if (unit === "Hz") return scaled(value, HERTZ_UNITS);
  const digits = Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
  return `${count(digits)} ${unit}`.trim();
}
