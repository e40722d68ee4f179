/* The registry of analyses and the check that comes before each run. */
#include "analyze.h"

#include <string.h>

#include "reports.h"

const struct analysis *const analyses[] = {
    &analysis_nvtx_sum,
    &analysis_nvtx_pushpop_sum,
    &analysis_nvtx_pushpop_trace,
    &analysis_nvtx_startend_sum,
    &analysis_osrt_sum,
    NULL,
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
    if (request->option_count && !*analysis->usage)
        return error_set(err, ERR_BAD_ARGUMENT, "the report %s takes no options, such as '%s'", analysis->name,
                         request->options[0].name);
    if (!has_data(analysis, report))
        return error_set(err, ERR_NO_DATA, "the report does not contain %s data", analysis->data);
    return analysis->run(report, request, out, err);
}
