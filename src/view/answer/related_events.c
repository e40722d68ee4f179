/* Joins over correlation ids, ids of CUDA events and external ids. An id is unique within its process; a row without a
 * process matches ids of all processes. */
#include "related_events.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "answer_cache.h"
#include "base/array.h"

enum { MOST_CALLS = 8192 }; /* the first calls of a range, whose work is looked for */
enum { NO_CUDA_EVENT = UINT32_MAX };

enum { ID, PROCESS, OTHER };
static const struct key_ranges_kind work_kinds[] = {
    { "CUPTI_ACTIVITY_KIND_KERNEL", { "correlationId", "globalPid" }, NULL },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", { "correlationId", "globalPid" }, NULL },
    { "CUPTI_ACTIVITY_KIND_MEMSET", { "correlationId", "globalPid" }, NULL },
    { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", { "correlationId", "globalPid" }, NULL },
};
static const struct key_ranges_kind call_kind = { "CUPTI_ACTIVITY_KIND_RUNTIME",
                                                  { "correlationId", "globalTid" },
                                                  NULL };
static const struct key_ranges_kind wait_by_call = { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                                     { "correlationId", "globalPid", "eventSyncId" },
                                                     NULL };
static const struct key_ranges_kind wait_by_event = { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                                      { "eventSyncId", "globalPid", "correlationId" },
                                                      NULL };
static const struct key_ranges_kind record_by_call = { "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                                                       { "correlationId", "globalPid", "eventSyncId" },
                                                       NULL };
static const struct key_ranges_kind record_by_event = { "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                                                        { "eventSyncId", "globalPid", "correlationId" },
                                                        NULL };
static const struct key_ranges_kind link_by_call = { "TACHO_TORCH_LINK",
                                                     { "correlationId", "globalPid", "externalId" },
                                                     NULL };
static const struct key_ranges_kind link_by_operator = { "TACHO_TORCH_LINK",
                                                         { "externalId", "globalPid", "correlationId" },
                                                         NULL };
static const struct key_ranges_kind operator_kind = { "TACHO_TORCH_OP", { "externalId", "globalTid" }, NULL };

/* ---- ids ------------------------------------------------------------------------------------------------------- */

void related_correlated_free(struct related_correlated *correlated)
{
    free(correlated->ids);
    *correlated = (struct related_correlated){ 0 };
}

static int related_events_add_id(struct related_correlated *correlated, int64_t id, struct error *err)
{
    if (ARRAY_PUSH(correlated->ids, correlated->capacity, correlated->count, id) != 0)
        return error_no_memory(err);
    return 0;
}

static void related_events_sort(struct related_correlated *correlated)
{
    size_t kept = 0;

    if (correlated->count)
        qsort(correlated->ids, correlated->count, sizeof *correlated->ids, array_by_int64);
    for (size_t i = 0; i < correlated->count; i++)
        if (!kept || correlated->ids[kept - 1] != correlated->ids[i])
            correlated->ids[kept++] = correlated->ids[i];
    correlated->count = kept;
}

struct related_events_reading {
    struct related_correlated *out;
    struct error *err;
};

static int take_ids(void *context, const struct report_block *block, size_t row)
{
    struct related_events_reading *reading = context;

    reading->out->process = global_process(block_value(block, PROCESS, row, 0));
    return block_is_null(block, ID, row) ? 0
                                         : related_events_add_id(reading->out, block->values[ID][row], reading->err);
}

int related_correlated_of(struct related_correlated *out, struct view *view, struct view_place place, struct error *err)
{
    const struct key_ranges_kind *kinds[] = { &work_kinds[0], &work_kinds[1], &work_kinds[2],
                                              &work_kinds[3], &call_kind,     &wait_by_call };
    const char *table = place_table(view, place);
    struct related_events_reading reading = { out, err };

    *out = (struct related_correlated){ 0 };
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i]->table, table) == 0)
            return key_ranges_row(view->report, kinds[i], place_table_row(view, place), take_ids, &reading, err);
    return 0;
}

/* ---- rows of a process that carry ids -------------------------------------------------------------------------- */

struct related_events_matching {
    int64_t process;
    struct event_list_rows rows;
    struct related_correlated others; /* the ids in the third column of the matching rows */
    struct error *err;
};

static int related_events_take_row(void *context, const struct report_block *block, size_t row)
{
    struct related_events_matching *matching = context;

    if (global_process(block_value(block, PROCESS, row, matching->process)) != matching->process)
        return 0;
    if (event_list_rows_add(&matching->rows, block->first_row + row) != 0)
        return error_no_memory(matching->err);
    return matching->rows.count >= MOST_PLACES ? KEY_RANGES_ENOUGH : 0;
}

static int take_other(void *context, const struct report_block *block, size_t row)
{
    struct related_events_matching *matching = context;
    int code;

    if (global_process(block_value(block, PROCESS, row, matching->process)) != matching->process ||
        block_is_null(block, OTHER, row) || block->values[OTHER][row] == NO_CUDA_EVENT)
        return 0;
    if ((code = related_events_add_id(&matching->others, block->values[OTHER][row], matching->err)) != 0)
        return code;
    return matching->others.count >= MOST_CALLS ? KEY_RANGES_ENOUGH : 0;
}

static int add_matching(struct event_list *places, struct view *view, const struct key_ranges_kind *kind,
                        struct related_correlated *correlated, struct error *err)
{
    struct related_events_matching matching = { .process = correlated->process, .err = err };
    int code;

    related_events_sort(correlated);
    if ((code = key_ranges_find(&view->cache->key_ranges, view->report, kind, correlated->ids, correlated->count,
                                related_events_take_row, &matching, err)) != 0)
        goto free_rows;
    code = event_list_add_rows(places, view, kind->table, &matching.rows, err);
free_rows:
    event_list_rows_free(&matching.rows);
    return code;
}

/* Replaces ids by those in the third column of the rows that carry them. */
static int related_events_follow(struct related_correlated *correlated, struct view *view,
                                 const struct key_ranges_kind *kind, struct error *err)
{
    struct related_events_matching matching = { .process = correlated->process,
                                                .others.process = correlated->process,
                                                .err = err };

    related_events_sort(correlated);
    int code = key_ranges_find(&view->cache->key_ranges, view->report, kind, correlated->ids, correlated->count,
                               take_other, &matching, err);
    free(correlated->ids);
    *correlated = matching.others;
    return code;
}

static int copy_ids(struct related_correlated *out, const struct related_correlated *from, struct error *err)
{
    int code;

    *out = (struct related_correlated){ .process = from->process };
    for (size_t i = 0; i < from->count; i++)
        if ((code = related_events_add_id(out, from->ids[i], err)) != 0)
            return code;
    return 0;
}

/* ---- joins ----------------------------------------------------------------------------------------------------- */

int related_work(struct event_list *places, struct view *view, struct related_correlated *correlated, struct error *err)
{
    int code;

    for (size_t i = 0; i < COUNT_OF(work_kinds); i++)
        if ((code = add_matching(places, view, &work_kinds[i], correlated, err)) != 0)
            return code;
    return 0;
}

int related_calls(struct event_list *places, struct view *view, struct related_correlated *correlated,
                  struct error *err)
{
    return add_matching(places, view, &call_kind, correlated, err);
}

/* Joins the tables of recorded CUDA events and of waits by the id of the event, and the result with calls. */
static int related_over_events(struct event_list *places, struct view *view,
                               const struct related_correlated *correlated, const struct key_ranges_kind *from,
                               const struct key_ranges_kind *to, struct error *err)
{
    struct related_correlated ids = { 0 };
    int code;

    if ((code = copy_ids(&ids, correlated, err)) != 0 || (code = related_events_follow(&ids, view, from, err)) != 0 ||
        (code = related_events_follow(&ids, view, to, err)) != 0)
        goto free_ids;
    code = related_calls(places, view, &ids, err);
free_ids:
    related_correlated_free(&ids);
    return code;
}

int related_records(struct event_list *places, struct view *view, struct related_correlated *correlated,
                    struct error *err)
{
    return related_over_events(places, view, correlated, &wait_by_call, &record_by_event, err);
}

int related_waits(struct event_list *places, struct view *view, struct related_correlated *correlated,
                  struct error *err)
{
    return related_over_events(places, view, correlated, &record_by_call, &wait_by_event, err);
}

/* ---- the work of a range --------------------------------------------------------------------------------------- */

struct call_reading {
    const uint32_t *rows; /* in ascending order */
    size_t count;
    struct related_correlated *out;
    struct error *err;
};

static int related_events_take_calls(void *context, int worker, const struct report_block *block)
{
    struct call_reading *reading = context;
    int code;

    for (size_t i = 0; i < reading->count; i++) {
        uint64_t row = reading->rows[i];
        if (row >= block->first_row && row - block->first_row < block->rows &&
            !block_is_null(block, 0, (size_t)(row - block->first_row)) &&
            (code = related_events_add_id(reading->out, block->values[0][row - block->first_row], reading->err)) != 0)
            return code;
    }
    return 0;
}

/* The ids of calls, chunk by chunk, so that no two visits run at the same time. */
static int read_call_ids(struct related_correlated *out, struct view *view, struct event_list_rows *rows,
                         struct error *err)
{
    const struct report_table *table = report_table(view->report, call_kind.table);
    int column = table ? report_column(table, "correlationId") : -1, code;

    if (!table || !rows->count)
        return 0;
    event_list_rows_sort(rows);
    for (size_t i = 0, first = 0; i < report_chunk_count(table) && first < rows->count; i++) {
        struct report_chunk chunk = report_chunk_at(table, i);
        size_t behind = first;
        while (behind < rows->count && rows->list[behind] < chunk.first_row + chunk.rows)
            behind++;
        struct call_reading reading = { rows->list + first, behind - first, out, err };
        if (behind > first && (code = report_scan_rows(view->report, table, &column, 1, chunk.first_row, chunk.rows,
                                                       related_events_take_calls, &reading, err)) != 0)
            return code;
        first = behind;
    }
    return 0;
}

int related_launched(struct event_list *places, struct view *view, int64_t thread, int64_t from_ns, int64_t to_ns,
                     struct error *err)
{
    struct related_correlated ids = { .process = global_process(thread) };
    struct event_list calls = { 0 };
    struct event_list_rows rows = { 0 };
    int code;

    if ((code = event_list_inside(&calls, view, thread, ROW_CUDA_API, from_ns, to_ns, MOST_CALLS, err)) != 0)
        goto done;
    for (size_t i = 0; i < calls.count; i++)
        if (strcmp(place_table(view, calls.list[i]), call_kind.table) == 0 &&
            event_list_rows_add(&rows, place_table_row(view, calls.list[i])) != 0 && (code = error_no_memory(err)) != 0)
            goto done;
    if ((code = read_call_ids(&ids, view, &rows, err)) != 0)
        goto done;
    code = related_work(places, view, &ids, err);
done:
    event_list_rows_free(&rows);
    event_list_free(&calls);
    related_correlated_free(&ids);
    return code;
}

/* ---- external ids ---------------------------------------------------------------------------------------------- */

int related_work_of_operator(struct event_list *places, struct view *view, struct view_place place, struct error *err)
{
    struct related_correlated ids = { 0 };
    struct related_events_reading reading = { &ids, err };
    int code;

    if (strcmp(place_table(view, place), operator_kind.table) != 0)
        return 0;
    if ((code = key_ranges_row(view->report, &operator_kind, place_table_row(view, place), take_ids, &reading, err)) !=
            0 ||
        (code = related_events_follow(&ids, view, &link_by_operator, err)) != 0)
        goto free_ids;
    code = related_work(places, view, &ids, err);
free_ids:
    related_correlated_free(&ids);
    return code;
}

int related_operators(struct event_list *places, struct view *view, struct related_correlated *correlated,
                      struct error *err)
{
    struct related_correlated ids = { 0 };
    int code;

    if ((code = copy_ids(&ids, correlated, err)) != 0 ||
        (code = related_events_follow(&ids, view, &link_by_call, err)) != 0)
        goto free_ids;
    code = add_matching(places, view, &operator_kind, &ids, err);
free_ids:
    related_correlated_free(&ids);
    return code;
}
