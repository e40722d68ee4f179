/* Short OS calls: see osrt_short.h. The program can write anything into the slot: a function out of range is left out,
 * and sums wrap. */
#include "osrt_short.h"

#include <stdlib.h>

struct osrt_short_sums {
    uint64_t count, failed, ticks, bytes;
};

/* The last number is for functions that had no place of their own. */
struct osrt_shorts {
    struct osrt_short_sums now[OSRT_FUNCTION_COUNT + 1], written[OSRT_FUNCTION_COUNT + 1];
};

/* By place, as of the last reading of a thread's slot. */
struct osrt_short_places {
    struct osrt_short_sums list[WIRE_SHORT_PLACES + 1];
};

/* Allocates it on first use: most threads and processes have no short calls. NULL: no memory. */
static void *osrt_short_state(void **state, size_t bytes)
{
    if (!*state)
        *state = calloc(1, bytes);
    return *state;
}

static struct osrt_short_sums osrt_short_read(const struct wire_short_calls *place)
{
    return (struct osrt_short_sums){
        .count = atomic_load_explicit(&place->count, memory_order_relaxed),
        .failed = atomic_load_explicit(&place->failed, memory_order_relaxed),
        .ticks = atomic_load_explicit(&place->ticks, memory_order_relaxed),
        .bytes = atomic_load_explicit(&place->bytes, memory_order_relaxed),
    };
}

static void osrt_short_add(struct osrt_short_sums *to, const struct osrt_short_sums *now,
                           const struct osrt_short_sums *before)
{
    to->count += now->count - before->count;
    to->failed += now->failed - before->failed;
    to->ticks += now->ticks - before->ticks;
    to->bytes += now->bytes - before->bytes;
}

void osrt_short_take(struct process *process, struct process_reader *reader, const struct wire_thread *slot)
{
    for (uint32_t i = 0; i <= WIRE_SHORT_PLACES; i++) {
        const struct wire_short_calls *place = &slot->short_calls[i];
        uint32_t key = atomic_load_explicit(&place->function, memory_order_relaxed);
        if (!key)
            continue;
        uint32_t function = key == WIRE_SHORT_OTHERS ? OSRT_FUNCTION_COUNT : key - 1;
        struct osrt_short_places *places = osrt_short_state(&reader->state[COLLECT_SOURCE_OSRT], sizeof *places);
        struct osrt_shorts *shorts = osrt_short_state(&process->state[COLLECT_SOURCE_OSRT], sizeof *shorts);
        if (!places || !shorts || function > OSRT_FUNCTION_COUNT)
            continue;
        struct osrt_short_sums now = osrt_short_read(place);
        osrt_short_add(&shorts->now[function], &now, &places->list[i]);
        places->list[i] = now;
    }
}

void osrt_short_thread_end(struct process_reader *reader)
{
    free(reader->state[COLLECT_SOURCE_OSRT]);
    reader->state[COLLECT_SOURCE_OSRT] = NULL;
}

static void osrt_short_row(struct osrt *osrt, const struct process *process, uint32_t function,
                           const struct osrt_short_sums *sums)
{
    struct row_TACHO_SHORT_CALL row = { 0 };

    ROW_SET(&row, TACHO_SHORT_CALL, globalPid, process->global_pid);
    ROW_SET(&row, TACHO_SHORT_CALL, image, process->image);
    ROW_SET(&row, TACHO_SHORT_CALL, nameId, osrt_name_id(osrt, function));
    ROW_SET(&row, TACHO_SHORT_CALL, count, (int64_t)sums->count);
    ROW_SET(&row, TACHO_SHORT_CALL, failed, (int64_t)sums->failed);
    ROW_SET(&row, TACHO_SHORT_CALL, duration, clock_map_ns_in(osrt->clock, sums->ticks));
    if (sums->bytes)
        ROW_SET(&row, TACHO_SHORT_CALL, bytes, (int64_t)sums->bytes);
    writer_append(osrt->writer, TABLE_TACHO_SHORT_CALL, &row);
}

void osrt_short_write(struct osrt *osrt, struct process *process)
{
    struct osrt_shorts *shorts = process->state[COLLECT_SOURCE_OSRT];

    for (uint32_t function = 0; shorts && function <= OSRT_FUNCTION_COUNT; function++) {
        struct osrt_short_sums news = { 0 };
        osrt_short_add(&news, &shorts->now[function], &shorts->written[function]);
        if (news.count)
            osrt_short_row(osrt, process, function, &news);
        shorts->written[function] = shorts->now[function];
    }
}

void osrt_short_process_free(struct process *process)
{
    free(process->state[COLLECT_SOURCE_OSRT]);
    process->state[COLLECT_SOURCE_OSRT] = NULL;
}
