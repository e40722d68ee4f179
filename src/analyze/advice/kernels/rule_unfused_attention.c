/* The rule unfused_attention: attention as a product, a softmax and another product, with all scores in memory.
 *
 * A fused kernel computes the same without writing the scores. With shapes its time follows from its FLOPs and bytes:
 * at the GPU's peaks in the bound, at the share of them that such kernels usually reach in the estimate. Without shapes
 * the products remain as they are, in the bound half of them. */
#include <stdlib.h>
#include <string.h>

#include "analyze/advice/advice_kernels.h"
#include "analyze/model/flops/operator_flops.h"
#include "analyze/registry.h"
#include "base/array.h"

enum { MOST_BETWEEN = 8 }; /* kernels between a product and the softmax: scale, mask, dropout, casts */
enum { SHORTEST_NS = 5000 };
enum { FORWARD, BACKWARD, PASSES };

/* Shares of the peaks that cuDNN's attention reaches on an H200 (tests/pairs: UnfusedAttention). The backward pass
 * computes five products in place of two, of which four are needed. */
static const struct advice_rates usual[PASSES] = { { 0.4, 0.8 }, { 0.35, 0.8 } };
static const double usual_work[PASSES] = { 1, 2.5 }, least_work[PASSES] = { 1, 2 };

struct attention {
    double flops, bytes; /* of the forward pass; 0: not known */
    enum gpu_rate rate;
};

/* Starts from {0}. */
struct attention_search {
    struct advice_groups *groups;
    struct advice_kernels *kernels;
    struct attention *list; /* owned, as all below */
    size_t count, room;
    uint32_t *of_op;        /* by operator: its attention plus 1, or 0 */
    uint32_t *of_kernel;    /* the same by kernel */
    unsigned char *is_kept; /* by operator: it launches the fused kernel */
};

/* ---- the pattern ----------------------------------------------------------------------------------------------- */

static int may_lie_between(const struct advice_kernel *kernel)
{
    return kernel->class == OP_ELEMENTWISE || kernel->class == OP_COPY || kernel->class == OP_UNKNOWN;
}

/* The product before (step -1) or after (step 1) a softmax; the softmax itself if there is none. */
static size_t product_near(const struct advice_kernels *kernels, size_t softmax, int step)
{
    size_t at = softmax;

    for (int i = 0; i <= MOST_BETWEEN; i++) {
        at += (size_t)step; /* from 0 it wraps, and is not below the count */
        if (at >= kernels->count || !advice_kernel_follows(kernels, &kernels->list[softmax], &kernels->list[at]))
            return softmax;
        if (kernels->list[at].class == OP_MATMUL)
            return at;
        if (!may_lie_between(&kernels->list[at]))
            return softmax;
    }
    return softmax;
}

/* Marks the operators from the first product to the second, and a copy after it: heads side by side again, as a fused
 * kernel returns them. */
static void mark_operators(struct attention_search *search, uint32_t from, size_t last)
{
    const struct advice_kernels *kernels = search->kernels;
    uint32_t to = kernels->list[last].source;
    const struct advice_kernel *next = last + 1 < kernels->count ? &kernels->list[last + 1] : NULL;

    if (from == NO_OPERATOR || to == NO_OPERATOR)
        return;
    if (next && next->class == OP_COPY && !next->is_backward && next->source != NO_OPERATOR &&
        advice_kernel_follows(kernels, &kernels->list[last], next))
        to = next->source;
    for (uint32_t op = from; op <= to; op++)
        if (kernels->operators->list[op].thread == kernels->operators->list[from].thread)
            search->of_op[op] = (uint32_t)search->count;
}

/* Whether the softmax lies over the result of the first product, and is an operand of the second. Without shapes the
 * order of the kernels must do. */
static int add_attention(struct attention_search *search, size_t first, size_t last)
{
    struct advice_kernels *kernels = search->kernels;
    struct advice_product a = advice_product_of(kernels, &kernels->list[first]),
                          b = advice_product_of(kernels, &kernels->list[last]);
    const struct op_work *work = advice_kernel_work(kernels, &kernels->list[first]);
    struct attention attention = { .rate = GPU_RATES };

    if (a.bytes && b.bytes) {
        if (a.rows != b.rows || a.columns != b.depth || a.batch != b.batch)
            return 0;
        attention.flops = 2 * a.batch * a.rows * a.columns * (a.depth + b.columns);
        attention.bytes = a.batch * (a.rows + a.columns) * (a.depth + b.columns) * a.bytes;
        attention.rate = flops_rate(work, kernels->named[kernels->list[first].name].cores.use == TENSOR_YES,
                                    &kernels->peaks);
    }
    if (ARRAY_PUSH(search->list, search->room, search->count, attention) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = first; i <= last; i++)
        search->of_kernel[i] = (uint32_t)search->count;
    mark_operators(search, kernels->list[first].source, last);
    return 0;
}

static int find_attentions(struct attention_search *search)
{
    const struct advice_kernels *kernels = search->kernels;

    for (size_t i = 0; i < kernels->count; i++) {
        const struct advice_kernel *kernel = &kernels->list[i];
        if (kernel->class != OP_SOFTMAX || kernel->is_backward)
            continue;
        size_t first = product_near(kernels, i, -1), last = product_near(kernels, i, 1);
        if (first < i && last > i && !kernels->list[first].is_backward && !kernels->list[last].is_backward &&
            add_attention(search, first, last) != 0)
            return ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->list[i].source != NO_OPERATOR && !search->of_kernel[i])
            search->of_kernel[i] = search->of_op[kernels->list[i].source];
    return 0;
}

/* ---- what is left ---------------------------------------------------------------------------------------------- */

/* One pass of one attention. */
struct attention_pass {
    int64_t product_ns; /* of its products */
    size_t longest;     /* of its kernels, plus 1; 0: it has none */
};

static int64_t attention_left_of(const struct attention_search *search, const struct attention *attention,
                                 const struct attention_pass *pass, int which, int is_bound)
{
    const struct advice_rates *rates = is_bound ? &advice_peak : &usual[which];
    double more = is_bound ? least_work[which] : usual_work[which];
    int64_t left_ns = attention->rate == GPU_RATES ? 0
                                                   : advice_work_ns(&search->kernels->peaks, rates, attention->rate,
                                                                    more * attention->flops, more * attention->bytes);

    if (!left_ns)
        left_ns = is_bound ? pass->product_ns / 2 : pass->product_ns;
    return !is_bound && left_ns < SHORTEST_NS ? SHORTEST_NS : left_ns;
}

/* The fused kernel takes the place of the longest one. */
static int cut_kernel(struct attention_search *search, size_t number, const struct attention_pass *pass,
                      struct advice_cause *cause)
{
    const struct advice_kernel *kernel = &search->kernels->list[number];
    const struct attention *attention = &search->list[search->of_kernel[number] - 1];
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
    struct attention_pass *passes = calloc(PASSES * search->count + 1, sizeof *passes);
    int code = passes ? 0 : ERR_NO_MEMORY;

    for (int is_cut = 0; is_cut < 2; is_cut++)
        for (size_t i = 0; i < kernels->count && code == 0; i++) {
            const struct advice_kernel *kernel = &kernels->list[i];
            if (!search->of_kernel[i])
                continue;
            struct attention_pass
                *pass = &passes[PASSES * (search->of_kernel[i] - 1) + (kernel->is_backward ? BACKWARD : FORWARD)];
            if (!is_cut) {
                pass->product_ns += kernel->class == OP_MATMUL ? kernel->run_ns : 0;
                if (!pass->longest || kernel->run_ns > kernels->list[pass->longest - 1].run_ns)
                    pass->longest = i + 1;
                continue;
            }
            uint32_t group = advice_group(search->groups, 0, 0);
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
    uint32_t group = search->count ? advice_group(search->groups, 0, 0) : 0;

    if (group == NO_KEY)
        return ERR_NO_MEMORY;
    for (uint32_t op = 0; op < kernels->operators->count && search->count; op++) {
        uint32_t source = kernels->sources[op];
        struct advice_cause *cause = &search->groups->list[group].cause;
        if (source == NO_OPERATOR || !search->of_op[source] || search->is_kept[op] ||
            advice_operator_root(kernels, op) != op)
            continue;
        if (advice_operator_vanish(&cause->bound, kernels, op) != 0 ||
            advice_operator_vanish(&cause->estimate, kernels, op) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int attention_add_kernels(struct advice_groups *groups, struct advice_kernels *kernels)
{
    struct attention_search search = { .groups = groups, .kernels = kernels };
    int code = ERR_NO_MEMORY;

    search.of_op = calloc(kernels->operators->count + 1, sizeof *search.of_op);
    search.of_kernel = calloc(kernels->count + 1, sizeof *search.of_kernel);
    search.is_kept = calloc(kernels->operators->count + 1, 1);
    if (search.of_op && search.of_kernel && search.is_kept && find_attentions(&search) == 0 &&
        cut_kernels(&search) == 0)
        code = cut_operators(&search);
    free(search.list);
    free(search.of_op);
    free(search.of_kernel);
    free(search.is_kept);
    return code;
}

/* "unfused attention: 45 kernels compute softmax(QK)V in 4.61 ms" */
static int attention_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;

    advice_group_say(groups, group, "unfused attention: ", " kernels compute softmax(QK)V in ");
    text_addf(&cause->rate, "fused attention at %.0f %% of the GPU's peak", 100 * usual[FORWARD].compute);
    cause->confidence = ADVICE_MODELLED;
    cause->advice = "F.scaled_dot_product_attention(q, k, v) computes it in one kernel, and keeps no scores in memory.";
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
            "products remain.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(unfused_attention,
                .advice = "F.scaled_dot_product_attention(q, k, v) computes attention in one kernel.",
                .praise = "Attention is fused, or there is none."),
};
