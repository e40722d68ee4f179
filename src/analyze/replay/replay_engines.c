/* Copy engines: a GPU has one for each direction, and copies of all streams queue for it. So a replay in which copies
 * come earlier must not promise that two of them run at the same time. */
#include <stdlib.h>

#include "analyze/engine/order.h"
#include "base/array.h"
#include "replay_events.h"

/* Copies that were measured to overlap had engines of their own: the one before is the last that ended in time. */
static void link_copies(const struct replay_events *events, const uint32_t *order, size_t count, const int64_t *engine,
                        uint32_t *before)
{
    uint32_t last = NO_WORK;

    for (size_t i = 0; i < count; i++) {
        uint32_t at = order[i];
        if (i && engine[order[i - 1]] != engine[at])
            last = NO_WORK;
        if (last != NO_WORK && events->works[last].end_ns <= events->works[at].start_ns)
            before[at] = last;
        if (last == NO_WORK || events->works[at].end_ns >= events->works[last].end_ns)
            last = at;
    }
}

int replay_engines_find(const struct replay_events *events, uint32_t **out)
{
    size_t works = events->work_count, count = 0;

    *out = NULL;
    if (!events->has_shared_gpu || events->first_at[REPLAY_COPY] == events->first_at[REPLAY_COPY + 1])
        return 0;
    uint32_t *order = array_alloc(works + 1, sizeof *order), *before = array_alloc(works + 1, sizeof *before);
    int64_t *engine = calloc(works + 1, sizeof *engine), *start = calloc(works + 1, sizeof *start);
    int code = ERR_NO_MEMORY;

    if (!order || !before || !engine || !start)
        goto done;
    for (uint32_t at = 0; at < works; at++) {
        enum replay_engine own = replay_engine_of(events, &events->works[at]);
        before[at] = NO_WORK;
        start[at] = events->works[at].start_ns;
        engine[at] = (int64_t)events->gpu_of[events->works[at].stream] * REPLAY_ENGINES + own;
        if (own != REPLAY_NO_ENGINE)
            order[count++] = at;
    }
    if ((code = order_by_thread(order, count, engine, start)) != 0)
        goto done;
    link_copies(events, order, count, engine, before);
    *out = before;
    before = NULL;
done:
    free(order);
    free(before);
    free(engine);
    free(start);
    return code;
}
