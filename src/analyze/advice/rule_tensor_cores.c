/* The rule tensor_cores: products of matrices that ran on other units although the GPU has tensor cores for them, or on
 * tensor cores with sizes for which these have no fast kernels.
 *
 * With shapes, a product takes what its FLOPs and bytes need on tensor cores: at the peaks of the GPU in the bound, at
 * the shares of them that products usually reach in the estimate. Without shapes it takes the share of its time that
 * the peak rates of the two units have to each other. Bound: half of that remains, since the kernel may have been
 * further from its peak than its successor. Estimate: twice of that remains. No kernel is estimated to take less than
 * 5 µs, because products that are small or wait for memory gain less.
 *
 * Fp32 products may be replaced by products of 16-bit tensors. So the bound of fp32 is at the rate of these; casts
 * between fp32 and them are gone, and all other kernels on fp32 take half of their time, because they move half of the
 * bytes.
 *
 * A product whose sizes are no multiples of 16 bytes is computed with padded ones: at the peaks of the GPU in the
 * bound, at the shares of them that products usually reach in the estimate. In the bound, other kernels on such rows
 * read them at the peak rate of the memory, too: unaligned rows cannot be read 16 bytes at a time. */
#include <math.h>
#include <string.h>

#include "advice_attentions.h"
#include "analyze/model/flops/operator_flops.h"
#include "analyze/registry.h"
#include "base/human.h"

enum { SHORTEST_NS = 5000, ROW_BYTES = 16 };
#define TERA 1e12

static const char pad[] = "Pad sizes to multiples of 8 (fp16, bf16) or 4 (TF32), and align rows to 16 bytes.";

/* The remedy by the type of the operands; the first row that the GPU has the rates for. */
static const struct remedy {
    const char *type;
    enum gpu_rate now, then;
    const char *advice;
} remedies[] = {
    { "fp32", RATE_FP32, RATE_TF32,
      "torch.set_float32_matmul_precision(\"high\") allows TF32, and torch.autocast(\"cuda\", torch.bfloat16) bf16; "
      "for convolutions torch.backends.cudnn.allow_tf32 = True; in cuBLAS CUBLAS_COMPUTE_32F_FAST_TF32." },
    { "fp32", RATE_FP32, RATE_FP16,
      "torch.autocast(\"cuda\", torch.float16) runs products on tensor cores, in training with a GradScaler; in cuBLAS "
      "CUBLAS_COMPUTE_32F_FAST_16F." },
    { "fp16", RATE_FP32, RATE_FP16, pad },
    { "bf16", RATE_FP32, RATE_FP16, pad },
};
enum { REMEDIES = COUNT_OF(remedies), SIZES = REMEDIES /* the group of wrong sizes */ };

/* The time that a product would take. */
struct successor {
    int remedy; /* a row, or SIZES; -1: it is as it should be */
    int64_t bound_ns, estimate_ns;
};

/* ---- other units ----------------------------------------------------------------------------------------------- */

/* The rate that no remedy exceeds: that of 16 bits. */
static enum gpu_rate best_rate(const double *rate, const struct remedy *remedy)
{
    return rate[RATE_FP16] > rate[remedy->then] ? RATE_FP16 : remedy->then;
}

/* An operator may launch several kernels of other kinds than products, so that its FLOPs are not those of each. */
static struct successor tensor_advice_replace(const struct advice_kernels *kernels, const struct advice_kernel *kernel,
                                              const struct remedy *remedy)
{
    const struct op_work *work = advice_kernel_work(kernels, kernel);
    const double *rate = kernels->peaks.rate;
    enum gpu_rate best = best_rate(rate, remedy);

    if (!work || work->class != OP_MATMUL || work->flops <= 0)
        return (struct successor){
            .bound_ns = (int64_t)((double)kernel->run_ns * rate[remedy->now] / rate[best] / 2),
            .estimate_ns = (int64_t)((double)kernel->run_ns * rate[remedy->now] / rate[remedy->then] * 2),
        };
    double narrower = work->type == DATA_FP32 && best != remedy->then ? 0.5 : 1;
    return (struct successor){
        .bound_ns = advice_work_ns(&kernels->peaks, &advice_peak, best, work->flops, narrower * work->bytes),
        .estimate_ns = advice_work_ns(&kernels->peaks, &advice_usual, remedy->then, work->flops, work->bytes),
    };
}

static struct successor on_tensor_cores(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    const struct tensor_cores *cores = &kernels->named[kernel->name].cores;
    const double *rate = kernels->peaks.rate;
    int found = 0;

    if (cores->use != TENSOR_NO || !cores->is_matrix || !cores->type)
        return (struct successor){ -1, 0, 0 };
    while (found < REMEDIES && (strcmp(remedies[found].type, cores->type) != 0 || rate[remedies[found].now] <= 0 ||
                                rate[remedies[found].then] <= rate[remedies[found].now]))
        found++;
    if (found == REMEDIES)
        return (struct successor){ -1, 0, 0 };
    struct successor next = tensor_advice_replace(kernels, kernel, &remedies[found]);
    next.remedy = found;
    next.estimate_ns = next.estimate_ns < SHORTEST_NS ? SHORTEST_NS : next.estimate_ns;
    return next;
}

/* ---- sizes ----------------------------------------------------------------------------------------------------- */

/* How much larger a product becomes with padded sizes; 1: they are right, or not known. */
static double padding_of(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    struct advice_product product = advice_product_of(kernels, kernel);
    const double sizes[] = { product.rows, product.depth, product.columns };
    double multiple = product.bytes ? ROW_BYTES / product.bytes : 1, factor = 1;

    for (size_t i = 0; i < COUNT_OF(sizes) && product.bytes; i++)
        factor *= sizes[i] > 0 ? ceil(sizes[i] / multiple) * multiple / sizes[i] : 1;
    return factor;
}

static struct successor with_padded_sizes(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    const struct op_work *work = advice_kernel_work(kernels, kernel);
    struct successor next = { -1, 0, 0 };

    if (!work || work->class != OP_MATMUL || work->flops <= 0 || kernels->named[kernel->name].cores.use == TENSOR_NO)
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

/* A cast goes with its operator. */
static int tensor_advice_narrow(struct advice_cause *cause, const struct advice_kernels *kernels,
                                const struct advice_kernel *kernel)
{
    const struct op_work *work = advice_kernel_work(kernels, kernel);

    if (work && work->is_cast)
        return advice_kernel_vanish(&cause->bound, kernels, kernel) != 0 ||
                       advice_operator_vanish(&cause->bound, kernels, advice_operator_root(kernels, kernel->op)) != 0
                   ? ERR_NO_MEMORY
                   : 0;
    if (op_class_is_matrix(kernel->class) || advice_kernel_type(kernels, kernel) != DATA_FP32)
        return 0;
    return advice_kernel_take(&cause->bound, kernel, kernel->run_ns / 2);
}

/* Whether rows of a tensor that a kernel reads are no multiples of 16 bytes. */
static int has_odd_rows(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    struct op_texts texts = op_texts_of(kernels->operators, &kernels->operators->list[kernel->op]);
    struct op_inputs inputs;

    op_inputs_read(&inputs, &texts);
    for (size_t i = 0; i < inputs.count; i++) {
        const struct op_input *input = &inputs.list[i];
        if (input->tensors && input->rank >= 2 && input->dims[input->rank - 1] * input->bytes % ROW_BYTES != 0)
            return 1;
    }
    return 0;
}

static int align(struct advice_cause *cause, const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    const struct op_work *work = advice_kernel_work(kernels, kernel);

    if (!work || op_class_is_matrix(kernel->class) || work->bytes <= 0 || !has_odd_rows(kernels, kernel))
        return 0;
    int64_t left_ns = advice_work_ns(&kernels->peaks, &advice_peak, GPU_RATES, 0, work->bytes);
    return left_ns < kernel->run_ns ? advice_kernel_take(&cause->bound, kernel, left_ns) : 0;
}

/* The saving in other kernels that a repair of the products may bring. */
static int tensor_advice_add_others(struct advice_groups *groups, const struct advice_kernels *kernels)
{
    for (uint32_t group = 0; group < groups->keys.count; group++) {
        int64_t remedy = keys_get(&groups->keys, group)[0];
        int is_wide = remedy != SIZES && strcmp(remedies[remedy].type, "fp32") == 0;
        for (size_t i = 0; i < kernels->count && (is_wide || remedy == SIZES); i++)
            if ((is_wide ? tensor_advice_narrow : align)(&groups->list[group].cause, kernels, &kernels->list[i]) != 0)
                return ERR_NO_MEMORY;
    }
    return 0;
}

/* Products that a fused attention makes of 16-bit tensors are left to the rule unfused_attention. */
static int add_products(struct advice_groups *groups, struct advice_kernels *kernels)
{
    struct attentions attentions = { 0 };
    int code = attentions_find(&attentions, kernels);

    for (size_t i = 0; i < kernels->count && code == 0; i++) {
        const struct attention *attention = attention_of(&attentions, i);
        code = attention && attention->is_upcast ? 0 : add_product(groups, kernels, &kernels->list[i]);
    }
    attentions_free(&attentions);
    return code == 0 ? tensor_advice_add_others(groups, kernels) : ERR_NO_MEMORY;
}

/* "tensor cores unused: 24 matrix products of fp32 in 8.31 ms" */
static int tensor_advice_describe(struct advice_groups *groups, uint32_t group)
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
    return advice_kernels_find(adviser, &(struct advice_kernel_rule){ add_products, tensor_advice_describe }, err);
}

const struct analysis rule_tensor_cores = {
    .name = "tensor_cores",
    .title = "Tensor Cores Unused",
    .help = "Products of matrices (GEMM, convolution, attention) that ran without tensor cores on a GPU that has them "
            "for this type, and products whose sizes tensor cores have no fast kernels for: no multiples of 16 bytes. "
            "The saving is that of a replay in which each takes what it needs on tensor cores: at the GPU's peaks in "
            "the bound, at the usual share of them in the estimate. Without shapes, the first take the share of their "
            "time that the peaks have to each other: half of that in the bound, twice of that in the estimate. The "
            "bound of fp32 is at the rate of 16 bits, without casts, and with half of the bytes in other kernels.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(tensor_cores, .advice = "Allow TF32, use bf16 or fp16, and pad sizes to multiples of 8.",
                .praise = "Products of matrices use tensor cores, or the GPU has none for them."),
};
