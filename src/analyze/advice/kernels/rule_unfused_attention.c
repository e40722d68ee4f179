/* The rule unfused_attention: attention as a product, a softmax and another product, with all scores in memory.
 *
 * A fused kernel computes the same without writing the scores. With shapes its time follows from its FLOPs and bytes:
 * at the GPU's peaks in the bound, at the share of them that such kernels usually reach in the estimate. Without shapes
 * the products remain as they are, in the bound half of them.
 *
 * Attention whose tensors are of 16 bits may be written out in fp32, for the sake of the softmax. A fused kernel sums
 * up in fp32 all the same, so that it takes the tensors as they are, without the casts. Its products are no matter of
 * the rule tensor_cores then. */
#include <stdlib.h>

#include "analyze/advice/advice_attentions.h"
#include "analyze/registry.h"

enum { SHORTEST_NS = 5000 };
enum { FORWARD, BACKWARD, PASSES };

/* Shares of the peaks that cuDNN's attention reaches on an H200 (tests/pairs: UnfusedAttention). The backward pass
 * computes five products in place of two, of which four are needed. */
static const struct advice_rates usual[PASSES] = { { 0.4, 0.8 }, { 0.35, 0.8 } };
static const double usual_work[PASSES] = { 1, 2.5 }, least_work[PASSES] = { 1, 2 };

/* Starts from {0}. */
struct attention_search {
    struct advice_groups *groups;
    struct advice_kernels *kernels;
    struct attentions found;
    unsigned char *is_kept; /* owned; by operator: it launches the fused kernel */
};

/* ---- what is left ---------------------------------------------------------------------------------------------- */

/* One pass of one attention. */
struct attention_pass {
    int64_t product_ns; /* of its products */
    size_t longest;     /* of its kernels, plus 1; 0: it has none */
};

/* Without shapes, products of fp32 that may be of 16 bits take twice the share of their time that the peaks have to
 * each other, as the rule tensor_cores says. */
static int64_t products_left_of(const struct advice_kernels *kernels, const struct attention *attention,
                                const struct attention_pass *pass)
{
    const double *rate = kernels->peaks.rate;

    return attention->is_upcast && 2 * rate[RATE_FP32] < rate[RATE_FP16]
               ? saturating_from_double(2 * (double)pass->product_ns * rate[RATE_FP32] / rate[RATE_FP16])
               : pass->product_ns;
}

static int64_t attention_left_of(const struct attention_search *search, const struct attention *attention,
                                 const struct attention_pass *pass, int which, int is_bound)
{
    const struct advice_rates *rates = is_bound ? &advice_peak : &usual[which];
    double more = is_bound ? least_work[which] : usual_work[which];
    int64_t products_ns = products_left_of(search->kernels, attention, pass);
    int64_t left_ns = attention->rate == GPU_RATES ? 0
                                                   : advice_work_ns(&search->kernels->peaks, rates, attention->rate,
                                                                    more * attention->flops, more * attention->bytes);

    if (!left_ns)
        left_ns = is_bound ? products_ns / 2 : products_ns;
    return !is_bound && left_ns < SHORTEST_NS ? SHORTEST_NS : left_ns;
}

/* The fused kernel takes the place of the longest one. */
static int cut_kernel(struct attention_search *search, size_t number, const struct attention_pass *pass,
                      struct advice_cause *cause)
{
    const struct advice_kernel *kernel = &search->kernels->list[number];
    const struct attention *attention = attention_of(&search->found, number);
    int which = kernel->is_backward ? BACKWARD : FORWARD;

    if (number + 1 == pass->longest && kernel->op != NO_OPERATOR)
        search->is_kept[advice_operator_root(search->kernels, kernel->op)] = 1;
    if (number + 1 != pass->longest)
        return advice_kernel_vanish(&cause->bound, search->kernels, kernel) != 0 ||
                       advice_kernel_vanish(&cause->estimate, search->kernels, kernel) != 0
                   ? ERR_NO_MEMORY
                   : 0;
    if (advice_kernel_take(&cause->bound, kernel, attention_left_of(search, attention, pass, which, 1)) != 0)
        return ERR_NO_MEMORY;
    return advice_kernel_take(&cause->estimate, kernel, attention_left_of(search, attention, pass, which, 0));
}

static int cut_kernels(struct attention_search *search)
{
    const struct advice_kernels *kernels = search->kernels;
    struct attention_pass *passes = calloc(PASSES * search->found.count + 1, sizeof *passes);
    int code = passes ? 0 : ERR_NO_MEMORY;

    for (int is_cut = 0; is_cut < 2; is_cut++)
        for (size_t i = 0; i < kernels->count && code == 0; i++) {
            const struct advice_kernel *kernel = &kernels->list[i];
            if (!search->found.of_kernel[i])
                continue;
            struct attention_pass
                *pass = &passes[PASSES * (search->found.of_kernel[i] - 1) + (kernel->is_backward ? BACKWARD : FORWARD)];
            if (!is_cut) {
                pass->product_ns += kernel->class == OP_MATMUL ? kernel->run_ns : 0;
                if (!pass->longest || kernel->run_ns > kernels->list[pass->longest - 1].run_ns)
                    pass->longest = i + 1;
                continue;
            }
            uint32_t group = advice_group(search->groups, attention_of(&search->found, i)->is_upcast, 0);
            if (group == NO_KEY || advice_kernel_note(search->groups, group, kernels, kernel) != 0 ||
                cut_kernel(search, i, pass, &search->groups->list[group].cause) != 0)
                code = ERR_NO_MEMORY;
        }
    free(passes);
    return code;
}

/* Operators and nodes of gradients take no time on the CPU, but for those that launch the fused kernels. */
static int cut_operators(struct attention_search *search)
{
    const struct advice_kernels *kernels = search->kernels;

    for (uint32_t op = 0; op < kernels->operators->count && search->found.count; op++) {
        uint32_t source = kernels->sources[op], number = source == NO_OPERATOR ? 0 : search->found.of_op[source];
        if (!number || search->is_kept[op] || advice_operator_root(kernels, op) != op)
            continue;
        uint32_t group = advice_group(search->groups, search->found.list[number - 1].is_upcast, 0);
        struct advice_cause *cause = group == NO_KEY ? NULL : &search->groups->list[group].cause;
        if (!cause || advice_operator_vanish(&cause->bound, kernels, op) != 0 ||
            advice_operator_vanish(&cause->estimate, kernels, op) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int attention_add_kernels(struct advice_groups *groups, struct advice_kernels *kernels)
{
    struct attention_search search = { .groups = groups, .kernels = kernels };
    int code = ERR_NO_MEMORY;

    search.is_kept = calloc(kernels->operators->count + 1, 1);
    if (search.is_kept && attentions_find(&search.found, kernels) == 0 && cut_kernels(&search) == 0)
        code = cut_operators(&search);
    attentions_free(&search.found);
    free(search.is_kept);
    return code;
}

#define FUSED                                                                                                          \
    "Unless something else reads the scores, F.scaled_dot_product_attention(q, k, v) computes it in one kernel, and "  \
    "keeps none in memory; nn.MultiheadAttention calls it with need_weights=False."
static const char *const advice[] = {
    /* by is_upcast */
    FUSED,
    FUSED " It takes tensors of 16 bits as they are: its sums are of float32.",
};
static const char elsewhere[] = "A fused kernel (FlashAttention, cuDNN's attention) computes it without the scores in "
                                "memory.";

/* "unfused attention: 45 kernels compute softmax(QK)V in 4.61 ms" */
static int attention_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;

    advice_group_say(groups, group, "unfused attention: ", " kernels compute softmax(QK)V in ");
    text_addf(&cause->rate, "fused attention at %.0f %% of the GPU's peak", 100 * usual[FORWARD].compute);
    cause->confidence = ADVICE_MODELLED;
    cause->advice = adviser_uses_torch(groups->adviser) ? advice[keys_get(&groups->keys, group)[0]] : elsewhere;
    return 1;
}

static int find_unfused_attention(struct adviser *adviser, struct error *err)
{
    return advice_kernels_find(adviser, &(struct advice_kernel_rule){ attention_add_kernels, attention_describe }, err);
}

const struct analysis rule_unfused_attention = {
    .name = "unfused_attention",
    .title = "Unfused Attention",
    .help = "Attention as a product of matrices, a softmax and another product. The saving is that of a replay with a "
            "fused kernel in place of these and of their gradients: at the GPU's peaks in the bound, at the share that "
            "fused attention usually reaches in the estimate (40 % forward, 35 % backward). Without shapes the "
            "products remain. Attention of 16-bit tensors that are cast to float32 becomes one of 16 bits.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(unfused_attention,
                .advice = "F.scaled_dot_product_attention(q, k, v) computes attention in one kernel.",
                .praise = "Attention is fused, or there is none."),
};
