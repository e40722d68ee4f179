/* CPU sampling and scheduling, as the command line asks for it and as it went: part of collect_options.h and
 * collect_result.h. */
#ifndef TACHO_COLLECT_OPTIONS_CPU_OPTIONS_H
#define TACHO_COLLECT_OPTIONS_CPU_OPTIONS_H

#include <stdint.h>

enum collect_scope { COLLECT_SCOPE_NONE, COLLECT_SCOPE_TREE, COLLECT_SCOPE_SYSTEM };
enum collect_backtrace { COLLECT_BACKTRACE_NONE, COLLECT_BACKTRACE_FP, COLLECT_BACKTRACE_DWARF, COLLECT_BACKTRACE_LBR };

#define COLLECT_FREQUENCY_USUAL 1000u

struct collect_cpu_options {
    enum collect_scope samples, switches;
    int samples_asked, switches_asked; /* by name: what cannot be had is warned of, and not only noted */
    enum collect_backtrace backtrace;
    uint64_t period;                   /* of the event; 0: by frequency */
    uint32_t frequency;                /* a second; 0: COLLECT_FREQUENCY_USUAL */
    uint32_t samples_per_backtrace;    /* the others are an address alone; 0: 1 */
    uint32_t stack_bytes;              /* of a thread's stack, with DWARF; 0: as much as there is room for */
};

/* Counters: of the kernel first, then of the CPU's cores. */
enum { COLLECT_COUNTERS_OS = 9, COLLECT_COUNTERS = 19 };
struct collect_counter {
    const char *name, *about; /* NULL: the end */
    uint32_t type, config;    /* of perf_event_open() */
    int in_kernel;            /* it happens there alone */
};
extern const struct collect_counter collect_counters[COLLECT_COUNTERS + 1];

/* Whether it can be had: 0, or -errno; and what that means, as the end of a sentence. */
int collect_counter_probe(const struct collect_counter *event, int system_wide, int *with_kernel);
const char *collect_counter_refusal(const struct collect_counter *event, int error);

struct collect_counter_options {
    enum collect_scope scope;
    uint32_t events, by_default; /* bits by collect_counters; of them, those that nobody asked for by name */
    uint32_t interval_ms;        /* 0: 10 */
};

enum collect_method { COLLECT_BY_NOTHING, COLLECT_BY_PERF, COLLECT_BY_TIMER };

struct collect_cpu_result {
    enum collect_method method; /* of the samples */
    int has_switches;
    uint64_t samples, switches; /* recorded */
    uint64_t counters;          /* values of counters */
    uint64_t lost_samples;      /* by the CPU's own buffer */
    uint64_t lost_records;      /* the kernel had no room in a ring: samples, switches,
                                 * mappings and others, all in one */
    uint64_t throttled;         /* times that the kernel took the rate down */
    uint64_t cut, broken;       /* stacks whose copy was too short; that nothing was known of any more */
};

/* What this machine would allow, found out by trying; nothing stays open. */
struct collect_cpu_probe {
    int error;                           /* errno of the last refusal where nothing works; 0: something does */
    const char *event;                   /* cycles or cpu-clock */
    int kernel;                          /* samples in the kernel too */
    int system_wide, switches, branches; /* may be had */
};
struct collect_cpu_probe collect_cpu_probe(void);

#endif
