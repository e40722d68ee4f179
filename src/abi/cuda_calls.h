/* Calls into CUDA by name: which are traced by default (cuda_calls.def), and which order streams or wait. The agent
 * uses the table to choose the calls that CUPTI records, the collector to interpret recorded calls. Needs libc only
 * and never allocates. */
#ifndef TACHO_ABI_CUDA_CALLS_H
#define TACHO_ABI_CUDA_CALLS_H

#include <stdint.h>

enum cuda_domain { CUDA_RUNTIME, CUDA_DRIVER };

enum cuda_group { CUDA_KERNEL, CUDA_MEMORY, CUDA_SYNC, CUDA_OTHER, CUDA_GROUP_COUNT };
#define CUDA_GROUP_BIT(group) (1u << CUDA_##group) /* a bit of wire_cuda_settings.backtrace_groups */

enum cuda_work { CUDA_NONE, CUDA_LAUNCH };

enum cuda_wait_kind {
    CUDA_WAIT_EVENT_RECORD = 1,
    CUDA_WAIT_STREAM_FOR_EVENT,
    CUDA_WAIT_FOR_EVENT,
    CUDA_WAIT_FOR_STREAM,
    CUDA_WAIT_FOR_CONTEXT,
};

/* Calls of the driver that launch, and calls that capture launches, as counters of kernels see them. */
enum cuda_launch_kind {
    CUDA_LAUNCH_NONE,
    CUDA_LAUNCH_PLAIN,
    CUDA_LAUNCH_EX,
    CUDA_LAUNCH_COOPERATIVE,
    CUDA_LAUNCH_GRAPH,         /* launches a graph */
    CUDA_LAUNCH_CAPTURE_BEGIN, /* from here on, launches may become part of a graph */
    CUDA_LAUNCH_CAPTURE_END,
};

struct cuda_call {
    const char *name; /* as in cuda_calls.def */
    uint8_t name_bytes;
    uint8_t domain, group, work;
    uint8_t wait;     /* enum cuda_wait_kind, 0 for calls that neither order streams nor wait for one */
};

/* The row of a call, named as cuptiGetCallbackName() names it; NULL if the call is not traced by default. */
const struct cuda_call *cuda_call_find(enum cuda_domain domain, const char *name);

/* What a call of this name launches; with any suffix. */
enum cuda_launch_kind cuda_call_launch_kind(const char *name);

/* The length of a name without _v<digits>, _ptsz and _ptds at its end. */
uint32_t cuda_call_name_bytes(const char *name);

/* 1 for forms that take NULL as the calling thread's own default stream: _ptsz and _ptds. */
int cuda_call_per_thread(const char *name);

/* All rows. */
const struct cuda_call *cuda_calls(uint32_t *count);

#endif
