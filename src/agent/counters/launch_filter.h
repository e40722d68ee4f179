/* Which launches are counted: ncu's filters, as lines of the file `counters` (key=value).
 *
 *   kernel=SPEC         the kernel's name, or regex:EXPRESSION, which is searched for in it
 *   base=BASE           the name that is meant: function (default) or mangled
 *   kernel-id=SPEC      CONTEXT:STREAM:[regex:]NAME:INVOCATION; each part may be empty
 *   skip=N, count=N     of the launches that match, how many are passed over first, and then counted
 *   skip-before=N       how many launches are passed over first, whether they match or not
 *   filter-mode=MODE    what skip and count are of: global, per-gpu, per-launch-config
 *   device=N            a GPU; may be repeated
 *   collective=1        kernels that wait for other GPUs or for all their blocks may be counted, too
 *
 * Kernels of NCCL and NVSHMEM and cooperative launches are not wanted otherwise: replayed, or run one after another,
 * they may wait forever.
 *
 * Callers hold a lock. Nothing is allocated; expressions are run once for each name. */
#ifndef TACHO_AGENT_COUNTERS_LAUNCH_FILTER_H
#define TACHO_AGENT_COUNTERS_LAUNCH_FILTER_H

#include <stdint.h>

struct counted_launch {
    const char *symbol; /* mangled */
    uint32_t device, context_id, stream_id;
    uint8_t is_cooperative, has_other_chip;
    uint64_t grid[3], block[3];
};

/* A line of the file: 0, or -1 if it is none of the above. The value must stay where it is. */
int launch_filter_add(const char *key, const char *value);

enum launch_answer {
    LAUNCH_UNWANTED,
    LAUNCH_WANTED,
    LAUNCH_COLLECTIVE, /* it would be wanted, if it did not wait for others */
    LAUNCH_OTHER_CHIP, /* the same, if its GPU had the chip of the counters */
};

/* Whether a kernel is to be counted: at the entry of each launch. */
enum launch_answer launch_filter_ask(const struct counted_launch *launch);

/* True once no launch will be wanted any more: `count` is reached. */
int launch_filter_is_over(void);

/* The most launches that `count` lets through, of a GPU or launch configuration where that matters; 0: no limit. */
uint64_t launch_filter_most(void);

/* Forgets all lines and launches. */
void launch_filter_reset(void);

#endif
