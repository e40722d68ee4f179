/* CUPTI's profiler interfaces: metrics (Host), samples over time (PM sampling) and counters of single kernels (range
 * profiler), for every version since 12.6, without its headers. Each call takes one struct, whose size depends on the
 * version; calls, structs and sizes are rows of cupti_profiler.def.
 *
 *     struct cupti_profiler cupti;
 *     missing = cupti_profiler_find(&cupti, version, find, library);
 *     struct cupti_host_initialize open = { .profiler = CUPTI_PROFILER_RANGE, .chip = "GH100" };
 *     result = cupti_profiler_call(&cupti, CUPTI_CALL_host_initialize, &open);
 *
 * cupti_profiler_call() sets the struct's size. It allocates nothing, so the agent may use it too. */
#ifndef TACHO_ABI_CUPTI_PROFILER_H
#define TACHO_ABI_CUPTI_PROFILER_H

#include <stddef.h>
#include <stdint.h>

/* cuptiGetVersion() of the versions that changed a struct. */
#define CUPTI_VERSION_12_6 24u
#define CUPTI_VERSION_12_8 26u
#define CUPTI_VERSION_13_1 130100u
#define CUPTI_VERSION_13_2 130200u
#define CUPTI_VERSION_13_4 130400u

enum cupti_profiler_type { CUPTI_PROFILER_RANGE = 0, CUPTI_PROFILER_SAMPLING = 1 };
enum cupti_metric_type { CUPTI_METRIC_COUNTER, CUPTI_METRIC_RATIO, CUPTI_METRIC_THROUGHPUT, CUPTI_METRIC_TYPES };
enum cupti_sampling_trigger { CUPTI_TRIGGER_CYCLES = 0, CUPTI_TRIGGER_TIME = 1 };
enum cupti_sampling_append { CUPTI_APPEND_KEEP_OLDEST = 0, CUPTI_APPEND_KEEP_LATEST = 1 };
enum cupti_decode_stop { CUPTI_DECODE_OTHER, CUPTI_DECODE_FULL, CUPTI_DECODE_END };
enum cupti_range_mode { CUPTI_RANGE_AUTO = 1, CUPTI_RANGE_USER = 2 };
enum cupti_replay_mode { CUPTI_REPLAY_APPLICATION = 1, CUPTI_REPLAY_KERNEL = 2, CUPTI_REPLAY_USER = 3 };
enum cupti_interface { CUPTI_INTERFACE_RANGES = 0, CUPTI_INTERFACE_SAMPLING = 3 };
enum cupti_support { CUPTI_SUPPORT_UNKNOWN, CUPTI_SUPPORT_NEVER, CUPTI_SUPPORT_DISABLED, CUPTI_SUPPORT_YES };
enum cupti_cache_control { CUPTI_CACHE_NONE = 0, CUPTI_CACHE_ALL = 1, CUPTI_CACHE_L2 = 2 };

/* struct cupti_host_initialize and so on. */
#define CUPTI_CALL(call, function, struct_name) struct cupti_##call { size_t struct_bytes; void *reserved;
#define CUPTI_ARGUMENT(call, type, ours, theirs, since) type ours;
#define CUPTI_END(call) };
/* clang-format off */
#include "cupti_profiler.def"
/* clang-format on */
#undef CUPTI_CALL
#undef CUPTI_ARGUMENT
#undef CUPTI_END

enum cupti_call_id {
#define CUPTI_CALL(call, function, struct_name) CUPTI_CALL_##call,
#define CUPTI_ARGUMENT(call, type, ours, theirs, since)
#define CUPTI_END(call)
#include "cupti_profiler.def"
#undef CUPTI_CALL
#undef CUPTI_ARGUMENT
#undef CUPTI_END
    CUPTI_CALL_COUNT
};

struct cupti_profiler {
    uint32_t version; /* cuptiGetVersion() */
    int (*functions[CUPTI_CALL_COUNT])(void *arguments);
};

/* The size that this version expects of that call's struct. */
size_t cupti_call_bytes(uint32_t version, enum cupti_call_id call);

/* Looks all functions up with find(library, name). Returns NULL, or the name of the first one that is missing. */
const char *cupti_profiler_find(struct cupti_profiler *cupti, uint32_t version,
                                void *(*find)(void *library, const char *name), void *library);

/* Makes the call; `arguments` is its struct. Returns CUPTI's result (enum cupti_result). */
int cupti_profiler_call(const struct cupti_profiler *cupti, enum cupti_call_id call, void *arguments);

#endif
