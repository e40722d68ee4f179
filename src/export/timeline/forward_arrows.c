/* Matches forward and backward operators by sequence number, as torch does. */
#include "forward_arrows.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "base/array.h"

int forward_arrows_add(struct forward_arrows *arrows, int64_t sequence, int is_backward, int64_t thread,
                       int64_t time_ns)
{
    arrows->keys.width = 2;
    uint32_t key = keys_add(&arrows->keys, (int64_t[]){ global_process(thread), sequence });
    if (key == NO_KEY || array_reserve_zeroed(&arrows->ends, &arrows->capacity, key + 1u, sizeof *arrows->ends) != 0)
        return ERR_NO_MEMORY;
    struct forward_arrow_end *end = &arrows->ends[key][is_backward];
    if (!end->is_there || (is_backward ? time_ns < end->time_ns : time_ns >= end->time_ns))
        *end = (struct forward_arrow_end){ thread, time_ns, 1 };
    return 0;
}

int forward_arrows_emit(struct forward_arrows *arrows, struct trace *trace, struct error *err)
{
    int64_t id = 0;
    int code;

    for (size_t i = 0; i < arrows->keys.count; i++) {
        const struct forward_arrow_end *ends = arrows->ends[i];
        if (!ends[0].is_there || !ends[1].is_there)
            continue;
        id++;
        for (int side = 0; side < 2; side++) {
            trace_on_thread(trace_begin(trace, TRACE_FLOW, "", ends[side].time_ns, ends[side].time_ns),
                            ends[side].thread);
            if ((code = trace_emit_arrow(trace, "fwdbwd", side ? 'f' : 's', id, err)) != 0)
                return code;
        }
    }
    return 0;
}

void forward_arrows_free(struct forward_arrows *arrows)
{
    if (arrows->keys.width)
        keys_free(&arrows->keys);
    free(arrows->ends);
}
