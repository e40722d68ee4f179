/* Runs an analysis after the checks that come before each run: over the rows of a report, or from partial results. */
#include "analysis.h"
#include "one_job.h"
#include "report_options.h"
#include "stored_partials.h"
#include "summary_partial.h"

/* Reads the option that every analysis has, and checks the others and the data. */
static int analysis_run_check(const struct analysis *analysis, struct report *report,
                              const struct analysis_request *request, int64_t *rows, struct error *err)
{
    const struct analysis_need *missing = analysis_missing(analysis, report);
    int code;

    if (!analysis_is_replayed(analysis) &&
        (code = options_check(analysis->name, analysis_usage(analysis), request, err)) != 0)
        return code; /* a rule on the replay has thresholds, and checks them itself */
    if ((code = option_number(request, "rows", -1, -1, INT64_MAX, rows, err)) != 0)
        return code;
    if (missing)
        return error_set(err, ERR_NO_DATA, "the report does not contain %s", missing->data);
    if (analysis->is_of_one_job && (code = one_job_check(report, err)) != 0)
        return code;
    err->code = 0; /* table_hand_over() adds a message only where there is none */
    return 0;
}

int analysis_run(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                 struct table **out, struct error *err)
{
    int64_t rows;
    int code = analysis_run_check(analysis, report, request, &rows, err);

    if (code != 0 || (code = stored_partials_run(analysis, report, request, out, err)) != ERR_NOT_FOUND)
        return code;
    err->code = 0;
    if ((code = analysis_run_unchecked(analysis, report, request, out, err)) != 0)
        return code;
    if (rows >= 0 && *out)
        table_limit(*out, (size_t)rows);
    return 0;
}

/* Losses of these tables concern the answer, although their rows were not read. */
static void mark_needs(struct report *set, const struct analysis *analysis)
{
    for (const struct analysis_need *need = analysis->needs; need->data; need++)
        for (const char *const *name = need->tables; *name; name++)
            if (report_rows(set, *name))
                report_mark_read(set, *name);
}

int analysis_merge(const struct analysis *analysis, struct report *whole, const struct analysis_request *request,
                   const struct analysis_partial *partials, size_t count, struct table **out, struct error *err)
{
    int64_t rows;
    int code = analysis_run_check(analysis, whole, request, &rows, err);

    if (code != 0 || (code = summary_merge(analysis->divides, partials, count, out, err)) != 0)
        return code;
    mark_needs(whole, analysis);
    if (rows >= 0)
        table_limit(*out, (size_t)rows);
    return 0;
}
