/* The lists of reports and rules. */
#include "registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/reader/unite.h"

const struct analysis *const analyses[] = {
#define ANALYSIS(name) &analysis_##name,
#include "registry.def"
    NULL,
};

const struct analysis *const rules[] = {
#define RULE(name) &rule_##name,
#include "registry.def"
    NULL,
};

static const struct {
    const char *name;
    const struct analysis *analysis;
} old_names[] = {
#define OLD_NAME(old, name) { #old, &analysis_##name },
#include "old_names.def"
};

const struct analysis *analysis_in(const struct analysis *const *list, const char *name)
{
    for (const struct analysis *const *at = list; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    for (size_t i = 0; list == analyses && i < COUNT_OF(old_names); i++)
        if (strcmp(old_names[i].name, name) == 0)
            return old_names[i].analysis;
    return NULL;
}

const struct analysis *analysis_find(const char *name)
{
    return analysis_in(analyses, name);
}

const struct analysis *rule_find(const char *name)
{
    return analysis_in(rules, name);
}

static int registry_by_place(const void *a, const void *b)
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
    qsort(out, count, sizeof *out, registry_by_place);
    out[count] = NULL;
    return count;
}

/* The default list for people, in the order of what matters: work on GPUs and what launched it, then what threads did.
 * `data` is what a file lacks that has none for the report; NULL where another row says so, or where Tacho does not
 * record it. */
static const struct {
    const struct analysis *analysis;
    const char *data;
} for_people[] = {
    { &analysis_cuda_gpu_kern_sum, NULL },
    { &analysis_cuda_gpu_mem_time_sum, NULL },
    { &analysis_cuda_gpu_mem_size_sum, NULL },
    { &analysis_kernel_speed_of_light, NULL },
    { &analysis_kernel_stall_lines, NULL },
    { &analysis_pc_samples_sum, NULL },
    { &analysis_cuda_api_sum, "CUDA" },
    { &analysis_torch_op_sum, NULL },
    { &analysis_gpu_idle_sum, NULL },
    { &analysis_wall_sum, NULL },
    { &analysis_process_sum, NULL },
    { &analysis_heap_sum, NULL },
    { &analysis_thread_wait_sum, NULL },
    { &analysis_python_sample_sum, NULL },
    { &analysis_cpu_sample_sum, "CPU samples" },
    { &analysis_osrt_sum, "OS calls" },
    { &analysis_nvtx_sum, "NVTX" },
    { &analysis_gpu_metrics_sum, NULL },
    { &analysis_mpi_event_sum, NULL },
    { &analysis_openmp_region_sum, NULL },
    { &analysis_openmp_sum, NULL },
    { &analysis_openacc_sum, NULL },
    { &analysis_ucx_sum, NULL },
    { &analysis_oshmem_sum, NULL },
    { &analysis_um_total_sum, NULL },
    { &analysis_um_sum, NULL },
    { &analysis_um_cpu_page_faults_sum, NULL },
    { &analysis_syscall_sum, NULL },
    { &analysis_opengl_khr_range_sum, NULL },
    { &analysis_opengl_khr_gpu_range_sum, NULL },
    { &analysis_vulkan_marker_sum, NULL },
    { &analysis_vulkan_gpu_marker_sum, NULL },
    { &analysis_dx11_pix_sum, NULL },
    { &analysis_dx12_gpu_marker_sum, NULL },
    { &analysis_dx12_pix_sum, NULL },
};

size_t analysis_stored(const struct analysis **out, size_t room)
{
    size_t count = 0;

    for (const struct analysis *const *at = analyses; *at && count < room; at++) {
        int is_default = (*at)->by_default != 0;
        for (size_t i = 0; i < COUNT_OF(for_people); i++)
            is_default |= for_people[i].analysis == *at;
        if ((*at)->divides && is_default)
            out[count++] = *at;
    }
    return count;
}

/* After them, for several ranks. */
static const struct analysis *const for_ranks[] = { &analysis_collective_sum, &analysis_straggler_sum };

/* Reports of several ranks are sets, of one part at least. */
static int has_ranks(struct report *report)
{
    const struct report_table *ranks = report_table(report, "MPI_RANKS");

    return report_part_count(report) > 0 || (ranks && ranks->rows > 1);
}

/* Whether the report can tell people something. */
static int is_for_people(const struct analysis *analysis, struct report *report, int has_gpus)
{
    return !analysis_missing(analysis, report) && (has_gpus || !analysis->is_of_gpus) &&
           (!analysis->is_worth_showing || analysis->is_worth_showing(report));
}

size_t analysis_defaults_for_people(struct report *report, const struct analysis **out, size_t room,
                                    struct text *lacking)
{
    int has_gpus = !analysis_missing(&analysis_cuda_gpu_sum, report);
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(for_people) && count + 1 < room; i++)
        if (is_for_people(for_people[i].analysis, report, has_gpus))
            out[count++] = for_people[i].analysis;
        else if (lacking && for_people[i].data)
            text_addf(lacking, "%s%s", lacking->length ? ", " : "", for_people[i].data);
    for (size_t i = 0; has_ranks(report) && i < COUNT_OF(for_ranks) && count + 1 < room; i++)
        if (!analysis_missing(for_ranks[i], report))
            out[count++] = for_ranks[i];
    out[count] = NULL;
    return count;
}
