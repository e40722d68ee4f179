/* gpu_metrics_nvtx_sum: GPU metrics while the work ran that was launched in NVTX ranges, by the ranges' names. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/launches.h"
#include "analyze/model/nvtx_fold.h"
#include "analyze/registry.h"
#include "gpu_metrics_by.h"

struct range_work {
    struct gpu_metrics_by *by;
    struct nvtx_fold *fold;
    struct ranges ranges;
    struct launched_works works;
    uint32_t *first, *next; /* owned; chains of the works of a call: by call, by work */
};

/* Adds the work of a call to each range around it. */
static int metrics_nvtx_add_call(void *context, uint32_t call, const uint32_t *around, size_t around_count)
{
    struct range_work *work = context;

    for (uint32_t i = work->first[call]; i != NO_CALL; i = work->next[i])
        for (size_t j = 0; j < around_count; j++) {
            const struct launched_work *launched = &work->works.list[i];
            const struct range *range = &work->ranges.list[around[j]];
            int64_t key[STRETCH_PARTS] = { launched->gpu, range->domain, nvtx_fold_name(work->fold, range->name) };
            if (work->fold->failed ||
                gpu_stretches_add(&work->by->stretches, key, launched->start_ns, launched->end_ns) != 0)
                return ERR_NO_MEMORY;
        }
    return 0;
}

static int metrics_nvtx_sweep(struct range_work *work)
{
    const struct calls *calls = &work->works.calls;
    uint32_t *list = malloc((calls->count + 1) * sizeof *list);
    size_t count = 0;
    int code = ERR_NO_MEMORY;

    work->first = malloc((calls->count + 1) * sizeof *work->first);
    work->next = malloc((work->works.count + 1) * sizeof *work->next);
    if (!list || !work->first || !work->next || work->works.count >= NO_CALL)
        goto free_list;
    memset(work->first, 0xff, (calls->count + 1) * sizeof *work->first);
    for (size_t i = work->works.count; i-- > 0;) {
        uint32_t call = work->works.list[i].call;
        if (work->first[call] == NO_CALL)
            list[count++] = call;
        work->next[i] = work->first[call];
        work->first[call] = (uint32_t)i;
    }
    code = launches_sweep(calls, list, count, &work->ranges, SIZE_MAX, metrics_nvtx_add_call, work);
free_list:
    free(list);
    return code;
}

static int metrics_nvtx_collect(struct gpu_metrics_by *by, struct error *err)
{
    struct range_work work = { .by = by, .fold = by->context };
    int code;

    if ((code = nvtx_fold_open(work.fold, by->report, by->request, err)) != 0 ||
        (code = ranges_read(&work.ranges, by->report, RANGE_PUSHPOP | RANGE_STARTEND, &by->filter, err)) != 0 ||
        (code = launched_works_read(&work.works, by, err)) != 0)
        goto done;
    if (metrics_nvtx_sweep(&work) != 0)
        code = error_short_memory(err, "for the ranges");
done:
    ranges_free(&work.ranges);
    launched_works_free(&work.works);
    free(work.first);
    free(work.next);
    return code;
}

static void metrics_nvtx_label(struct gpu_metrics_by *by, struct text *out, const int64_t key[STRETCH_PARTS])
{
    nvtx_fold_label(out, by->context, key[STRETCH_A], key[STRETCH_B]);
}

static int gpu_metrics_nvtx_sum(struct report *report, const struct analysis_request *request, struct table **out,
                                struct error *err)
{
    static const struct gpu_metrics_kind kind = { .collect = metrics_nvtx_collect, .label = metrics_nvtx_label };
    struct nvtx_fold fold = { 0 };
    int code = gpu_metrics_by_run(&kind, &fold, report, request, out, err);

    nvtx_fold_close(&fold);
    return code;
}

const struct analysis analysis_gpu_metrics_nvtx_sum = {
    .name = "gpu_metrics_nvtx_sum",
    .title = "GPU Metrics by NVTX Range",
    .usage = NVTX_FOLD_USAGE GPU_METRICS_BY_USAGE,
    .help = "GPU metrics while the work ran (kernels, copies, fills, graphs) that was launched in the NVTX ranges of "
            "each name." GPU_METRICS_BY_HELP,
    .needs = { { "GPU metrics", gpu_metrics_tables },
               { "NVTX data", TABLES("NVTX_EVENTS") },
               { "CUDA trace data", gpu_call_tables },
               { 0 } },
    .overlap = "ranges contain each other",
    .for_people = NVTX_FOLD_FOR_PEOPLE,
    .run = gpu_metrics_nvtx_sum,
};
