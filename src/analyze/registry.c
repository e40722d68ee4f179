/* The lists of reports and rules. */
#include "registry.h"

#include <stdlib.h>
#include <string.h>

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

static int by_place(const void *a, const void *b)
{
    const struct analysis *const *x = a, *const *y = b;

    return ((*x)->by_default > (*y)->by_default) - ((*x)->by_default < (*y)->by_default);
}

size_t analysis_defaults(struct report *report, const struct analysis **out, size_t room)
{
    size_t count = 0;

    for (const struct analysis *const *at = analyses; *at && count + 1 < room; at++)
        if (analysis_is_default(*at, report))
            out[count++] = *at;
    qsort(out, count, sizeof *out, by_place);
    out[count] = NULL;
    return count;
}
