/* osrt_sum and syscall_sum: time in calls of the C library and pthread, and of the kernel, by function. */
#include "analyze/engine/event_columns.h"
#include "analyze/model/short_calls.h"
#include "analyze/registry.h"
#include "event_sum.h"

static const struct summary_shape shape = { "Num Calls", { "Name" }, event_label_name, 0, NULL };

/* nsys writes notes of its own into the same table, with another class. */
static const struct event_source osrt_sum_source = {
    .table = "OSRT_API", .name = "nameId", .class_column = "eventClass", .class_value = EVENT_CLASS_OSRT
};
static const struct event_summary osrt_sum_events = { .sources = &osrt_sum_source, .source_count = 1, .shape = &shape };

/* The rows are those of nsys; what they lack stands below them. */
static int osrt_sum_note(struct table *table, struct report *report, const struct analysis_request *request,
                         struct error *err)
{
    struct short_calls calls = { 0 };
    struct text text = { 0 }, note = { 0 };
    int code = short_calls_read(&calls, report, err);

    if (code != 0)
        goto free_calls;
    if ((code = short_calls_add_text(&text, &calls, report, request)) != 0 || !text.length)
        goto free_calls;
    text_addf(&note, "Without calls too short for events: %s; osrt_call_sum counts them.", text_string(&text));
    code = table_set_note(table, text_string(&note));
free_calls:
    text_free(&text);
    text_free(&note);
    short_calls_free(&calls);
    return code;
}

static int osrt_sum(struct report *report, const struct analysis_request *request, const void *as, struct table **out,
                    struct error *err)
{
    struct table *table = NULL;
    int code = event_sum(report, request, as, &table, err);

    if (code != 0 || !table) /* a share of the work has no table */
        return table_hand_over(table, code, out, err);
    return table_hand_over(table, osrt_sum_note(table, report, request, err), out, err);
}

const struct analysis analysis_osrt_sum = {
    .name = "osrt_sum",
    .title = "OS Runtime Summary",
    .help = "Time in blocking and I/O calls of libc and pthread by function, over all threads. Calls below the "
            "threshold have no events and are no part of it; osrt_call_sum has them, too.",
    .needs = { { "OS Runtime trace data", TABLES("OSRT_API") } },
    .by_default = 2,
    .run_as = osrt_sum,
    .as = &osrt_sum_events,
    .divides = &shape,
};

const struct analysis analysis_syscall_sum = {
    .name = "syscall_sum",
    .title = "Syscall Summary",
    .help = "System call time by call, over all threads.",
    .needs = { { "syscall data", TABLES("SYSCALL") } },
    .by_default = 20,
    EVENT_SUM(&shape, { .table = "SYSCALL", .name = "nameId" }),
};
