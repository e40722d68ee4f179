/* FLOPs of operators belong to the step in which the operator started. */
#include "step_flops.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/gpu.h"

/* ---- GPUs of a process ----------------------------------------------------------------------------------------- */

struct process_gpus {
    struct keys pairs; /* process and device of all kernels */
};

static int process_gpus_read(struct process_gpus *out, struct report *report, struct error *err)
{
    struct gpu_ops kernels;
    int64_t process = 0, device = -1;
    int code;

    *out = (struct process_gpus){ .pairs.width = 2 };
    if ((code = gpu_read(&kernels, report, GPU_KERNEL, (const char *const[]){ NULL }, err)) != 0)
        return code;
    for (size_t i = 0; i < kernels.count; i++) {
        if (kernels.process[i] == process && kernels.device[i] == device)
            continue;
        process = kernels.process[i];
        device = kernels.device[i];
        if (keys_add(&out->pairs, (int64_t[]){ process, device }) == NO_KEY &&
            (code = error_short_memory(err, "for the GPUs")) != 0)
            break;
    }
    gpu_free(&kernels);
    return code;
}

/* At least 1. */
static int64_t step_flops_gpus_of(const struct process_gpus *gpus, int64_t process)
{
    int64_t count = 0;

    for (uint32_t i = 0; i < gpus->pairs.count; i++)
        count += keys_get(&gpus->pairs, i)[0] == process;
    return count ?: 1;
}

/* ---- sums ------------------------------------------------------------------------------------------------------ */

static int step_flops_counts(const struct step *step)
{
    return step->is_chosen && !step->is_warm_up;
}

/* Adds the operators to their steps, and finds the rate of most FLOPs. */
static void step_flops_add_operators(struct steps_flops *out, const struct flops *flops, const struct steps *steps,
                                     const struct gpu_peaks *peaks)
{
    double by_rate[GPU_RATES + 1] = { 0 };

    for (size_t i = 0; i < flops->operators.count; i++) {
        const struct operator_flops *own = &flops->list[i];
        const struct operators_event *op = &flops->operators.list[i];
        const struct op_work *work = own->work == FLOPS_NO_WORK ? NULL : &flops->works.list[own->work];
        if (!work || !op_class_is_matrix(work->class) || work->flops < 0)
            continue;
        uint32_t at = steps_at(steps, global_process(op->thread), op->start_ns);
        if (at == NO_STEP)
            continue;
        out->list[at].hardware += work->flops;
        out->list[at].model += own->is_recomputed ? 0 : work->flops - work->recomputed;
        if (step_flops_counts(&steps->list[at]))
            by_rate[flops_rate(work, own->uses_tensor_cores, peaks)] += work->flops;
    }
    out->rate = GPU_RATES;
    for (int rate = 0; rate < GPU_RATES; rate++)
        if (by_rate[rate] > (out->rate == GPU_RATES ? 0 : by_rate[out->rate]))
            out->rate = (enum gpu_rate)rate;
}

static void sum_steps(struct steps_flops *out, const struct steps *steps, const struct process_gpus *gpus,
                      const struct gpu_peaks *peaks)
{
    for (size_t i = 0; i < steps->count; i++) {
        const struct step *step = &steps->list[i];
        struct step_flops *own = &out->list[i];
        own->wall_ns = saturating_multiply(saturating_duration(step->start_ns, step->end_ns),
                                           step_flops_gpus_of(gpus, step->process));
        if (!step_flops_counts(step))
            continue;
        out->sum.model += own->model;
        out->sum.hardware += own->hardware;
        out->sum.wall_ns = saturating_add(out->sum.wall_ns, own->wall_ns);
    }
    out->peak = out->rate == GPU_RATES ? 0 : peaks->rate[out->rate];
    double possible = out->peak * (double)out->sum.wall_ns / 1e9;
    out->mfu = possible > 0 ? out->sum.model / possible : NOT_KNOWN;
    out->hfu = possible > 0 ? out->sum.hardware / possible : NOT_KNOWN;
}

int flops_of_steps(struct steps_flops *out, struct report *report, const struct steps *steps, const char *peaks,
                   struct error *err)
{
    struct analysis_filter filter = { .only = ONLY_STEPS, .steps = steps };
    struct analysis_request request = { .filter = &filter };
    struct process_gpus gpus = { 0 };
    struct gpu_peaks rates;
    struct flops flops;
    int has_shapes, code;

    *out = (struct steps_flops){ .mfu = NOT_KNOWN, .hfu = NOT_KNOWN, .rate = GPU_RATES };
    if ((code = flops_has_shapes(report, &has_shapes, err)) != 0)
        return code;
    if (!has_shapes)
        return error_set(err, ERR_NO_DATA, "%s", FLOPS_NO_SHAPES);
    if ((code = gpu_peaks_read(&rates, report, peaks, err)) != 0 ||
        (code = flops_of_operators(&flops, report, &request, err)) != 0)
        return code;
    if ((code = process_gpus_read(&gpus, report, err)) != 0)
        goto free_flops;
    if (!(out->list = calloc(steps->count + 1, sizeof *out->list)) &&
        (code = error_short_memory(err, "for the steps")) != 0)
        goto free_flops;
    step_flops_add_operators(out, &flops, steps, &rates);
    sum_steps(out, steps, &gpus, &rates);
    out->covered = flops.gpu_ns > 0 ? (double)flops.known_ns / (double)flops.gpu_ns : 0;
free_flops:
    keys_free(&gpus.pairs);
    flops_free(&flops);
    return code;
}

void steps_flops_free(struct steps_flops *steps)
{
    free(steps->list);
    *steps = (struct steps_flops){ 0 };
}
