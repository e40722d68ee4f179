/* CPU sampling, scheduling and counters: their options and their result. Part of collect_options.h and
 * collect_result.h. */
#ifndef TACHO_COLLECT_OPTIONS_SAMPLES_OPTIONS_H
#define TACHO_COLLECT_OPTIONS_SAMPLES_OPTIONS_H

#include <stdint.h>

enum collect_scope { COLLECT_SCOPE_NONE, COLLECT_SCOPE_TREE, COLLECT_SCOPE_SYSTEM };
enum collect_backtrace { COLLECT_BACKTRACE_NONE, COLLECT_BACKTRACE_FP, COLLECT_BACKTRACE_DWARF, COLLECT_BACKTRACE_LBR };

#define COLLECT_FREQUENCY_USUAL 1000u

struct collect_samples_options {
    enum collect_scope samples, switches;
    /* Requested by name: if it is not available, the user gets a warning and not only a note. */
    int samples_asked, switches_asked;
    enum collect_backtrace backtrace;
    uint64_t period;                /* of the event; 0: sample by frequency */
    uint32_t frequency;             /* samples per second; 0: COLLECT_FREQUENCY_USUAL */
    uint32_t samples_per_backtrace; /* the other samples have only an address; 0: 1 */
    uint32_t stack_bytes;           /* stack copied with DWARF; 0: as much as fits */
};

struct collect_counter_options {
    enum collect_scope scope;
    /* Bits by index in collect_counters; by_default: those that are on without being requested by name. */
    uint32_t events, by_default;
    uint32_t interval_ms; /* 0: 10 ms */
};

enum collect_method { COLLECT_BY_NOTHING, COLLECT_BY_PERF, COLLECT_BY_TIMER };

struct collect_samples_result {
    enum collect_method method; /* how samples were taken */
    int has_switches;
    uint64_t samples, switches; /* recorded */
    uint64_t counters;          /* values of counters */
    uint64_t lost_samples;      /* dropped by the CPU's own buffer */
    /* Dropped because a ring buffer was full: samples, switches, mappings and other records together. */
    uint64_t lost_records;
    uint64_t copied_bytes; /* of stacks, by the kernel */
    double sample_ns;      /* what a sample cost the thread that it interrupted; 0: not known */
    uint64_t throttled;    /* how often the kernel reduced the sampling rate */
    uint64_t cut, broken;  /* stacks whose copy was too short; stacks that could not be unwound to their end */
};

#endif
