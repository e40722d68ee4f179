/* Rows that show when a thread held Python's global interpreter lock (GIL) and when it waited for it. They come from
 * the samples of Python: successive samples of a thread with the same state become one span, unless a gap between them
 * is too long. */
#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/order.h"
#include "derived.h"

enum { START, THREAD, GIL, COLUMNS };
enum { GIL_NEITHER, GIL_HELD, GIL_AWAITED };
#define LONGEST_GAP_NS INT64_C(1000000000) /* samples further apart say nothing of the time between them */

static const struct view_source gil_source[] = { { .table = "TACHO_PYTHON_SAMPLE",
                                                   .start = "start",
                                                   .type = ROW_GIL,
                                                   .work_of = derived_state_work,
                                                   .key = { "globalTid" } } };
static const struct view_family gil = { gil_source, 1 };

struct samples {
    struct report_columns columns;
    uint32_t *order; /* owned; by thread, then by time */
};

static int64_t derived_gil_value(const struct samples *samples, int column, size_t i)
{
    return samples->columns.values[column][samples->order[i]];
}

/* Whether sample i + 1 is of the same thread and soon after. */
static int goes_on(const struct samples *samples, size_t i)
{
    return i + 1 < samples->columns.rows &&
           derived_gil_value(samples, THREAD, i) == derived_gil_value(samples, THREAD, i + 1) &&
           saturating_duration(derived_gil_value(samples, START, i), derived_gil_value(samples, START, i + 1)) <=
               LONGEST_GAP_NS;
}

static int derived_gil_add_stretches(struct gather *gather, const struct samples *samples)
{
    for (size_t i = 0, next; i < samples->columns.rows; i = next) {
        int64_t state = derived_gil_value(samples, GIL, i);
        for (next = i + 1; goes_on(samples, next - 1) && derived_gil_value(samples, GIL, next) == state; next++)
            ;
        if (state != GIL_HELD && state != GIL_AWAITED)
            continue;
        size_t last = goes_on(samples, next - 1) ? next : next - 1; /* up to the sample with another state */
        struct view_taken event = {
            .start_ns = derived_gil_value(samples, START, i),
            .end_ns = derived_gil_value(samples, START, last),
            .table_row = samples->order[i],
            .key = { ROW_GIL, derived_gil_value(samples, THREAD, i) },
            .name = derived_state_name(gather->view, state == GIL_HELD ? STATE_GIL_HELD : STATE_GIL_AWAITED),
        };
        if (gather_add(gather, 0, &event) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int sort_samples(struct samples *samples)
{
    size_t count = samples->columns.rows;

    samples->order = malloc(count * sizeof *samples->order);
    if (!samples->order)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        samples->order[i] = (uint32_t)i;
    return order_by_thread(samples->order, count, samples->columns.values[THREAD], samples->columns.values[START]);
}

int derived_gil(struct view *view, struct error *err)
{
    static const char *const names[COLUMNS] = { "start", "globalTid", "gil" };
    struct samples samples = { 0 };
    struct gather gather = { 0 };
    int code;

    if ((code = columns_read(view->report, "TACHO_PYTHON_SAMPLE", names, COLUMNS, &samples.columns, err)) != 0 ||
        !samples.columns.rows || samples.columns.rows >= UINT32_MAX)
        goto done;
    if ((sort_samples(&samples) != 0 || gather_open(&gather, view, &gil, err) != 0 ||
         derived_gil_add_stretches(&gather, &samples) != 0) &&
        (code = error_short_memory(err, "for the samples of Python")) != 0)
        goto done;
    code = gather_finish(&gather, err);
done:
    gather_close(&gather);
    free(samples.order);
    report_columns_free(&samples.columns);
    return code;
}
