/* gpu_metrics_step_sum: GPU metrics while the work ran that each step launched. */
#include <stdlib.h>

#include "analyze/model/torch/steps_read.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "gpu_metrics_by.h"

struct metrics_step_work {
    const struct steps *steps;
    struct steps found; /* owned, unless the request brought its own */
};

static int metrics_step_by_step(const void *a, const void *b)
{
    const struct launched_work *x = a, *y = b;

    return COMPARE(x->call, y->call) ?: COMPARE(x->gpu, y->gpu);
}

/* In the order of the steps; `call` of each work becomes its step. */
static int metrics_step_add_works(struct gpu_metrics_by *by, struct launched_works *works, const struct steps *steps)
{
    for (size_t i = 0; i < works->count; i++) {
        uint32_t call = works->list[i].call;
        works->list[i].call = steps_at(steps, global_process(works->calls.thread[call]), works->calls.start[call]);
    }
    if (works->count)
        qsort(works->list, works->count, sizeof *works->list, metrics_step_by_step);
    for (size_t i = 0; i < works->count; i++) {
        const struct launched_work *work = &works->list[i];
        int64_t key[STRETCH_PARTS] = { work->gpu, work->call };
        if (work->call != NO_STEP && steps->list[work->call].is_chosen &&
            gpu_stretches_add(&by->stretches, key, work->start_ns, work->end_ns) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int metrics_step_collect(struct gpu_metrics_by *by, struct error *err)
{
    static const struct steps_request automatic = { .may_guess = 1 };
    struct metrics_step_work *work = by->context;
    struct launched_works works = { 0 };
    int code;

    work->steps = by->filter.only.steps ? by->filter.only.steps : &work->found;
    if (work->steps == &work->found && (code = steps_read(&work->found, by->report, &automatic, err)) != 0)
        return code;
    if ((code = launched_works_read(&works, by, err)) != 0)
        goto free_works;
    if (metrics_step_add_works(by, &works, work->steps) != 0)
        code = error_short_memory(err, "for the steps");
free_works:
    launched_works_free(&works);
    return code;
}

static void metrics_step_label(struct gpu_metrics_by *by, struct text *out, const int64_t key[STRETCH_PARTS])
{
    const struct metrics_step_work *work = by->context;

    step_label(out, by->report, &work->steps->list[key[STRETCH_A]]);
}

static int gpu_metrics_step_sum(struct report *report, const struct analysis_request *request, struct table **out,
                                struct error *err)
{
    static const struct gpu_metrics_kind kind = { .collect = metrics_step_collect,
                                                  .label = metrics_step_label,
                                                  .is_in_order = 1 };
    struct metrics_step_work work = { 0 };
    int code = gpu_metrics_by_run(&kind, &work, report, request, out, err);

    steps_free(&work.found);
    return code;
}

const struct analysis analysis_gpu_metrics_step_sum = {
    .name = "gpu_metrics_step_sum",
    .title = "GPU Metrics by Step",
    .usage = GPU_METRICS_BY_USAGE,
    .help = "GPU metrics while the work ran (kernels, copies, fills, graphs) that each step launched. Steps are those "
            "of step_sum." GPU_METRICS_BY_HELP,
    .needs = { { "GPU metrics", gpu_metrics_tables },
               { "steps", steps_tables },
               { "CUDA trace data", gpu_call_tables } },
    .overlap = "steps that ran side by side share their samples",
    .run = gpu_metrics_step_sum,
};
