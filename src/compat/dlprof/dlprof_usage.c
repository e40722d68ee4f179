/* Splits the time of iterations by the kind of work on the GPUs; time without GPU work, by the kind of work on the CPU.
 * Each moment counts once, for the first kind in the order of the enum. */
#include <stdlib.h>
#include <string.h>

#include "analyze/summary/machine_facts.h"
#include "base/saturating.h"
#include "dlprof_internal.h"

/* The intervals that are covered so far. */
struct cover {
    struct dlprof_interval *list; /* owned; room for all */
    size_t count;
    int64_t ns, begin_ns;
};

/* What began before the recording did counts from there on. */
static void add_interval(struct cover *cover, int64_t group, int64_t start_ns, int64_t end_ns)
{
    start_ns = start_ns > cover->begin_ns ? start_ns : cover->begin_ns;
    if (end_ns < start_ns)
        return;
    cover->list[cover->count++] = (struct dlprof_interval){ group, start_ns, end_ns };
}

/* The time that the intervals cover, less the time that they covered at the last call. */
static int64_t newly_covered(struct cover *cover)
{
    int64_t before_ns = cover->ns;

    dlprof_intervals_sort(cover->list, cover->count);
    cover->ns = dlprof_intervals_total(cover->list, cover->count);
    return saturating_subtract(cover->ns, before_ns);
}

/* The kind of CPU work that an operator does. */
static enum dlprof_use dlprof_usage_use_of(const struct dlprof *dlprof, const struct dlprof_call *call)
{
    const char *name = dlprof_text(dlprof, call->words.name).bytes, *type = dlprof_text(dlprof, call->words.type).bytes;

    if (strcasestr(name, "dataloader"))
        return USE_LOADING;
    return strcmp(type, "save") == 0 || strcmp(type, "load") == 0 ? USE_IO : USE_CPU;
}

static enum dlprof_use use_of_work(const struct dlprof_work *work)
{
    if (work->kind != GPU_KERNEL)
        return USE_MEMORY;
    return work->tensor.use == TENSOR_YES ? USE_TENSOR_CORES : USE_OTHER_KERNELS;
}

/* The calls and the works of the requested iterations: one contiguous run of each array. */
struct dlprof_usage_part {
    const struct dlprof_call *calls;
    const struct dlprof_work *works;
    size_t call_count, work_count;
};

static size_t dlprof_usage_first_call(const struct dlprof *dlprof, size_t iteration)
{
    return BISECT(0, dlprof->call_count, i, dlprof->calls[i].iteration < iteration);
}

static size_t first_work(const struct dlprof *dlprof, size_t call)
{
    return BISECT(0, dlprof->work_count, i, dlprof->works[i].call < call);
}

static void tensor_share(struct dlprof_usage *usage, const struct dlprof *dlprof, const struct dlprof_usage_part *part)
{
    int64_t eligible_ns = 0, tensor_ns = 0;

    for (size_t i = 0; i < part->work_count; i++) {
        const struct dlprof_work *work = &part->works[i];
        const struct dlprof_op *op = &dlprof->ops[dlprof->calls[work->call].op];
        int64_t ns = saturating_duration(work->start_ns, work->end_ns);
        if (work->kind != GPU_KERNEL)
            continue;
        eligible_ns = saturating_add(eligible_ns, op->is_eligible || op->uses_tensor_cores ? ns : 0);
        tensor_ns = saturating_add(tensor_ns, work->tensor.use == TENSOR_YES ? ns : 0);
    }
    usage->tensor_cores = eligible_ns > 0 ? 100 * (double)tensor_ns / (double)eligible_ns : 0;
}

static void dlprof_usage_fill(struct dlprof_usage *usage, const struct dlprof *dlprof,
                              const struct dlprof_usage_part *part, struct cover *cover)
{
    double wall = usage->wall_ns > 0 ? (double)usage->wall_ns : 1;
    double gpus_wall = wall * (double)machine_gpu_count(dlprof->report), rest = 100;

    for (int use = USE_TENSOR_CORES; use <= USE_MEMORY; use++) {
        for (size_t i = 0; i < part->work_count; i++)
            if ((int)use_of_work(&part->works[i]) == use)
                add_interval(cover, part->works[i].device, part->works[i].start_ns, part->works[i].end_ns);
        usage->percent[use] = 100 * (double)newly_covered(cover) / gpus_wall;
    }
    for (size_t i = 0; i < cover->count; i++)
        cover->list[i].group = 0;
    newly_covered(cover);
    for (int use = USE_LOADING; use <= USE_CPU; use++) {
        for (size_t i = 0; i < part->call_count; i++)
            if ((int)dlprof_usage_use_of(dlprof, &part->calls[i]) == use)
                add_interval(cover, 0, part->calls[i].start_ns, part->calls[i].end_ns);
        usage->percent[use] = 100 * (double)newly_covered(cover) / wall;
    }
    for (int use = 0; use < USE_OTHER; use++)
        rest -= usage->percent[use];
    usage->percent[USE_OTHER] = rest > 0 ? rest : 0;
    usage->gpu = usage->percent[USE_TENSOR_CORES] + usage->percent[USE_OTHER_KERNELS];
    tensor_share(usage, dlprof, part);
}

int dlprof_usage_read(struct dlprof_usage *usage, const struct dlprof *dlprof, size_t first, size_t last,
                      struct error *err)
{
    size_t from = dlprof_usage_first_call(dlprof, first), to = dlprof_usage_first_call(dlprof, last + 1);
    size_t work = first_work(dlprof, from);
    struct dlprof_usage_part part = { .call_count = to - from, .work_count = first_work(dlprof, to) - work };
    struct cover cover = { .list = malloc((part.call_count + part.work_count + 1) * sizeof *cover.list),
                           .begin_ns = dlprof->begin_ns };

    part.calls = part.call_count ? dlprof->calls + from : NULL;
    part.works = part.work_count ? dlprof->works + work : NULL;
    *usage = (struct dlprof_usage){ 0 };
    if (!cover.list)
        return error_no_memory(err);
    for (size_t i = first; i <= last; i++)
        usage->wall_ns = saturating_add(usage->wall_ns, dlprof_iteration_ns(dlprof, i));
    dlprof_usage_fill(usage, dlprof, &part, &cover);
    free(cover.list);
    return 0;
}
