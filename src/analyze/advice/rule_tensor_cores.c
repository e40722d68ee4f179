/* The rule tensor_cores: products of matrices that ran on other units although the GPU has tensor cores for them, or on
 * tensor cores with sizes for which these have no fast kernels.
 *
 * A product on other units then takes the share of its time that the peak rates of the two units have to each other.
 * Bound: half of that remains, since the kernel may have been further from its peak than its successor. Estimate: twice
 * of that remains, and no kernel takes less than 5 µs, because products that are small or wait for memory gain less.
 *
 * A product whose sizes are no multiples of 16 bytes is computed with padded ones: at the peaks of the GPU in the
 * bound, at the shares of them that products usually reach in the estimate. */
#include <math.h>
#include <string.h>

#include "advice_kernels.h"
#include "analyze/model/flops/operator_flops.h"
#include "analyze/registry.h"
#include "base/human.h"

enum { SHORTEST_NS = 5000, ROW_BYTES = 16 };
#define TERA 1e12

static const char pad[] = "Pad sizes to multiples of 8 (fp16, bf16) or 4 (TF32), and align rows to 16 bytes.";

/* What to change, by the type of the operands; the first row that the GPU has the rates for. */
static const struct remedy {
    const char *type;
    enum gpu_rate now, then;
    const char *advice;
} remedies[] = {
    { "fp32", RATE_FP32, RATE_TF32,
      "torch.set_float32_matmul_precision(\"high\") allows TF32, and torch.autocast(\"cuda\", torch.bfloat16) bf16; "
      "for convolutions torch.backends.cudnn.allow_tf32 = True; in cuBLAS CUBLAS_COMPUTE_32F_FAST_TF32." },
    { "fp32", RATE_FP32, RATE_FP16, "torch.autocast(\"cuda\", torch.float16) runs products on tensor cores." },
    { "fp16", RATE_FP32, RATE_FP16, pad },
    { "bf16", RATE_FP32, RATE_FP16, pad },
};
enum { REMEDIES = sizeof remedies / sizeof remedies[0], SIZES = REMEDIES /* the group of wrong sizes */ };

/* What a product would take. */
struct successor {
    int remedy; /* a row, or SIZES; -1: it is as it should be */
    int64_t bound_ns, estimate_ns;
};

/* ---- other units ----------------------------------------------------------------------------------------------- */

static struct successor on_tensor_cores(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    const struct tensor_cores *cores = &kernels->use[kernel->name];
    const double *rate = kernels->peaks.rate;
    int found = 0;

    if (cores->use != TENSOR_NO || !cores->is_matrix || !cores->type)
        return (struct successor){ -1, 0, 0 };
    while (found < REMEDIES && (strcmp(remedies[found].type, cores->type) != 0 || rate[remedies[found].now] <= 0 ||
                                rate[remedies[found].then] <= rate[remedies[found].now]))
        found++;
    if (found == REMEDIES)
        return (struct successor){ -1, 0, 0 };
    double share = rate[remedies[found].now] / rate[remedies[found].then];
    int64_t estimate_ns = (int64_t)((double)kernel->run_ns * 2 * share);
    return (struct successor){ found, (int64_t)((double)kernel->run_ns * share / 2),
                               estimate_ns < SHORTEST_NS ? SHORTEST_NS : estimate_ns };
}

/* ---- sizes ----------------------------------------------------------------------------------------------------- */

/* How much larger a product becomes with padded sizes; 1: they are right, or not known. */
static double padding_of(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    struct advice_product product = advice_product_of(kernels, kernel);
    const double sizes[] = { product.rows, product.depth, product.columns };
    double multiple = product.bytes ? ROW_BYTES / product.bytes : 1, factor = 1;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && product.bytes; i++)
        factor *= sizes[i] > 0 ? ceil(sizes[i] / multiple) * multiple / sizes[i] : 1;
    return factor;
}

static struct successor with_padded_sizes(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    const struct op_work *work = advice_kernel_work(kernels, kernel);
    struct successor next = { -1, 0, 0 };

    if (!work || work->class != OP_MATMUL || work->flops <= 0 || kernels->use[kernel->name].use == TENSOR_NO)
        return next;
    double factor = padding_of(kernels, kernel);
    enum gpu_rate rate = flops_rate(work, 1, &kernels->peaks);
    if (factor <= 1 || rate == GPU_RATES || kernels->peaks.rate[rate] <= 0)
        return next;
    next.bound_ns = advice_work_ns(&kernels->peaks, &advice_peak, rate, work->flops, work->bytes);
    next.estimate_ns = advice_work_ns(&kernels->peaks, &advice_usual, rate, factor * work->flops, factor * work->bytes);
    next.remedy = next.estimate_ns < kernel->run_ns ? SIZES : -1;
    return next;
}

/* ---- causes ---------------------------------------------------------------------------------------------------- */

static int add_product(struct advice_groups *groups, const struct advice_kernels *kernels,
                       const struct advice_kernel *kernel)
{
    struct successor next = on_tensor_cores(kernels, kernel);

    if (next.remedy < 0)
        next = with_padded_sizes(kernels, kernel);
    if (next.remedy < 0)
        return 0;
    uint32_t group = advice_group(groups, next.remedy, 0);
    if (group == NO_KEY || advice_kernel_note(groups, group, kernels, kernel) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &groups->list[group].cause;
    if (advice_kernel_take(&cause->bound, kernel, next.bound_ns) != 0)
        return ERR_NO_MEMORY;
    return advice_kernel_take(&cause->estimate, kernel,
                              next.estimate_ns < kernel->run_ns ? next.estimate_ns : kernel->run_ns);
}

static int add_products(struct advice_groups *groups, struct advice_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        if (add_product(groups, kernels, &kernels->list[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* "tensor cores unused: 24 matrix products of fp32 in 8.31 ms" */
static int describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;
    const struct gpu_peaks *peaks = &groups->adviser->kernels->peaks;
    int64_t remedy = keys_get(&groups->keys, group)[0];

    cause->confidence = ADVICE_MODELLED;
    if (remedy == SIZES) {
        advice_group_say(groups, group, "tensor cores slow: ", " matrix products of odd sizes in ");
        text_addf(&cause->rate, "products of padded sizes at %.0f %% of the GPU's peak", 100 * advice_usual.compute);
        cause->advice = pad;
        return 1;
    }
    const struct remedy *how = &remedies[remedy];
    struct text behind = { 0 };
    text_addf(&behind, " matrix products of %s in ", how->type);
    advice_group_say(groups, group, "tensor cores unused: ", text_string(&behind));
    text_free(&behind);
    text_addf(&cause->rate, "%s %.0f TFLOP/s instead of %s %.0f TFLOP/s, peaks of the GPU", gpu_rate_name(how->then),
              peaks->rate[how->then] / TERA, gpu_rate_name(how->now), peaks->rate[how->now] / TERA);
    cause->advice = how->advice;
    return 1;
}

static int find_tensor_cores(struct adviser *adviser, struct error *err)
{
    return advice_kernels_find(adviser, &(struct advice_kernel_rule){ add_products, describe }, err);
}

ADVICE_RUN(tensor_cores)

const struct analysis rule_tensor_cores = {
    .name = "tensor_cores",
    .title = "Tensor Cores Unused",
    .usage = "",
    .help = "Products of matrices (GEMM, convolution, attention) that ran without tensor cores on a GPU that has them "
            "for this type, and products whose sizes tensor cores have no fast kernels for: no multiples of 16 bytes. "
            "The saving of the first is that of a replay in which each takes the share of its time that the peak "
            "rates of the GPU have to each other: half of that in the bound, twice of that in the estimate. Those "
            "with odd sizes take what padded ones do: at the peak in the bound, at the usual share of it in the "
            "estimate.",
    .needs = ADVICE_NEEDS,
    .advice = "Allow TF32, use bf16 or fp16, and pad sizes to multiples of 8.",
    .praise = "Products of matrices use tensor cores, or the GPU has none for them.",
    ADVICE_RULE(tensor_cores),
};
