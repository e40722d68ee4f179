/* osrt_sum and syscall_sum: time in calls of the C library and pthread, and of the kernel, by function. */
#include "analyze/engine/event_columns.h"
#include "analyze/registry.h"
#include "event_sum.h"

static const struct summary_shape shape = { "Num Calls", { "Name" }, event_label_name, 0, NULL };

static int osrt_sum(struct report *report, const struct analysis_request *request, struct table **out,
                    struct error *err)
{
    /* nsys writes notes of its own into the same table, with another class. */
    static const struct event_source source = {
        .table = "OSRT_API", .name = "nameId", .class_column = "eventClass", .class_value = EVENT_CLASS_OSRT
    };

    return event_summarize_names(report, request, &source, 1, &shape, out, err);
}

static int syscall_sum(struct report *report, const struct analysis_request *request, struct table **out,
                       struct error *err)
{
    static const struct event_source source = { .table = "SYSCALL", .name = "nameId" };

    return event_summarize_names(report, request, &source, 1, &shape, out, err);
}

static const char *const osrt_sum_tables[] = { "OSRT_API", NULL };
const struct analysis analysis_osrt_sum = {
    .name = "osrt_sum",
    .title = "OS Runtime Summary",
    .usage = "",
    .help = "Time in blocking and I/O calls of libc and pthread by function, over all threads. `tacho info` has the "
            "number of calls below the threshold, which are not recorded.",
    .needs = { { "OS Runtime trace data", osrt_sum_tables } },
    .by_default = 2,
    .run = osrt_sum,
    .divides = &shape,
};

static const char *const syscall_tables[] = { "SYSCALL", NULL };
const struct analysis analysis_syscall_sum = {
    .name = "syscall_sum",
    .title = "Syscall Summary",
    .usage = "",
    .help = "System call time by call, over all threads.",
    .needs = { { "syscall data", syscall_tables } },
    .by_default = 20,
    .run = syscall_sum,
    .divides = &shape,
};
