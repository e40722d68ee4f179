// The kinds of work that events are, by the numbers that tiles have (src/view/work/work_kinds.h), and the lanes in which a folded
// group shows them.

export interface Kind {
  name: string;
  /** In a folded group. */
  lane: number;
  /** In a sentence. */
  what: string;
}

/** How high the lanes of a folded group are, in relation to each other: what a GPU computes is what one looks for first. */
const WEIGHTS = [6, 1, 1, 2, 1] as const;
const [GPU, COMMUNICATION, COPIES, CPU, RUNNING] = [0, 1, 2, 3, 4];

export const KINDS: readonly Kind[] = [
  { name: "Other", lane: CPU, what: "Page faults, overhead, and events of other tables" },
  { name: "Kernel", lane: GPU, what: "Kernels and CUDA graphs" },
  { name: "Communication", lane: COMMUNICATION, what: "NCCL, MPI, UCX, OpenSHMEM: kernels, calls and ranges" },
  { name: "Copy H2D", lane: COPIES, what: "Copies from the host to the GPU" },
  { name: "Copy D2H", lane: COPIES, what: "Copies from the GPU to the host" },
  { name: "Other copy", lane: COPIES, what: "Copies within and between GPUs" },
  { name: "Fill", lane: COPIES, what: "Memory fills (memset)" },
  { name: "Wait", lane: CPU, what: "Calls that synchronize or wait" },
  { name: "Call", lane: CPU, what: "Calls of CUDA, of libraries and of the OS" },
  { name: "Range", lane: CPU, what: "NVTX ranges, operators, Python functions, steps" },
  { name: "Running", lane: RUNNING, what: "Threads on CPUs, CPU samples" },
  { name: "Not running", lane: -1, what: "Threads that wait" },
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
