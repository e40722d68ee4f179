// The causes of a gap of a GPU in a line.

export const percent = (share: number): string => `${share < 0.01 ? "< 1" : Math.round(share * 100)} %`;

/** "launch-bound 61 %, copies 20 %": the causes of all lines together, the largest first. */
export function gapWords({ causes }: { causes: readonly { cause: string; time: number }[] }, length: number, most = 3): string {
  const totals = new Map<string, number>();
  for (const { cause, time } of causes) totals.set(cause, (totals.get(cause) ?? 0) + time);
  return [...totals].sort(([, a], [, b]) => b - a).slice(0, most).map(([cause, time]) => `${cause} ${percent(time / length)}`).join(", ");
}
