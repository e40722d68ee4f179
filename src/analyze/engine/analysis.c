/* The registries of reports and rules, and the checks that come before each run. */
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/registry.h"
#include "report_options.h"

const struct analysis *const analyses[] = {
    &analysis_advice_sum,
    &analysis_cpu_bottomup,
    &analysis_cpu_event_sum,
    &analysis_cpu_sample_sum,
    &analysis_cpu_topdown,
    &analysis_cpu_util,
    &analysis_cuda_api_gpu_sum,
    &analysis_cuda_api_sum,
    &analysis_cuda_api_trace,
    &analysis_cuda_gpu_busy,
    &analysis_cuda_gpu_kern_gb_sum,
    &analysis_cuda_gpu_kern_sum,
    &analysis_cuda_gpu_mem_size_sum,
    &analysis_cuda_gpu_mem_time_sum,
    &analysis_cuda_gpu_sum,
    &analysis_cuda_gpu_trace,
    &analysis_cuda_kern_exec_sum,
    &analysis_cuda_kern_exec_trace,
    &analysis_cuda_stream_wait,
    &analysis_dx11_pix_sum,
    &analysis_dx12_gpu_marker_sum,
    &analysis_dx12_pix_sum,
    &analysis_gpu_idle_sum,
    &analysis_mpi_event_sum,
    &analysis_mpi_event_trace,
    &analysis_mpi_msg_size_sum,
    &analysis_network_congestion,
    &analysis_nvtx_gpu_proj_sum,
    &analysis_nvtx_gpu_proj_trace,
    &analysis_nvtx_kern_sum,
    &analysis_nvtx_pushpop_sum,
    &analysis_nvtx_pushpop_trace,
    &analysis_nvtx_startend_sum,
    &analysis_nvtx_sum,
    &analysis_nvvideo_api_sum,
    &analysis_openacc_sum,
    &analysis_opengl_khr_gpu_range_sum,
    &analysis_opengl_khr_range_sum,
    &analysis_openmp_sum,
    &analysis_osrt_sum,
    &analysis_python_gil_sum,
    &analysis_python_sample_sum,
    &analysis_python_topdown,
    &analysis_sched_sum,
    &analysis_step_stats,
    &analysis_step_sum,
    &analysis_syscall_sum,
    &analysis_thread_wait_sum,
    &analysis_torch_events,
    &analysis_torch_fwd_bwd_sum,
    &analysis_torch_kern_sum,
    &analysis_torch_memory_peak,
    &analysis_torch_memory_sum,
    &analysis_torch_memory_trace,
    &analysis_torch_module_sum,
    &analysis_um_cpu_page_faults_sum,
    &analysis_um_sum,
    &analysis_um_total_sum,
    &analysis_vulkan_api_sum,
    &analysis_vulkan_api_trace,
    &analysis_vulkan_gpu_marker_sum,
    &analysis_vulkan_marker_sum,
    &analysis_wddm_queue_sum,
    NULL,
};

const struct analysis *const rules[] = {
    &rule_cuda_memcpy_async, &rule_cuda_memcpy_sync, &rule_cuda_memset_sync, &rule_cuda_api_sync,
    &rule_gpu_gaps,          &rule_gpu_time_util,    &rule_dx12_mem_ops,     NULL,
};

static const struct analysis *find(const struct analysis *const *list, const char *name)
{
    for (const struct analysis *const *at = list; *at; at++)
        if (strcmp((*at)->name, name) == 0 || ((*at)->old_name && strcmp((*at)->old_name, name) == 0))
            return *at;
    return NULL;
}

const struct analysis *analysis_find(const char *name)
{
    return find(analyses, name);
}

const struct analysis *rule_find(const char *name)
{
    return find(rules, name);
}

static int has_rows(struct report *report, const char *name)
{
    const struct report_table *table = report_table(report, name);

    return table && table->rows;
}

static int is_met(const struct analysis_need *need, struct report *report)
{
    for (const char *const *name = need->tables; *name; name++)
        if (has_rows(report, *name))
            return 1;
    return 0;
}

const struct analysis_need *analysis_missing(const struct analysis *analysis, struct report *report)
{
    for (const struct analysis_need *need = analysis->needs; need->data; need++)
        if (!is_met(need, report))
            return need;
    return NULL;
}

int analysis_run(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                 struct table **out, struct error *err)
{
    const struct analysis_need *missing = analysis_missing(analysis, report);
    int64_t rows;
    int code = options_check(analysis, request, err);

    if (code == 0)
        code = option_number(request, "rows", -1, -1, INT64_MAX, &rows, err);
    if (code != 0)
        return code;
    if (missing)
        return error_set(err, ERR_NO_DATA, "the report does not contain %s", missing->data);
    code = analysis->run(report, request, out, err);
    if (code == 0 && rows >= 0)
        table_limit(*out, (size_t)rows);
    return code;
}

static int is_default(const struct analysis *analysis, struct report *report)
{
    return analysis->by_default && (!analysis->default_where ||
                                    (has_rows(report, analysis->default_where) && !analysis_missing(analysis, report)));
}

static int by_place(const void *a, const void *b)
{
    const struct analysis *const *x = a, *const *y = b;

    return ((*x)->by_default > (*y)->by_default) - ((*x)->by_default < (*y)->by_default);
}

size_t analysis_defaults(struct report *report, const struct analysis **out, size_t room)
{
    size_t count = 0;

    for (const struct analysis *const *at = analyses; *at && count + 1 < room; at++)
        if (is_default(*at, report))
            out[count++] = *at;
    qsort(out, count, sizeof *out, by_place);
    out[count] = NULL;
    return count;
}
