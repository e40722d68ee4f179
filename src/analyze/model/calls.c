/* Calls by correlation id: an open-addressed table whose neighbours are neighbours in time, since ids are given out one
 * after another and work is looked up in nearly that order. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "base/hash.h"

/* The low bits of the id as they are, so that a run of ids is a run of slots; what is above
 * them, and the process, spread. */
static inline size_t home_slot(const struct calls *calls, int64_t process, int64_t correlation)
{
    uint64_t high = (uint64_t)correlation / calls->slot_count ^ hash_number((uint64_t)process);

    return ((uint64_t)correlation + hash_number(high)) & (calls->slot_count - 1);
}

static inline int is_call(const struct calls *calls, uint32_t call, int64_t process, int64_t correlation)
{
    return calls->columns.values[CALL_CORRELATION][call] == correlation &&
           global_process(calls->thread[call]) == process;
}

/* From the last row to the first, so that each chain is in the order of the rows. */
static void fill_slots(struct calls *calls)
{
    memset(calls->slots, 0xff, calls->slot_count * sizeof *calls->slots);
    for (size_t row = calls->count; row-- > 0;) {
        int64_t process = global_process(calls->thread[row]),
                correlation = calls->columns.values[CALL_CORRELATION][row];
        calls->next[row] = NO_CALL;
        if (columns_is_null(&calls->columns, CALL_CORRELATION, row))
            continue;
        size_t at = home_slot(calls, process, correlation);
        while (calls->slots[at] != NO_CALL && !is_call(calls, calls->slots[at], process, correlation))
            at = (at + 1) & (calls->slot_count - 1);
        calls->next[row] = calls->slots[at];
        calls->slots[at] = (uint32_t)row;
    }
}

int calls_read(struct calls *calls, struct report *report, struct error *err)
{
    static const char *const names[CALL_COLUMNS] = { "start", "end", "globalTid", "correlationId", "nameId" };
    const struct report_table *table = report_table(report, "CUPTI_ACTIVITY_KIND_RUNTIME");
    int wanted[CALL_COLUMNS];

    *calls = (struct calls){ 0 };
    if (!table || !table->rows)
        return 0;
    if (table->rows >= NO_CALL)
        return error_set(err, ERR_UNSUPPORTED, "the report has more CUDA calls than can be matched with their work");
    for (int i = 0; i < CALL_COLUMNS; i++)
        wanted[i] = report_column(table, names[i]);
    int code = report_read(report, table, wanted, CALL_COLUMNS, &calls->columns, err);
    if (code != 0)
        return code;
    columns_fill_nulls(&calls->columns, CALL_THREAD, 0);
    calls->count = calls->columns.rows;
    calls->start = calls->columns.values[CALL_START];
    calls->end = calls->columns.values[CALL_END];
    calls->thread = calls->columns.values[CALL_THREAD];
    calls->name = calls->columns.values[CALL_NAME];
    for (calls->slot_count = 64; calls->slot_count < calls->count * 2;)
        calls->slot_count *= 2;
    calls->slots = malloc(calls->slot_count * sizeof *calls->slots);
    calls->next = malloc((calls->count + 1) * sizeof *calls->next);
    if (!calls->slots || !calls->next) {
        calls_free(calls);
        return error_set(err, ERR_NO_MEMORY, "not enough memory to match CUDA calls with their work");
    }
    fill_slots(calls);
    return 0;
}

void calls_free(struct calls *calls)
{
    if (calls->columns.values)
        report_columns_free(&calls->columns);
    free(calls->slots);
    free(calls->next);
    *calls = (struct calls){ 0 };
}

uint32_t calls_find(const struct calls *calls, int64_t process, int64_t correlation)
{
    if (!calls->count)
        return NO_CALL;
    for (size_t at = home_slot(calls, process, correlation);; at = (at + 1) & (calls->slot_count - 1))
        if (calls->slots[at] == NO_CALL || is_call(calls, calls->slots[at], process, correlation))
            return calls->slots[at];
}

size_t call_name_length(const char *name, size_t length)
{
    enum { SUFFIX = 6 };

    return length > SUFFIX && memcmp(name + length - SUFFIX, "_v", 2) == 0 ? length - SUFFIX : length;
}
