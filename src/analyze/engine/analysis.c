/* The checks that come before each run of an analysis. */
#include "analysis.h"

#include "base/text.h"
#include "report_options.h"
#include "summary_partial.h"

static int has_rows(struct report *report, const char *name)
{
    const struct report_table *table = report_table(report, name);

    return table && table->rows;
}

int analysis_need_is_met(const struct analysis_need *need, struct report *report)
{
    for (const char *const *name = need->tables; *name; name++)
        if (has_rows(report, *name))
            return 1;
    return 0;
}

const struct analysis_need *analysis_missing(const struct analysis *analysis, struct report *report)
{
    for (const struct analysis_need *need = analysis->needs; need->data; need++)
        if (!analysis_need_is_met(need, report))
            return need;
    return NULL;
}

const char *analysis_need_option(const struct analysis_need *need)
{
    static const struct {
        const char *prefix, *option; /* of the tables */
    } options[] = {
        { "CUPTI_ACTIVITY_KIND_", "--trace=cuda" },
        { "CUDA_", "--trace=cuda" },
        { "GPU_METRICS", "--gpu-metrics-devices=all" },
        { "MPI_COLLECTIVES_EVENTS", "--trace=mpi" },
        { "NVTX_", "--trace=nvtx" },
        { "OSRT_", "--trace=osrt" },
        { "TACHO_TORCH_MEMORY", "--pytorch-memory=true" },
        { "TACHO_TORCH_PYTHON", "--pytorch=functions-trace" },
        { "TACHO_TORCH_", "--pytorch=auto" },
        { "SCHED_EVENTS", "--cpuctxsw=process-tree" },
        { "TACHO_THREAD_SCHED", "--cpuctxsw=process-tree" },
        { "COMPOSITE_EVENTS", "--sample=process-tree" },
        { "TACHO_PYTHON_EVENT", "--python-events=true" },
        { "TACHO_PYTHON_", "--python-sampling=true" },
    };

    for (size_t i = 0; need->tables[0] && i < sizeof options / sizeof options[0]; i++)
        if (text_begins_with(need->tables[0], options[i].prefix))
            return options[i].option;
    return NULL;
}

/* Reads the option that every analysis has, and checks the others and the data. */
static int check(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                 int64_t *rows, struct error *err)
{
    const struct analysis_need *missing = analysis_missing(analysis, report);
    int code;

    if (!analysis->find && (code = options_check(analysis->name, analysis->usage, request, err)) != 0)
        return code; /* a rule on the replay has thresholds, and checks them itself */
    if ((code = option_number(request, "rows", -1, -1, INT64_MAX, rows, err)) != 0)
        return code;
    if (missing)
        return error_set(err, ERR_NO_DATA, "the report does not contain %s", missing->data);
    err->code = 0; /* table_hand_over() adds a message only where there is none */
    return 0;
}

int analysis_run(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                 struct table **out, struct error *err)
{
    int64_t rows;
    int code = check(analysis, report, request, &rows, err);

    if (code != 0 || (code = analysis->run(report, request, out, err)) != 0)
        return code;
    if (rows >= 0 && *out)
        table_limit(*out, (size_t)rows);
    return 0;
}

int analysis_merge(const struct analysis *analysis, struct report *whole, const struct analysis_request *request,
                   const struct analysis_partial *partials, size_t count, struct table **out, struct error *err)
{
    int64_t rows;
    int code = check(analysis, whole, request, &rows, err);

    if (code != 0 || (code = summary_merge(analysis->divides, partials, count, out, err)) != 0)
        return code;
    if (rows >= 0)
        table_limit(*out, (size_t)rows);
    return 0;
}

int analysis_is_default(const struct analysis *analysis, struct report *report)
{
    return analysis->by_default && (!analysis->default_where ||
                                    (has_rows(report, analysis->default_where) && !analysis_missing(analysis, report)));
}
