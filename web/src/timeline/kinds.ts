// The kinds of work that events are, by the numbers that tiles have (src/view/work/work_kinds.h), and the lanes in which a folded
// group shows them.

export interface Kind {
  name: string;
  /** In a folded group. */
  lane: number;
}

/** How high the lanes of a folded group are, in relation to each other: what a GPU computes is what one looks for first. */
const WEIGHTS = [6, 1, 1, 2, 1] as const;
const [GPU, COMMUNICATION, COPIES, CPU, RUNNING] = [0, 1, 2, 3, 4];

export const KINDS: readonly Kind[] = [
  { name: "Other", lane: CPU },
  { name: "Kernel", lane: GPU },
  { name: "Communication", lane: COMMUNICATION },
  { name: "Copy to GPU", lane: COPIES },
  { name: "Copy to host", lane: COPIES },
  { name: "Other copy", lane: COPIES },
  { name: "Fill", lane: COPIES },
  { name: "Wait", lane: CPU },
  { name: "Call", lane: CPU },
  { name: "Range", lane: CPU },
  { name: "Running", lane: RUNNING },
  { name: "Not running", lane: -1 },
];

/** Where a lane of a folded group is, from the top of the first one. */
export interface Slot {
  lane: number;
  top: number;
  height: number;
}

/** The lanes of a folded group with these kinds of work. */
export function slotsOf(kinds: readonly number[], height: number): Slot[] {
  const lanes = [...new Set(kinds.map((kind) => KINDS[kind]?.lane ?? -1))].filter((lane) => lane >= 0).sort((a, b) => a - b);
  const all = lanes.reduce((sum, lane) => sum + WEIGHTS[lane]!, 0);
  let top = 0;
  return lanes.map((lane) => {
    const slot = { lane, top, height: (height * WEIGHTS[lane]!) / all };
    top += slot.height;
    return slot;
  });
}
