/* First launches of steps: see step_launches.h. There are few recorded steps, so the tables of calls and kernels are
 * read once and never joined as a whole. */
#include "step_launches.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"

struct step_launches_reading {
    const struct timed_step *steps;
    size_t count;
    struct step_launch *out;
    int64_t *correlations; /* owned; by step */
    struct keys launches;  /* correlation ids */
    uint32_t *step_of;     /* owned; by key */
};

/* The recorded step that holds a time, or `count`. */
static size_t step_at(const struct step_launches_reading *reading, int64_t time_ns)
{
    size_t after = BISECT(0, reading->count, i, reading->steps[i].start_ns <= time_ns);
    int is_inside = after && time_ns < reading->steps[after - 1].end_ns &&
                    reading->steps[after - 1].phase != STEP_TIMED;
    return is_inside ? after - 1 : reading->count;
}

static int is_launch(const char *name)
{
    return strstr(name, "LaunchKernel") || strstr(name, "GraphLaunch");
}

static int step_launches_read_calls(struct step_launches_reading *reading, struct report *report, struct error *err)
{
    enum { START, THREAD, CORRELATION, NAME };
    static const char *const names[] = { "start", "globalTid", "correlationId", "nameId", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "CUPTI_ACTIVITY_KIND_RUNTIME", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t start_ns = row_int(&rows, START);
        size_t step = row_int_or(&rows, THREAD, 0) == reading->steps[0].thread ? step_at(reading, start_ns)
                                                                               : reading->count;
        if (step == reading->count ||
            (reading->out[step].call_ns != NO_LAUNCH && reading->out[step].call_ns <= start_ns) ||
            !is_launch(report_string(report, row_int_or(&rows, NAME, 0), NULL)))
            continue;
        reading->out[step].call_ns = start_ns;
        reading->correlations[step] = row_int_or(&rows, CORRELATION, 0);
    }
    row_cursor_close(&rows);
    return 0;
}

static int index_launches(struct step_launches_reading *reading)
{
    for (size_t i = 0; i < reading->count; i++) {
        uint32_t key = reading->out[i].call_ns == NO_LAUNCH ? 0
                                                            : keys_add(&reading->launches, &reading->correlations[i]);
        if (key == NO_KEY)
            return ERR_NO_MEMORY;
        if (reading->out[i].call_ns != NO_LAUNCH)
            reading->step_of[key] = (uint32_t)i;
    }
    return 0;
}

static int step_launches_read_work(struct step_launches_reading *reading, struct report *report, const char *table,
                                   struct error *err)
{
    enum { START, PROCESS, CORRELATION };
    static const char *const names[] = { "start", "globalPid", "correlationId", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t correlation = row_int_or(&rows, CORRELATION, 0), start_ns = row_int(&rows, START);
        uint32_t key = keys_find(&reading->launches, &correlation);
        if (key == NO_KEY || global_process(row_int_or(&rows, PROCESS, 0)) != global_process(reading->steps[0].thread))
            continue;
        struct step_launch *launch = &reading->out[reading->step_of[key]];
        if (launch->start_ns == NO_LAUNCH || start_ns < launch->start_ns)
            launch->start_ns = start_ns;
    }
    row_cursor_close(&rows);
    return 0;
}

int step_launches_read(struct step_launch *out, const struct timed_step *steps, size_t count, struct report *report,
                       struct error *err)
{
    struct step_launches_reading reading = { .steps = steps, .count = count, .out = out, .launches.width = 1 };
    int code = ERR_NO_MEMORY;

    for (size_t i = 0; i < count; i++)
        out[i] = (struct step_launch){ NO_LAUNCH, NO_LAUNCH };
    if (!count)
        return 0;
    reading.correlations = calloc(count, sizeof *reading.correlations);
    reading.step_of = calloc(count, sizeof *reading.step_of);
    if (!reading.correlations || !reading.step_of)
        goto done;
    if ((code = step_launches_read_calls(&reading, report, err)) != 0 || (code = index_launches(&reading)) != 0)
        goto done;
    if ((code = step_launches_read_work(&reading, report, "CUPTI_ACTIVITY_KIND_KERNEL", err)) == 0)
        code = step_launches_read_work(&reading, report, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", err);
done:
    keys_free(&reading.launches);
    free(reading.correlations);
    free(reading.step_of);
    return code == ERR_NO_MEMORY ? error_short_memory(err, "for the steps") : code;
}
