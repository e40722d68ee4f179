/* gpu_metrics_op_sum: GPU metrics while the work ran that operators of PyTorch launched, by the operators' names. */
#include <stdlib.h>

#include "analyze/model/torch/operators.h"
#include "analyze/registry.h"
#include "gpu_metrics_by.h"

/* Finds the innermost operator around each launch. out has room for all works. */
static int metrics_op_find_operators(const struct launched_works *works, const struct operators *operators,
                                     uint32_t *out)
{
    size_t count = works->count;
    struct operators_moment *moments = malloc((count + 1) * sizeof *moments);

    if (!moments)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        uint32_t call = works->list[i].call;
        moments[i] = (struct operators_moment){ works->calls.thread[call], works->calls.start[call] };
    }
    int code = operators_at(operators, moments, count, out);
    free(moments);
    return code;
}

static int metrics_op_add_works(struct gpu_metrics_by *by, const struct launched_works *works,
                                const struct operators *operators)
{
    uint32_t *found = malloc((works->count + 1) * sizeof *found);
    int code = ERR_NO_MEMORY;

    if (!found || metrics_op_find_operators(works, operators, found) != 0)
        goto free_found;
    for (size_t i = 0; i < works->count; i++) {
        const struct launched_work *work = &works->list[i];
        if (found[i] == NO_OPERATOR)
            continue;
        int64_t key[STRETCH_PARTS] = { work->gpu, operators->list[found[i]].name };
        if (gpu_stretches_add(&by->stretches, key, work->start_ns, work->end_ns) != 0)
            goto free_found;
    }
    code = 0;
free_found:
    free(found);
    return code;
}

static int metrics_op_collect(struct gpu_metrics_by *by, struct error *err)
{
    struct operators *operators = by->context;
    struct launched_works works = { 0 };
    int code;

    if ((code = operators_read(operators, by->report, by->request, err)) != 0 ||
        (code = launched_works_read(&works, by, err)) != 0)
        goto free_works;
    if (operators_nest(operators) != 0 || metrics_op_add_works(by, &works, operators) != 0)
        code = error_short_memory(err, "for the operators");
free_works:
    launched_works_free(&works);
    return code;
}

static void metrics_op_label(struct gpu_metrics_by *by, struct text *out, const int64_t key[STRETCH_PARTS])
{
    struct intern_string name = operators_text(by->context, (uint32_t)key[STRETCH_A]);

    text_add_bytes(out, name.bytes, name.length);
}

static int gpu_metrics_op_sum(struct report *report, const struct analysis_request *request, struct table **out,
                              struct error *err)
{
    static const struct gpu_metrics_kind kind = { .collect = metrics_op_collect, .label = metrics_op_label };
    struct operators operators = { 0 };
    int code = gpu_metrics_by_run(&kind, &operators, report, request, out, err);

    operators_free(&operators);
    return code;
}

const struct analysis analysis_gpu_metrics_op_sum = {
    .name = "gpu_metrics_op_sum",
    .title = "GPU Metrics by PyTorch Operator",
    .usage = GPU_METRICS_BY_USAGE,
    .help = "GPU metrics while the work ran (kernels, copies, fills, graphs) that the operators of each name launched: "
            "work belongs to the innermost operator around its launch." GPU_METRICS_BY_HELP,
    .needs = { { "GPU metrics", gpu_metrics_tables },
               { "PyTorch operators", TABLES("TACHO_TORCH_OP", "NVTX_EVENTS") },
               { "CUDA trace data", gpu_call_tables },
               { 0 } },
    .overlap = "operators whose work ran side by side share their samples",
    .run = gpu_metrics_op_sum,
};
