/* The sweep keeps a list of the ranges that have begun and not yet ended. They need not nest: start/end ranges may
 * overlap. It removes ended ranges from the end of the list at once, and from its middle when the list has doubled, so
 * the cost of a range does not depend on the number of open ones. */
#include "launches.h"

#include <stdlib.h>

#include "analyze/engine/order.h"
#include "base/array.h"

struct launch_sweep {
    const struct calls *calls;
    const struct ranges *ranges;
    size_t next;      /* the first range that has not begun */
    uint32_t *active; /* owned; in order of their beginning */
    uint32_t *around; /* owned; as large */
    size_t count, capacity;
    size_t crowded;   /* the count from which on drop_ended() checks the whole list */
};

static int launches_make_room(struct launch_sweep *sweep)
{
    size_t room = sweep->capacity;

    if (array_reserve(&sweep->active, &room, sweep->count + 1, sizeof *sweep->active) != 0 ||
        array_reserve(&sweep->around, &sweep->capacity, sweep->count + 1, sizeof *sweep->around) != 0)
        return ERR_NO_MEMORY;
    return 0;
}

static void drop_ended(struct launch_sweep *sweep, int64_t thread, int64_t start)
{
    const struct range *ranges = sweep->ranges->list;
    size_t kept = 0;

#define HAS_ENDED(i) (ranges[sweep->active[i]].thread != thread || ranges[sweep->active[i]].end_ns < start)
    while (sweep->count && HAS_ENDED(sweep->count - 1))
        sweep->count--;
    if (sweep->count < sweep->crowded)
        return;
    for (size_t i = 0; i < sweep->count; i++)
        if (!HAS_ENDED(i))
            sweep->active[kept++] = sweep->active[i];
#undef HAS_ENDED
    sweep->count = kept;
    sweep->crowded = 2 * kept + 16;
}

/* Drops the ranges that have ended when the call begins, and adds those that have begun. */
static int launches_advance(struct launch_sweep *sweep, uint32_t call)
{
    const struct range *ranges = sweep->ranges->list;
    int64_t thread = sweep->calls->thread[call], start = sweep->calls->start[call];

    drop_ended(sweep, thread, start);
    while (sweep->next < sweep->ranges->count && ranges[sweep->next].thread < thread)
        sweep->next++;
    for (; sweep->next < sweep->ranges->count; sweep->next++) {
        const struct range *range = &ranges[sweep->next];
        if (range->thread != thread || range->start_ns > start)
            break;
        if (range->end_ns < start)
            continue;
        if (launches_make_room(sweep) != 0)
            return ERR_NO_MEMORY;
        sweep->active[sweep->count++] = (uint32_t)sweep->next;
    }
    return 0;
}

/* Writes the ranges around a call to the end of `around`; returns how many there are, at most `most`. */
static size_t launches_find_around(struct launch_sweep *sweep, uint32_t call, size_t most)
{
    int64_t thread = sweep->calls->thread[call], end = sweep->calls->end[call];
    size_t found = 0;

    for (size_t i = sweep->count; i-- > 0 && found < most;) {
        const struct range *range = &sweep->ranges->list[sweep->active[i]];
        if (range->thread == thread && range->end_ns >= end && range->end_ns >= sweep->calls->start[call])
            sweep->around[sweep->capacity - ++found] = sweep->active[i];
    }
    return found;
}

int launches_sweep(const struct calls *calls, uint32_t *list, size_t count, const struct ranges *ranges, size_t most,
                   int (*visit)(void *context, uint32_t call, const uint32_t *around, size_t around_count),
                   void *context)
{
    struct launch_sweep sweep = { .calls = calls, .ranges = ranges };
    int code;

    if ((code = order_by_thread(list, count, calls->thread, calls->start)) != 0)
        return code;
    for (size_t i = 0; i < count; i++) {
        if ((code = launches_advance(&sweep, list[i])) != 0)
            goto free_sweep;
        size_t around = launches_find_around(&sweep, list[i], most);
        if ((code = visit(context, list[i], around ? sweep.around + sweep.capacity - around : NULL, around)) != 0)
            goto free_sweep;
    }
free_sweep:
    free(sweep.active);
    free(sweep.around);
    return code;
}

struct launches_naming {
    struct launch_ranges *out;
    struct ranges ranges;
    uint32_t *by_call; /* owned; a label, or NO_KEY */
};

static int note_innermost(void *context, uint32_t call, const uint32_t *around, size_t around_count)
{
    struct launches_naming *naming = context;

    if (!around_count)
        return 0;
    const struct range *range = &naming->ranges.list[around[around_count - 1]];
    naming->by_call[call] = keys_add(&naming->out->labels, (int64_t[]){ range->domain, range->name });
    return naming->by_call[call] == NO_KEY ? ERR_NO_MEMORY : 0;
}

static int name_kernels(struct launches_naming *naming, const struct gpu_ops *kernels, const struct calls *calls)
{
    struct launch_ranges *out = naming->out;
    uint32_t *list = malloc((calls->count + 1) * sizeof *list);
    size_t count = 0;
    int code = ERR_NO_MEMORY;

    naming->by_call = malloc((calls->count + 1) * sizeof *naming->by_call);
    out->by_row = malloc((kernels->count + 1) * sizeof *out->by_row);
    if (!list || !naming->by_call || !out->by_row)
        goto done;
    for (size_t i = 0; i < calls->count; i++) {
        naming->by_call[i] = NO_KEY;
        list[count++] = (uint32_t)i;
    }
    if ((code = launches_sweep(calls, list, count, &naming->ranges, 1, note_innermost, naming)) != 0)
        goto done;
    for (size_t row = 0; row < kernels->count; row++) {
        uint32_t call = calls_find(calls, kernels->process[row], kernels->correlation[row]);
        out->by_row[row] = call == NO_CALL ? NO_KEY : naming->by_call[call];
    }
    out->count = kernels->count;
done:
    free(naming->by_call);
    free(list);
    return code;
}

int launch_ranges_read(struct launch_ranges *out, struct report *report, struct error *err)
{
    struct launches_naming naming = { .out = out };
    struct filter everything = { 0 };
    struct gpu_ops kernels = { 0 };
    struct calls calls = { 0 };
    const struct report_table *table = report_table(report, gpu_tables[GPU_KERNEL]);
    int code;

    *out = (struct launch_ranges){ .labels.width = 2 };
    if ((code = ranges_read(&naming.ranges, report, RANGE_PUSHPOP | RANGE_STARTEND, &everything, err)) != 0 ||
        (code = gpu_read(&kernels, report, GPU_KERNEL, NULL, err)) != 0 ||
        (code = calls_read(&calls, report, err)) != 0)
        goto done;
    if (name_kernels(&naming, &kernels, &calls) != 0 &&
        (code = error_short_memory(err, "to find the ranges of the kernels")) != 0)
        goto done;
    if (table && table->rows != kernels.count)
        out->count = 0; /* rows of damaged chunks are missing: better no ranges than those of other kernels */
done:
    ranges_free(&naming.ranges);
    gpu_free(&kernels);
    calls_free(&calls);
    return code;
}

void launch_ranges_free(struct launch_ranges *out)
{
    free(out->by_row);
    out->by_row = NULL;
    if (out->labels.width)
        keys_free(&out->labels);
}

void launch_kernel_label(struct text *out, struct report *report, const struct launch_ranges *ranges, uint32_t label,
                         int64_t name)
{
    size_t length;
    const char *bytes = report_string(report, name, &length);

    text_clear(out);
    if (label != NO_KEY) {
        const int64_t *key = keys_get(&ranges->labels, label);
        nvtx_label(out, report, key[0], key[1]);
        text_add_char(out, '/');
    }
    text_add_bytes(out, bytes, length);
}
