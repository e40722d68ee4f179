/* The registries of reports and rules. To add one, add a file and a row. */
#ifndef TACHO_ANALYZE_REGISTRY_H
#define TACHO_ANALYZE_REGISTRY_H

#include "analyze/engine/analysis.h"

extern const struct analysis *const analyses[]; /* the reports; NULL-terminated */
extern const struct analysis *const rules[];    /* the rules, in the order in which they are run; NULL-terminated */

/* By name, old name included; NULL if there is none. */
const struct analysis *analysis_find(const char *name);
const struct analysis *rule_find(const char *name);

/* Those of the default list that count for a report, in order; NULL-terminated, room for as many as
 * there are. Returns how many. */
size_t analysis_defaults(struct report *report, const struct analysis **out, size_t room);

/* ---- the rows, each in the file of its report or rule -------------------------------------------------------------
 */

/* cuda_sum.c */
extern const struct analysis analysis_cuda_api_gpu_sum, analysis_cuda_api_sum, analysis_cuda_gpu_kern_gb_sum,
    analysis_cuda_gpu_kern_sum, analysis_cuda_gpu_mem_size_sum, analysis_cuda_gpu_mem_time_sum, analysis_cuda_gpu_sum;
extern const struct analysis analysis_cuda_api_trace, analysis_vulkan_api_trace;                       /* api_trace.c */
extern const struct analysis analysis_cuda_gpu_trace, analysis_cuda_kern_exec_sum, analysis_cuda_kern_exec_trace;
extern const struct analysis analysis_cuda_gpu_busy, analysis_cuda_stream_wait;
extern const struct analysis analysis_nvtx_sum, analysis_nvtx_pushpop_sum, analysis_nvtx_startend_sum; /* nvtx_sum.c */
extern const struct analysis analysis_nvtx_gpu_proj_sum, analysis_nvtx_gpu_proj_trace; /* nvtx_gpu_proj.c */
extern const struct analysis analysis_nvtx_kern_sum, analysis_nvtx_pushpop_trace;
extern const struct analysis analysis_step_stats, analysis_step_sum;                   /* step_sum.c */
extern const struct analysis analysis_advice_sum;
extern const struct analysis analysis_torch_events;
extern const struct analysis analysis_torch_fwd_bwd_sum;
extern const struct analysis analysis_torch_kern_sum, analysis_torch_module_sum; /* torch_module_sum.c */
/* torch_memory_sum.c */
extern const struct analysis analysis_torch_memory_peak, analysis_torch_memory_sum, analysis_torch_memory_trace;
extern const struct analysis analysis_cpu_bottomup, analysis_cpu_sample_sum, analysis_cpu_topdown; /* cpu_samples.c */
/* python_samples.c */
extern const struct analysis analysis_python_gil_sum, analysis_python_sample_sum, analysis_python_topdown;
extern const struct analysis analysis_sched_sum, analysis_cpu_util;   /* sched_sum.c */
extern const struct analysis analysis_gpu_idle_sum, analysis_thread_wait_sum, analysis_cpu_event_sum;
extern const struct analysis analysis_osrt_sum, analysis_syscall_sum; /* osrt_sum.c */

/* named_sum.c */
extern const struct analysis analysis_dx11_pix_sum, analysis_dx12_gpu_marker_sum, analysis_dx12_pix_sum,
    analysis_nvvideo_api_sum, analysis_openacc_sum, analysis_opengl_khr_gpu_range_sum, analysis_opengl_khr_range_sum,
    analysis_openmp_sum, analysis_vulkan_api_sum, analysis_vulkan_gpu_marker_sum, analysis_vulkan_marker_sum;
/* mpi_reports.c */
extern const struct analysis analysis_mpi_event_sum, analysis_mpi_event_trace, analysis_mpi_msg_size_sum;
extern const struct analysis analysis_network_congestion, analysis_wddm_queue_sum;
extern const struct analysis analysis_um_cpu_page_faults_sum, analysis_um_sum, analysis_um_total_sum; /* um_sum.c */

/* rule_cuda_memory.c */
extern const struct analysis rule_cuda_memcpy_async, rule_cuda_memcpy_sync, rule_cuda_memset_sync;
extern const struct analysis rule_cuda_api_sync;
extern const struct analysis rule_gpu_gaps, rule_gpu_time_util, rule_dx12_mem_ops; /* rule_gpu_idle.c */

#endif
