/* Reads the counts of short OS calls: see short_calls.h. */
#include "short_calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/human.h"

int short_calls_read(struct short_calls *calls, struct report *report, struct error *err)
{
    enum { PROCESS, IMAGE, NAME, COUNT, FAILED, DURATION, BYTES };
    static const char *const names[] = { "globalPid", "image", "nameId", "count", "failed", "duration", "bytes", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_SHORT_CALL", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const struct short_call call = {
            .process = row_int(&rows, PROCESS),
            .image = row_int(&rows, IMAGE),
            .name = row_int(&rows, NAME),
            .count = row_int(&rows, COUNT),
            .failed = row_int(&rows, FAILED),
            .total_ns = row_int(&rows, DURATION),
            .bytes = row_int_or(&rows, BYTES, 0),
        };
        if (ARRAY_PUSH(calls->list, calls->room, calls->count, call) != 0 &&
            (code = error_short_memory(err, "for the short calls")) != 0)
            break;
    }
    row_cursor_close(&rows);
    return code;
}

void short_calls_free(struct short_calls *calls)
{
    free(calls->list);
    *calls = (struct short_calls){ 0 };
}

int short_calls_count(const struct short_call *call, const struct analysis_request *request)
{
    const struct analysis_filter *filter = request->filter;

    return !request->span && (!filter || !(filter->only & ~(ONLY_PID | ONLY_DEVICE | ONLY_STREAM))) &&
           (!filter || !(filter->only & ONLY_PID) || global_pid_number(call->process) == filter->pid);
}

/* ---- the text -------------------------------------------------------------------------------------------------- */

struct short_calls_sum {
    int64_t name, count, total_ns;
};

static int short_calls_by_count(const void *a, const void *b)
{
    const struct short_calls_sum *x = a, *y = b;

    return COMPARE(y->count, x->count) ?: COMPARE(x->name, y->name);
}

static void short_calls_add_sum(struct text *out, const struct short_calls_sum *sum, const char *what)
{
    text_add(out, out->length ? ", " : "");
    human_count(out, (uint64_t)sum->count);
    text_addf(out, " × %s (", what);
    human_time(out, sum->total_ns);
    text_add(out, ")");
}

static void short_calls_name_sums(struct text *out, struct short_calls_sum *sums, size_t count, struct report *report)
{
    enum { NAMED = 4 };
    struct short_calls_sum others = { 0 };
    struct text what = { 0 };

    if (count)
        qsort(sums, count, sizeof *sums, short_calls_by_count);
    for (size_t i = 0; i < count; i++) {
        if (i < NAMED) {
            short_calls_add_sum(out, &sums[i], report_string(report, sums[i].name, NULL));
            continue;
        }
        others.count = saturating_add(others.count, sums[i].count);
        others.total_ns = saturating_add(others.total_ns, sums[i].total_ns);
    }
    if (count > NAMED) {
        text_addf(&what, "%zu other%s", count - NAMED, count - NAMED == 1 ? "" : "s");
        short_calls_add_sum(out, &others, text_string(&what));
    }
    text_free(&what);
}

/* By name; sums has room for all calls. */
static int short_calls_sum_up(struct short_calls_sum *sums, struct keys *names, const struct short_calls *calls,
                              const struct analysis_request *request)
{
    for (size_t i = 0; i < calls->count; i++) {
        const struct short_call *call = &calls->list[i];
        if (!short_calls_count(call, request))
            continue;
        uint32_t at = keys_add(names, &call->name);
        if (at == NO_KEY)
            return ERR_NO_MEMORY;
        sums[at].name = call->name;
        sums[at].count = saturating_add(sums[at].count, call->count);
        sums[at].total_ns = saturating_add(sums[at].total_ns, call->total_ns);
    }
    return 0;
}

int short_calls_add_text(struct text *out, const struct short_calls *calls, struct report *report,
                         const struct analysis_request *request)
{
    struct keys names = { .width = 1 };
    struct short_calls_sum *sums = calloc(calls->count + 1, sizeof *sums);
    int code = ERR_NO_MEMORY;

    if (!sums || short_calls_sum_up(sums, &names, calls, request) != 0)
        goto done;
    short_calls_name_sums(out, sums, names.count, report);
    code = 0;
done:
    keys_free(&names);
    free(sums);
    return code;
}
