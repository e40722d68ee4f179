/* The rule float64: operators of PyTorch compute in double precision, mostly because NumPy's arrays do.
 *
 * A program that wants float64 keeps it; for all others float32 with TF32 is the change that they can make without
 * thinking. Estimate: products take what they usually do with TF32, with half of the bytes, and all other kernels half
 * of their time. Bound: with 16-bit tensors, products at the peaks of the GPU with a fourth of the bytes, and all other
 * kernels a fourth of their time. */
#include "analyze/advice/advice_kernels.h"
#include "analyze/registry.h"

#define TERA 1e12

/* The rates that products have, and would have. */
static enum gpu_rate rate_now(const struct gpu_peaks *peaks)
{
    return peaks->rate[RATE_FP64_TENSOR] > 0 ? RATE_FP64_TENSOR : RATE_FP64;
}
static enum gpu_rate rate_then(const struct gpu_peaks *peaks)
{
    return peaks->rate[RATE_TF32] > 0 ? RATE_TF32 : RATE_FP32;
}
static enum gpu_rate rate_best(const struct gpu_peaks *peaks)
{
    return peaks->rate[RATE_FP16] > 0 ? RATE_FP16 : rate_then(peaks);
}

struct left {
    int64_t bound_ns, estimate_ns;
};

static struct left float64_left_of(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    const struct gpu_peaks *peaks = &kernels->peaks;
    const struct op_work *work = advice_kernel_work(kernels, kernel);
    double ns = (double)kernel->run_ns, now = peaks->rate[rate_now(peaks)];

    if (!op_class_is_matrix(kernel->class))
        return (struct left){ kernel->run_ns / 4, kernel->run_ns / 2 };
    if (!work || work->class != OP_MATMUL || work->flops <= 0)
        return (struct left){ saturating_from_double(ns * now / peaks->rate[rate_best(peaks)] / 2),
                              saturating_from_double(ns * now / peaks->rate[rate_then(peaks)] * 2) };
    return (struct left){ advice_work_ns(peaks, &advice_peak, rate_best(peaks), work->flops, work->bytes / 4),
                          advice_work_ns(peaks, &advice_usual, rate_then(peaks), work->flops, work->bytes / 2) };
}

static int64_t float64_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int float64_add_kernels(struct advice_groups *groups, struct advice_kernels *kernels)
{
    if (!(kernels->peaks.rate[rate_now(&kernels->peaks)] > 0) || !(kernels->peaks.rate[rate_then(&kernels->peaks)] > 0))
        return 0;
    for (size_t i = 0; i < kernels->count; i++) {
        const struct advice_kernel *kernel = &kernels->list[i];
        if (kernel->op == NO_OPERATOR || advice_kernel_type(kernels, kernel) != DATA_FP64)
            continue;
        struct left left = float64_left_of(kernels, kernel);
        uint32_t group = advice_group(groups, 0, 0);
        if (group == NO_KEY || advice_kernel_note(groups, group, kernels, kernel) != 0)
            return ERR_NO_MEMORY;
        struct advice_cause *cause = &groups->list[group].cause;
        if (advice_kernel_take(&cause->bound, kernel, float64_least(left.bound_ns, kernel->run_ns)) != 0 ||
            advice_kernel_take(&cause->estimate, kernel, float64_least(left.estimate_ns, kernel->run_ns)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

#define FLOAT                                                                                                          \
    "Unless double precision is needed: model.float(), and data.float(), because NumPy's arrays are float64"

/* "float64: 63 kernels compute in double precision in 7.12 ms" */
static int float64_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;
    const struct gpu_peaks *peaks = &groups->adviser->kernels->peaks;
    enum gpu_rate now = rate_now(peaks), then = rate_then(peaks);

    advice_group_say(groups, group, "float64: ", " kernels compute in double precision in ");
    text_addf(&cause->rate, "%s %.0f TFLOP/s instead of %s %.0f TFLOP/s, peaks of the GPU", gpu_rate_name(then),
              peaks->rate[then] / TERA, gpu_rate_name(now), peaks->rate[now] / TERA);
    cause->confidence = ADVICE_MODELLED;
    cause->advice = then == RATE_TF32 ? FLOAT
                        "; with torch.set_float32_matmul_precision(\"high\") tensor cores compute in "
                        "TF32."
                                      : FLOAT ".";
    return 1;
}

static int find_float64(struct adviser *adviser, struct error *err)
{
    return advice_kernels_find(adviser, &(struct advice_kernel_rule){ float64_add_kernels, float64_describe }, err);
}

const struct analysis rule_float64 = {
    .name = "float64",
    .title = "Double Precision",
    .help = "Kernels of PyTorch's operators on float64. The saving is that of a replay in which, in the estimate, "
            "products run at the usual rate of TF32 and all other kernels take half of their time; in the bound, "
            "products run at the peak rate of 16 bits, and all other kernels take a fourth of their time.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(float64, .is_of_torch = 1, .advice = "Compute in float32, with TF32, or in bf16.",
                .praise = "No operator of PyTorch computes in double precision."),
};
