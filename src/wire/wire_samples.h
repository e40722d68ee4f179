/* Records of CPU samples that the agent takes where the kernel refuses perf events. */
#ifndef TACHO_WIRE_WIRE_SAMPLES_H
#define TACHO_WIRE_WIRE_SAMPLES_H

#include "wire.h"

enum wire_samples_type {
    /* A sample of CPU time. a: number of registers, by DWARF number; b: bytes of the stack, from the stack pointer up.
     * body: [ns of CPU time that it stands for][number of the Python stack, 0: none][registers][stack, padded] */
    WIRE_SAMPLE = WIRE_FIRST_SAMPLES,
    WIRE_THREAD_SUMS, /* body: [CPU time in ns][times scheduled onto a CPU], totals of the thread */
};
WIRE_TYPES_END_AT(SAMPLES, WIRE_THREAD_SUMS);

#define WIRE_SAMPLE_REGISTERS_MAX 33

struct wire_samples_shared {
    _Alignas(
        64) _Atomic uint64_t period_ns; /* between two samples, of the thread's CPU time; --cost-limit changes it */
    uint32_t stack_bytes;               /* bytes of stack in each sample; 0: the address alone */
    /* 1: a thread that ends reports its CPU time and how often it was scheduled, whether or not it was sampled */
    uint32_t sums;
    /* Number of timers that threads may still create. The collector updates it now and then. */
    _Alignas(64) _Atomic uint32_t timers_left;
};
WIRE_SHARED(SAMPLES, struct wire_samples_shared, wire_samples)

#endif
