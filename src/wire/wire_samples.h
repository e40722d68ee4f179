/* Records of the samples that the agent takes, where the kernel's perf events are refused. */
#ifndef TACHO_WIRE_WIRE_SAMPLES_H
#define TACHO_WIRE_WIRE_SAMPLES_H

#include "wire.h"

enum wire_samples_type {
    /* A sample of CPU time. a: registers, by DWARF's numbers; b: bytes of the stack that lie above its pointer.
     * body: [ns that it stands for][number of the Python stack, 0: none][registers][stack, padded] */
    WIRE_SAMPLE = WIRE_FIRST_SAMPLES,
    WIRE_THREAD_SUMS, /* body: [ns on a CPU][times put on a CPU] so far */
};
WIRE_TYPES_END_AT(SAMPLES, WIRE_THREAD_SUMS);

#define WIRE_SAMPLE_REGISTERS_MAX 33

#endif
