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

struct wire_samples_shared {
    _Alignas(64) uint64_t period_ns; /* of a thread's CPU time */
    uint32_t stack_bytes;            /* copied with each sample; 0: an address alone */
    uint32_t sums; /* 1: threads that end report how long they ran and how often, with or without samples */
    /* Timers that may still be made. The collector looks again now and then. */
    _Alignas(64) _Atomic uint32_t timers_left;
};
WIRE_SHARED(SAMPLES, struct wire_samples_shared, wire_samples)

#endif
