/* Numbers for streams, which are the same only within a context of a process. */
#ifndef TACHO_ANALYZE_MODEL_STREAM_NUMBERS_H
#define TACHO_ANALYZE_MODEL_STREAM_NUMBERS_H

#include <string.h>

#include "analyze/engine/keys.h"
#include "gpu.h"

/* The parts of a key. */
enum { STREAM_PROCESS, STREAM_CONTEXT, STREAM_ID, STREAM_WIDTH };

/* The number of the stream of a row, new or old, or NO_KEY when memory is short. The first extra column of the table is
 * contextId. Streams come in runs, so the last number is the first guess; NO_KEY: none. */
static inline uint32_t stream_number(struct keys *streams, const struct gpu_ops *ops, size_t row, uint32_t last)
{
    int64_t key[STREAM_WIDTH] = { ops->process[row], gpu_extra(ops, 0, row), ops->stream[row] };

    if (last != NO_KEY && memcmp(keys_get(streams, last), key, sizeof key) == 0)
        return last;
    return keys_add(streams, key);
}

#endif
