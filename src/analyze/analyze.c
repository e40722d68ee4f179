/* The registry of analyses and the check that comes before each run. */
#include "analyze.h"

#include <string.h>

#include "reports.h"

static const char *const nvtx_tables[] = { "NVTX_EVENTS", NULL };
static const char *const osrt_tables[] = { "OSRT_API", NULL };

static const struct analysis nvtx_sum_row = {
    .name = "nvtx_sum", .old_name = "nvtxsum", .title = "NVTX Range Summary", .usage = "",
    .help = "Time in NVTX ranges of both kinds, push/pop and start/end, by name. Ranges nest and overlap, so the shares "
            "are of the sum of all ranges, not of wall time.",
    .data = "NV Tools Extension (NVTX)", .tables = nvtx_tables, .by_default = 1, .run = nvtx_sum,
};
static const struct analysis nvtx_pushpop_sum_row = {
    .name = "nvtx_pushpop_sum", .old_name = "nvtxppsum", .title = "NVTX Push/Pop Range Summary", .usage = "",
    .help = "Time in NVTX push/pop ranges, by name.",
    .data = "NV Tools Extension (NVTX)", .tables = nvtx_tables, .run = nvtx_pushpop_sum,
};
static const struct analysis nvtx_pushpop_trace_row = {
    .name = "nvtx_pushpop_trace", .old_name = "nvtxpptrace", .title = "NVTX Push/Pop Range Trace", .usage = "",
    .help = "Every NVTX push/pop range in order of its start: how deep it lies, in which range, and how much of its time "
            "is its own. RangeId is the range's row in NVTX_EVENTS.",
    .data = "NV Tools Extension (NVTX)", .tables = nvtx_tables, .run = nvtx_pushpop_trace,
};
static const struct analysis nvtx_startend_sum_row = {
    .name = "nvtx_startend_sum", .old_name = "nvtxsesum", .title = "NVTX Start/End Range Summary", .usage = "",
    .help = "Time in NVTX start/end ranges, by name.",
    .data = "NV Tools Extension (NVTX)", .tables = nvtx_tables, .run = nvtx_startend_sum,
};
static const struct analysis osrt_sum_row = {
    .name = "osrt_sum", .old_name = "osrtsum", .title = "OS Runtime Summary", .usage = "",
    .help = "Time in the blocking and I/O calls of the C library and pthread, by function, over all threads. Calls "
            "shorter than the capture's threshold are counted in `tacho info`, not here.",
    .data = "OS Runtime trace", .tables = osrt_tables, .by_default = 2, .run = osrt_sum,
};

const struct analysis *const analyses[] = {
    &nvtx_sum_row, &nvtx_pushpop_sum_row, &nvtx_pushpop_trace_row, &nvtx_startend_sum_row, &osrt_sum_row, NULL,
};

const struct analysis *analysis_find(const char *name)
{
    for (const struct analysis *const *at = analyses; *at; at++)
        if (strcmp((*at)->name, name) == 0 || ((*at)->old_name && strcmp((*at)->old_name, name) == 0))
            return *at;
    return NULL;
}

static int has_data(const struct analysis *analysis, struct report *report)
{
    for (const char *const *name = analysis->tables; *name; name++) {
        const struct report_table *table = report_table(report, *name);
        if (table && table->rows)
            return 1;
    }
    return 0;
}

int analysis_run(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                 struct table **out, struct error *err)
{
    if (!has_data(analysis, report))
        return error_set(err, ERR_NO_DATA, "the report does not contain %s data", analysis->data);
    return analysis->run(report, request, out, err);
}
