/* osrt_call_sum: all OS calls by function, as `strace -c` prints them, with those that were too short for rows. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/event_counts.h"
#include "analyze/model/filter.h"
#include "analyze/model/short_calls.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"

struct osrt_call_group {
    int64_t total_ns, count, short_count, failed;
};

struct osrt_call_sums {
    struct report *report;
    const struct analysis_request *request;
    struct filter filter;
    struct short_calls shorts;
    struct keys names;
    struct osrt_call_group *list; /* owned; by name */
    size_t room;
};

static int osrt_call_sum_add(struct osrt_call_sums *sums, int64_t name, const struct osrt_call_group *more)
{
    uint32_t at = keys_add(&sums->names, &name);

    if (at == NO_KEY || array_reserve_zeroed(&sums->list, &sums->room, at + 1u, sizeof *sums->list) != 0)
        return ERR_NO_MEMORY;
    struct osrt_call_group *group = &sums->list[at];
    group->total_ns = saturating_add(group->total_ns, more->total_ns);
    group->count = saturating_add(group->count, more->count);
    group->short_count = saturating_add(group->short_count, more->short_count);
    group->failed = saturating_add(group->failed, more->failed);
    return 0;
}

static int osrt_call_sum_add_recorded(struct osrt_call_sums *sums, struct error *err)
{
    enum { START, END, CLASS, THREAD, NAME, ERROR };
    static const char *const names[] = { "start", "end", "eventClass", "globalTid", "nameId", "errnoValue", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, sums->report, "OSRT_API", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t start = row_int(&rows, START), end = row_int(&rows, END);
        if (row_int_or(&rows, CLASS, EVENT_CLASS_OSRT) != EVENT_CLASS_OSRT ||
            !filter_thread(&sums->filter, row_int_or(&rows, THREAD, 0), start, end))
            continue;
        const struct osrt_call_group call = { saturating_duration(start, end), 1, 0, !row_is_null(&rows, ERROR) };
        if (osrt_call_sum_add(sums, row_int(&rows, NAME), &call) != 0) {
            code = error_short_memory(err, "for the calls");
            break;
        }
    }
    row_cursor_close(&rows);
    return code;
}

static int osrt_call_sum_add_shorts(struct osrt_call_sums *sums)
{
    for (size_t i = 0; i < sums->shorts.count; i++) {
        const struct short_call *call = &sums->shorts.list[i];
        const struct osrt_call_group group = { call->total_ns, call->count, call->count, call->failed };
        if (short_calls_count(call, sums->request) && osrt_call_sum_add(sums, call->name, &group) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { CELL_SHARE, CELL_TIME, CELL_MEAN, CELL_CALLS, CELL_ERRORS, CELL_SHORT, CELL_NAME, CELLS };

static int osrt_call_sum_fill(struct table *table, const struct osrt_call_sums *sums)
{
    int64_t whole_ns = 0;

    for (uint32_t i = 0; i < sums->names.count; i++)
        whole_ns = saturating_add(whole_ns, sums->list[i].total_ns);
    for (uint32_t i = 0; i < sums->names.count; i++) {
        const struct osrt_call_group *group = &sums->list[i];
        struct table_cell *row = table_add_row(table);
        if (!row || cell_set_pooled(table, &row[CELL_NAME], sums->report, *keys_get(&sums->names, i)) != 0)
            return ERR_NO_MEMORY;
        cell_set_real(&row[CELL_SHARE], whole_ns > 0 ? 100.0 * (double)group->total_ns / (double)whole_ns : 0);
        cell_set_int(&row[CELL_TIME], group->total_ns);
        cell_set_real(&row[CELL_MEAN], group->count > 0 ? (double)group->total_ns / (double)group->count : 0);
        cell_set_int(&row[CELL_CALLS], group->count);
        cell_set_int(&row[CELL_ERRORS], group->failed);
        cell_set_int(&row[CELL_SHORT], group->short_count);
    }
    table_sort_by(table, BY(DOWN(CELL_TIME), DOWN(CELL_CALLS), CELL_NAME));
    return 0;
}

/* Calls that were counted, but by no function. */
static int osrt_call_sum_note(struct table *table, const struct osrt_call_sums *sums, struct error *err)
{
    struct event_counts *counts = malloc(sizeof *counts);
    struct text note = { 0 };
    int code = counts ? event_counts_read(counts, sums->report, err) : error_no_memory(err);

    if (code != 0)
        goto free_counts;
    const struct counted_source *osrt = event_counts_find(counts, "osrt");
    uint64_t untimed = osrt ? osrt->untimed + osrt->left_out : 0;
    if (untimed) {
        text_add(&note, "Without ");
        human_count(&note, untimed);
        text_addf(&note,
                  " call%s of which nothing is known but the number: locks that were free, streams with room in "
                  "their buffer%s.",
                  untimed == 1 ? "" : "s", osrt->left_out ? ", and calls that --cost-limit left out" : "");
        code = table_set_note(table, text_string(&note));
    }
free_counts:
    text_free(&note);
    free(counts);
    return code;
}

static int osrt_call_sum(struct report *report, const struct analysis_request *request, struct table **out,
                         struct error *err)
{
    static const struct table_column columns[CELLS] = {
        { "Time", CELL_REAL, UNIT_PERCENT, 1 }, { "Total Time", CELL_INT, UNIT_NS, 0 },
        { "Avg", CELL_REAL, UNIT_NS, 1 },       { "Calls", CELL_INT, UNIT_NONE, 0 },
        { "Errors", CELL_INT, UNIT_NONE, 0 },   { "Short Calls", CELL_INT, UNIT_NONE, 0 },
        { "Name", CELL_TEXT, UNIT_NAME, 0 },
    };
    struct osrt_call_sums sums = { .report = report, .request = request, .names.width = 1 };
    struct table *table = table_new(columns, CELLS);
    int code;

    if ((code = filter_open(&sums.filter, report, request, err)) != 0 ||
        (code = short_calls_read(&sums.shorts, report, err)) != 0 ||
        (code = osrt_call_sum_add_recorded(&sums, err)) != 0)
        goto done;
    if (!table || osrt_call_sum_add_shorts(&sums) != 0 || osrt_call_sum_fill(table, &sums) != 0)
        code = ERR_NO_MEMORY;
    else
        code = osrt_call_sum_note(table, &sums, err);
done:
    filter_close(&sums.filter);
    short_calls_free(&sums.shorts);
    keys_free(&sums.names);
    free(sums.list);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_osrt_call_sum = {
    .name = "osrt_call_sum",
    .title = "OS Call Count Summary",
    .help = "All calls to libc and pthread by function, over all threads, as strace -c has them: time, calls, errors. "
            "Short Calls are those below the threshold of --osrt-threshold: they are in the other columns, too, but "
            "have no events, so osrt_sum lacks them. Calls that libc and the loader make inside are not seen.",
    .needs = { { "OS Runtime trace data", TABLES("OSRT_API", "TACHO_SHORT_CALL") } },
    .run = osrt_call_sum,
};
