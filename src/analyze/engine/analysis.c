/* The checks that come before each run of an analysis. */
#include "analysis.h"

#include "base/text.h"

int analysis_need_is_met(const struct analysis_need *need, struct report *report)
{
    for (const char *const *name = need->tables; *name; name++)
        if (report_rows(report, *name))
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

uint64_t analysis_rows(const struct analysis *analysis, struct report *report)
{
    uint64_t rows = 0;

    for (const struct analysis_need *need = analysis->needs; need->data; need++)
        for (const char *const *name = need->tables; *name; name++)
            rows += report_rows(report, *name);
    return rows;
}

const char *analysis_table_option(const char *table)
{
    static const struct {
        const char *prefix, *option; /* of the tables */
    } options[] = {
        { "CUPTI_ACTIVITY_KIND_", "--trace=cuda" },
        { "CUDA_", "--trace=cuda" },
        { "GPU_METRICS", "--gpu-metrics-devices=all" },
        { "MPI_", "--trace=mpi" },
        { "TACHO_MPI_", "--trace=mpi" },
        { "NVTX_", "--trace=nvtx" },
        { "OPENMP_", "--trace=openmp" },
        { "OSRT_", "--trace=osrt" },
        { "TACHO_HEAP_", "--trace=heap" },
        { "TACHO_TORCH_MEMORY", "--pytorch-memory=true" },
        { "TACHO_TORCH_PYTHON", "--pytorch=functions-trace" },
        { "TACHO_TORCH_", "--pytorch=auto" },
        { "SCHED_EVENTS", "--cpuctxsw=process-tree" },
        { "TACHO_THREAD_SCHED", "--cpuctxsw=process-tree" },
        { "COMPOSITE_EVENTS", "--sample=process-tree" },
        { "TACHO_PYTHON_EVENT", "--python-events=true" },
        { "TACHO_PYTHON_", "--python-sampling=true" },
    };

    for (size_t i = 0; i < COUNT_OF(options); i++)
        if (text_begins_with(table, options[i].prefix))
            return options[i].option;
    return NULL;
}

const char *analysis_need_option(const struct analysis_need *need)
{
    return need->tables[0] ? analysis_table_option(need->tables[0]) : NULL;
}

int analysis_is_default(const struct analysis *analysis, struct report *report)
{
    if (!analysis->by_default || (analysis->is_worth_showing && !analysis->is_worth_showing(report)))
        return 0;
    return !analysis->default_where ||
           (report_rows(report, analysis->default_where) && !analysis_missing(analysis, report));
}
