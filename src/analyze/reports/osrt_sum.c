/* osrt_sum and syscall_sum: time in calls of the C library and pthread, and of the kernel, by function. */
#include "analyze/engine/event_columns.h"
#include "analyze/registry.h"
#include "event_sum.h"

static const struct summary_shape shape = { "Num Calls", { "Name" }, event_label_name, 0, NULL };

const struct analysis analysis_osrt_sum = {
    .name = "osrt_sum",
    .title = "OS Runtime Summary",
    .help = "Time in blocking and I/O calls of libc and pthread by function, over all threads. `tacho info` has the "
            "number of calls below the threshold, which are not recorded.",
    .needs = { { "OS Runtime trace data", TABLES("OSRT_API") } },
    .by_default = 2,
    /* nsys writes notes of its own into the same table, with another class. */
    EVENT_SUM(&shape,
              { .table = "OSRT_API", .name = "nameId", .class_column = "eventClass", .class_value = EVENT_CLASS_OSRT }),
};

const struct analysis analysis_syscall_sum = {
    .name = "syscall_sum",
    .title = "Syscall Summary",
    .help = "System call time by call, over all threads.",
    .needs = { { "syscall data", TABLES("SYSCALL") } },
    .by_default = 20,
    EVENT_SUM(&shape, { .table = "SYSCALL", .name = "nameId" }),
};
