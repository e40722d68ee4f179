/* Calls by correlation id. Ids are assigned one after another, and lookups come in nearly that order. So the calls of a
 * single process have a list by id.
 *
 * Those of several processes, and ids with large gaps, have an index in which entries with neighbouring ids are
 * neighbours, which is good for the cache. Such runs are short: an entry of another process, or of other ids, that
 * falls into a run has its place after it. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "base/array.h"
#include "base/hash.h"

/* The low RUN_BITS of an id are its place in a run: two cache lines. A list has at most MOST_GAPS ids for each call. */
enum {
    RUN_BITS = 4,
    MOST_GAPS = 4,
};

static inline uint32_t hash_call(int64_t process, int64_t correlation)
{
    uint64_t run = hash_number((uint64_t)correlation >> RUN_BITS ^ hash_number((uint64_t)process));

    return (uint32_t)(run << RUN_BITS | ((uint64_t)correlation & ((1u << RUN_BITS) - 1)));
}

static inline struct hash_entry *calls_find_entry(const struct calls *calls, uint32_t hash, int64_t process,
                                                  int64_t correlation)
{
    struct hash_entry *found = hash_index_find(&calls->index, hash);

    for (; found; found = hash_index_find_next(&calls->index, found)) {
        size_t call = hash_entry_number(found);
        if (calls->columns.values[CALL_CORRELATION][call] == correlation &&
            global_process(calls->thread[call]) == process)
            break;
    }
    return found;
}

/* From the last row to the first, so that each chain is in the order of the rows. */
static void fill_index(struct calls *calls)
{
    for (size_t row = calls->count; row-- > 0;) {
        int64_t process = global_process(calls->thread[row]),
                correlation = calls->columns.values[CALL_CORRELATION][row];
        calls->next[row] = NO_CALL;
        if (columns_is_null(&calls->columns, CALL_CORRELATION, row))
            continue;
        uint32_t hash = hash_call(process, correlation);
        struct hash_entry *entry = calls_find_entry(calls, hash, process, correlation);
        if (entry) {
            calls->next[row] = (uint32_t)hash_entry_number(entry);
            entry->number_plus_1 = (uint32_t)row + 1;
        } else {
            hash_index_add(&calls->index, &(struct hash_entry){ hash, (uint32_t)row + 1 }); /* there is room */
        }
    }
}

/* Whether ids are dense and of one process; then makes their list. */
static int open_list(struct calls *calls)
{
    const int64_t *id = calls->columns.values[CALL_CORRELATION];
    int64_t least = INT64_MAX, last = INT64_MIN;

    calls->list_process = global_process(calls->thread[0]);
    for (size_t row = 0; row < calls->count; row++) {
        if (global_process(calls->thread[row]) != calls->list_process)
            return 0;
        if (columns_is_null(&calls->columns, CALL_CORRELATION, row))
            continue;
        least = id[row] < least ? id[row] : least;
        last = id[row] > last ? id[row] : last;
    }
    if (least > last || (uint64_t)last - (uint64_t)least >= (uint64_t)calls->count * MOST_GAPS)
        return 0;
    calls->least_id = least;
    calls->list_count = (size_t)((uint64_t)last - (uint64_t)least) + 1;
    calls->list = array_alloc(calls->list_count, sizeof *calls->list);
    return calls->list != NULL;
}

/* From the last row to the first, as fill_index(). */
static void fill_list(struct calls *calls)
{
    memset(calls->list, 0xff, calls->list_count * sizeof *calls->list); /* NO_CALL */
    for (size_t row = calls->count; row-- > 0;) {
        calls->next[row] = NO_CALL;
        if (columns_is_null(&calls->columns, CALL_CORRELATION, row))
            continue;
        uint32_t *first = &calls->list[calls->columns.values[CALL_CORRELATION][row] - calls->least_id];
        calls->next[row] = *first;
        *first = (uint32_t)row;
    }
}

static int calls_make_index(struct calls *calls)
{
    calls->next = array_alloc(calls->count + 1, sizeof *calls->next);
    if (!calls->next)
        return ERR_NO_MEMORY;
    if (open_list(calls)) {
        fill_list(calls);
        return 0;
    }
    if (hash_index_reserve(&calls->index, calls->count) != 0)
        return ERR_NO_MEMORY;
    fill_index(calls);
    return 0;
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
        return error_set(err, ERR_UNSUPPORTED, "the report has too many CUDA calls to match with their GPU work");
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
    if (calls->count && calls_make_index(calls) != 0) {
        calls_free(calls);
        return error_short_memory(err, "to match CUDA calls with their GPU work");
    }
    return 0;
}

void calls_free(struct calls *calls)
{
    report_columns_free(&calls->columns);
    hash_index_free(&calls->index);
    free(calls->next);
    free(calls->list);
    *calls = (struct calls){ 0 };
}

uint32_t calls_find(const struct calls *calls, int64_t process, int64_t correlation)
{
    if (calls->list) {
        uint64_t at = (uint64_t)correlation - (uint64_t)calls->least_id;
        return process == calls->list_process && at < calls->list_count ? calls->list[at] : NO_CALL;
    }
    const struct hash_entry *entry = calls_find_entry(calls, hash_call(process, correlation), process, correlation);

    return entry ? (uint32_t)hash_entry_number(entry) : NO_CALL;
}

size_t call_name_length(const char *name, size_t length)
{
    enum { SUFFIX = 6 };

    return length > SUFFIX && memcmp(name + length - SUFFIX, "_v", 2) == 0 ? length - SUFFIX : length;
}
