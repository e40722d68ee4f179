/* Reads the spans in which a capture recorded: see recorded.h. */
#include "recorded.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/saturating.h"

static int recorded_by_start(const void *a, const void *b)
{
    const struct report_span *x = a, *y = b;

    return COMPARE(x->from_ns, y->from_ns);
}

/* Joins spans that overlap or touch: the reports of a set record at the same time. */
static void recorded_join(struct recorded *recorded)
{
    size_t kept = 0;

    if (recorded->count)
        qsort(recorded->spans, recorded->count, sizeof *recorded->spans, recorded_by_start);
    for (size_t i = 0; i < recorded->count; i++) {
        struct report_span next = recorded->spans[i], *last = kept ? &recorded->spans[kept - 1] : NULL;
        if (next.to_ns <= next.from_ns)
            continue;
        if (!last || next.from_ns > last->to_ns)
            recorded->spans[kept++] = next;
        else if (next.to_ns > last->to_ns)
            last->to_ns = next.to_ns;
    }
    recorded->count = kept;
}

int recorded_read(struct recorded *recorded, struct report *report, struct error *err)
{
    enum { START, END, CAUSE };
    static const char *const names[] = { "start", "end", "cause", NULL };
    struct report_span whole = report_times(report);
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_RANGE", names, err);

    *recorded = (struct recorded){ 0 };
    if (code != 0)
        return code;
    recorded->spans = array_alloc(rows.columns.rows + 1, sizeof *recorded->spans);
    if (!recorded->spans && (code = error_no_memory(err)) != 0)
        goto close_rows;
    while (row_cursor_next(&rows)) {
        const char *cause = row_string(&rows, report, CAUSE);
        recorded->is_part |= strcmp(cause, "start") != 0;
        recorded->spans[recorded->count++] = (struct report_span){ row_int_or(&rows, START, 0),
                                                                   row_int_or(&rows, END, whole.to_ns) };
    }
    recorded_join(recorded);
close_rows:
    row_cursor_close(&rows);
    return code;
}

void recorded_free(struct recorded *recorded)
{
    free(recorded->spans);
    *recorded = (struct recorded){ 0 };
}

int64_t recorded_within(const struct recorded *recorded, int64_t from_ns, int64_t to_ns)
{
    int64_t sum = 0;

    if (from_ns >= to_ns)
        return 0;
    if (!recorded->count)
        return saturating_duration(from_ns, to_ns);
    for (size_t i = 0; i < recorded->count; i++) {
        int64_t from = recorded->spans[i].from_ns > from_ns ? recorded->spans[i].from_ns : from_ns;
        int64_t to = recorded->spans[i].to_ns < to_ns ? recorded->spans[i].to_ns : to_ns;
        if (from < to)
            sum = saturating_add(sum, saturating_duration(from, to));
    }
    return sum;
}

int64_t recorded_time(const struct recorded *recorded)
{
    int64_t sum = 0;

    for (size_t i = 0; i < recorded->count; i++)
        sum = saturating_add(sum, saturating_duration(recorded->spans[i].from_ns, recorded->spans[i].to_ns));
    return sum;
}
