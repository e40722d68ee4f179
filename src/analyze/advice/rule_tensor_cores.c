/* The rule tensor_cores: products of matrices that ran on other units although the GPU has tensor cores for them.
 *
 * A product then takes the share of its time that the peak rates of the two units have to each other. Bound: half of
 * that remains, since the kernel may have been further from its peak than its successor. Estimate: twice of that
 * remains, and no kernel takes less than 5 µs, because products that are small or wait for memory gain less. */
#include <stdlib.h>
#include <string.h>

#include "adviser.h"
#include "analyze/model/flops/gpu_peaks.h"
#include "analyze/model/tensor/tensor_cores.h"
#include "analyze/registry.h"
#include "base/human.h"

enum { SHORTEST_NS = 5000 };
#define TERA 1e12

/* What to change, by the type of the operands; the first row that the GPU has the rates for. */
static const struct remedy {
    const char *type;
    enum gpu_rate now, then;
    const char *advice;
} remedies[] = {
    { "fp32", RATE_FP32, RATE_TF32,
      "torch.set_float32_matmul_precision(\"high\") allows TF32, and torch.autocast(\"cuda\", torch.bfloat16) bf16; "
      "for "
      "convolutions torch.backends.cudnn.allow_tf32 = True; in cuBLAS CUBLAS_COMPUTE_32F_FAST_TF32." },
    { "fp32", RATE_FP32, RATE_FP16, "torch.autocast(\"cuda\", torch.float16) runs products on tensor cores." },
    { "fp16", RATE_FP32, RATE_FP16, "Pad sizes to multiples of 8, and align rows to 16 bytes." },
    { "bf16", RATE_FP32, RATE_FP16, "Pad sizes to multiples of 8, and align rows to 16 bytes." },
};
enum { REMEDIES = sizeof remedies / sizeof remedies[0] };

struct products {
    struct adviser *adviser;
    struct gpu_peaks peaks;
    struct tensor_kernels kernels;
    struct gpu_ops ops;
    struct advice_cause causes[REMEDIES];
    int64_t ns[REMEDIES]; /* of all these kernels */
};

static int remedy_of(const struct products *products, const struct tensor_cores *cores)
{
    const double *rate = products->peaks.rate;

    if (cores->use != TENSOR_NO || !cores->is_matrix || !cores->type)
        return -1;
    for (int i = 0; i < REMEDIES; i++)
        if (strcmp(remedies[i].type, cores->type) == 0 && rate[remedies[i].now] > 0 &&
            rate[remedies[i].then] > rate[remedies[i].now])
            return i;
    return -1;
}

static int add_product(struct products *products, uint32_t number, int remedy)
{
    const struct replay *replay = &products->adviser->replay;
    const struct replay_work *work = &replay->events.works[number];
    const struct replay_call *call = &replay->events.calls[work->call];
    struct advice_cause *cause = &products->causes[remedy];
    double share = products->peaks.rate[remedies[remedy].now] / products->peaks.rate[remedies[remedy].then];
    uint32_t edge = replay_edge_to(replay, replay_work_end(replay, number), REPLAY_RUN);
    int64_t run_ns = edge == REPLAY_NO_EDGE ? 0 : replay->graph.lag[edge];
    int64_t left_ns = (int64_t)((double)run_ns * 2 * share);

    if (left_ns < SHORTEST_NS)
        left_ns = SHORTEST_NS;
    if (left_ns > run_ns)
        left_ns = run_ns;
    cause->count++;
    products->ns[remedy] = saturating_add(products->ns[remedy], run_ns);
    if (run_ns > cause->duration_ns) {
        cause->start_ns = call->start_ns;
        cause->duration_ns = run_ns;
        cause->thread = replay->events.threads[call->thread].id;
    }
    if (replay_edit_cut(&cause->bound, edge, run_ns - (int64_t)((double)run_ns * share / 2)) != 0 ||
        replay_edit_cut(&cause->estimate, edge, run_ns - left_ns) != 0)
        return ERR_NO_MEMORY;
    return 0;
}

static int add_products(struct products *products)
{
    const struct replay_events *events = &products->adviser->replay.events;

    for (uint32_t i = 0; i < events->work_count; i++) {
        const struct replay_work *work = &events->works[i];
        if (work->call == NO_CALL || replay_table_of(events, work->at) != REPLAY_KERNEL ||
            work->at >= products->ops.count || !adviser_counts(products->adviser, &events->calls[work->call]))
            continue;
        struct tensor_cores cores = tensor_cores_of_row(&products->kernels, &products->ops, work->at);
        int remedy = remedy_of(products, &cores);
        if (remedy >= 0 && add_product(products, i, remedy) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* "tensor cores unused: 24 products of fp32 in 8.31 ms" */
static void describe(struct products *products, int remedy)
{
    struct advice_cause *cause = &products->causes[remedy];
    const struct remedy *how = &remedies[remedy];
    int64_t steps = (int64_t)products->adviser->step_count;

    text_add(&cause->what, "tensor cores unused: ");
    human_count(&cause->what, (uint64_t)(cause->count / steps ? cause->count / steps : 1));
    text_addf(&cause->what, " matrix products of %s in ", how->type);
    human_time(&cause->what, products->ns[remedy] / steps);
    text_addf(&cause->rate, "%s %.0f TFLOP/s instead of %s %.0f TFLOP/s, peaks of the GPU", gpu_rate_name(how->then),
              products->peaks.rate[how->then] / TERA, gpu_rate_name(how->now), products->peaks.rate[how->now] / TERA);
    cause->confidence = ADVICE_MODELLED;
    cause->advice = how->advice;
}

/* Hands over the causes, and after an error frees those that are left. */
static int hand_over(struct products *products, int code, struct error *err)
{
    for (int i = 0; i < REMEDIES; i++) {
        if (code == 0 && products->causes[i].count) {
            describe(products, i);
            code = adviser_add(products->adviser, &products->causes[i], err);
        } else {
            advice_cause_free(&products->causes[i]);
        }
    }
    return code;
}

static int find_tensor_cores(struct adviser *adviser, struct error *err)
{
    struct products products = { .adviser = adviser };
    int code = tensor_kernels_read(&products.kernels, adviser->report, err);

    if (code == 0)
        code = gpu_peaks_read(&products.peaks, adviser->report, NULL, err);
    if (code == 0)
        code = gpu_read(&products.ops, adviser->report, GPU_KERNEL, tensor_kernel_columns, err);
    if (code == 0 && add_products(&products) != 0)
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the products of matrices");
    code = hand_over(&products, code, err);
    gpu_free(&products.ops);
    tensor_kernels_free(&products.kernels);
    return code;
}

ADVICE_RUN(tensor_cores)

const struct analysis rule_tensor_cores = {
    .name = "tensor_cores",
    .title = "Tensor Cores Unused",
    .usage = "",
    .help = "Products of matrices (GEMM, convolution, attention) that ran without tensor cores on a GPU that has them "
            "for this type. The saving is that of a replay in which each takes the share of its time that the peak "
            "rates of the GPU have to each other: half of that in the bound, twice of that in the estimate.",
    .needs = ADVICE_NEEDS,
    .advice = "Allow TF32, use bf16 or fp16, and pad sizes to multiples of 8.",
    .praise = "Products of matrices use tensor cores, or the GPU has none for them.",
    ADVICE_RULE(tensor_cores),
};
