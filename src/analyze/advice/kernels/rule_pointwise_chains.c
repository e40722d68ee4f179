/* The rule pointwise_chains: elementwise kernels one after the other, each of which reads what the last one wrote, and
 * reductions between them: an activation, a norm or a softmax that is written out.
 *
 * One fused kernel reads what comes from outside of the chain, and writes the result, which is mostly that of its last
 * kernel. Of the tensors that a chain reads it is not known which are the same: its kernels read r bytes and write w
 * besides the result, so r − w at most come from outside. Estimate: half of those beyond the inputs of the first kernel
 * are read again, and the fused kernel moves memory as fast as the kernels of the chain. Bound: it reads and writes one
 * tensor, of the narrowest type in the chain, at the peak rate of the memory. */
#include <stdlib.h>
#include <string.h>

#include "analyze/advice/advice_kernels.h"
#include "analyze/registry.h"

enum { SHORTEST_CHAIN = 3 }; /* elementwise kernels */
enum { SMALL_SHARE = 16 };   /* the share of a tensor's elements that a reduction over rows leaves at most */

/* Bytes that an operator reads and writes, elements of its largest input, and bytes of the narrowest of that size; all
 * 0: not known. */
struct extent {
    double read, written, elements, narrowest;
    int is_read; /* the members are set */
};

/* Starts from {0}. */
struct pointwise_search {
    struct advice_groups *groups;
    struct advice_kernels *kernels;
    struct extent *extents; /* owned; by what an operator does */
};

static const struct extent *extent_of(struct pointwise_search *search, const struct advice_kernel *kernel)
{
    static const struct extent none;
    struct op_inputs inputs;

    if (kernel->todo == NO_KEY)
        return &none;
    struct extent *extent = &search->extents[kernel->todo];
    const struct op_work *work = &search->kernels->works.list[kernel->todo];
    if (extent->is_read)
        return extent;
    extent->is_read = 1;
    struct op_texts texts = op_texts_of(search->kernels->operators, &search->kernels->operators->list[kernel->op]);
    op_inputs_read(&inputs, &texts);
    for (size_t i = 0; i < inputs.count; i++) {
        const struct op_input *input = &inputs.list[i];
        if (!input->tensors || !input->bytes)
            continue;
        extent->read += op_tensor_bytes(input);
        double bytes = input->elements * input->bytes;
        if (input->elements < extent->elements || (input->elements == extent->elements && bytes >= extent->narrowest))
            continue;
        extent->written = input->elements > extent->elements ? bytes : extent->written;
        extent->elements = input->elements;
        extent->narrowest = bytes;
    }
    if (work->bytes >= 0)
        extent->written = work->bytes > extent->read ? work->bytes - extent->read : 0;
    if (kernel->class == OP_COPY && inputs.count) { /* copy_(to, from) */
        extent->written = op_tensor_bytes(&inputs.list[0]);
        extent->read -= extent->written;
    }
    return extent;
}

/* Whether two kernels do different things: the same one again and again runs over a list of tensors. */
static int differ(const struct advice_kernels *kernels, const struct advice_kernel *a, const struct advice_kernel *b)
{
    if (a->op == NO_OPERATOR || b->op == NO_OPERATOR)
        return a->name != b->name;
    return kernels->operators->list[a->op].name != kernels->operators->list[b->op].name;
}

/* Whether torch.compile fuses a kernel with others like it. The optimizer's kernels are a matter of the optimizer; sums
 * of gradients, which belong to no line, of autograd; gradients of a bias belong to their product. */
static int is_fusable(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    if (kernel->is_optimizer || (kernel->is_backward && kernel->source == NO_OPERATOR))
        return 0;
    if (kernel->class == OP_REDUCTION)
        return kernel->op != NO_OPERATOR &&
               !op_class_is_matrix((enum op_class)(advice_operator_says(kernels, kernel->source) & OP_NAME_CLASS));
    return kernel->class == OP_ELEMENTWISE ||
           (kernel->class == OP_COPY && (advice_operator_says(kernels, kernel->op) & OP_NAME_IS_COPY));
}

struct pointwise_chain {
    size_t first, end, longest; /* kernels */
    double elements;            /* of its tensors, but for small ones */
    int large;                  /* elementwise kernels on such tensors */
    int has_others;             /* not all kernels do the same */
    int64_t run_ns, bound_ns, estimate_ns;
};

/* Adds the next kernel to a chain; 0: it does not belong to it. */
static int pointwise_extend(struct pointwise_search *search, struct pointwise_chain *chain)
{
    const struct advice_kernels *kernels = search->kernels;
    const struct advice_kernel *begin = &kernels->list[chain->first], *next = &kernels->list[chain->end];
    double elements = extent_of(search, next)->elements;

    if (!is_fusable(kernels, next) || next->is_backward != begin->is_backward ||
        !advice_kernel_follows(kernels, begin, next))
        return 0;
    if (chain->end == chain->first || elements >= SMALL_SHARE * chain->elements) {
        chain->large = chain->elements == elements ? chain->large : 0;
        chain->elements = elements;
    }
    if (elements != chain->elements && elements * SMALL_SHARE > chain->elements)
        return 0;
    chain->large += elements == chain->elements && next->class != OP_REDUCTION;
    chain->has_others |= differ(kernels, begin, next);
    chain->end++;
    return 1;
}

/* ---- what is left ---------------------------------------------------------------------------------------------- */

/* The kernel that writes the result of a chain: the last one, but for kernels on small tensors that follow it. A sum at
 * the end is the result of a forward pass; in a backward pass it is the gradient of a parameter, and the gradient that
 * it sums up goes on. */
static size_t result_of(struct pointwise_search *search, const struct pointwise_chain *chain)
{
    const struct advice_kernel *list = search->kernels->list;

    for (size_t i = chain->end; i-- > chain->first;) {
        int is_sum = list[i].class == OP_REDUCTION;
        if (is_sum && !list[i].is_backward)
            break;
        if (!is_sum && extent_of(search, &list[i])->elements == chain->elements)
            return i;
    }
    return chain->end - 1;
}

static void predict(struct pointwise_search *search, struct pointwise_chain *chain)
{
    const struct advice_kernel *list = search->kernels->list;
    const struct extent *begin = extent_of(search, &list[chain->first]),
                        *end = extent_of(search, &list[result_of(search, chain)]);
    double read = 0, written = 0, narrowest = 0;

    chain->longest = chain->first;
    for (size_t i = chain->first; i < chain->end; i++) {
        const struct extent *extent = extent_of(search, &list[i]);
        read += extent->read;
        written += extent->written;
        if (extent->elements == chain->elements && (!(narrowest > 0) || extent->narrowest < narrowest))
            narrowest = extent->narrowest;
        chain->run_ns = saturating_add(chain->run_ns, list[i].run_ns);
        if (list[i].run_ns > list[chain->longest].run_ns)
            chain->longest = i;
    }
    chain->estimate_ns = list[chain->longest].run_ns; /* without sizes it is not known how much is left */
    chain->bound_ns = chain->estimate_ns / 2;
    if (!(narrowest > 0))
        return;
    double outside = read - (written - end->written), least = begin->read > narrowest ? begin->read : narrowest;
    double left = (outside > least ? (least + outside) / 2 : least) + end->written;
    chain->estimate_ns = saturating_from_double((double)chain->run_ns * left / (read + written));
    chain->bound_ns = advice_work_ns(&search->kernels->peaks, &advice_peak, GPU_RATES, 0, 2 * narrowest);
    if (!chain->bound_ns || chain->bound_ns > chain->estimate_ns)
        chain->bound_ns = chain->estimate_ns / 2;
}

/* The function of the program that a chain belongs to: a chain may extend over several lines, and its gradients come in
 * reverse order. */
static uint32_t pointwise_group_of(struct pointwise_search *search, const struct pointwise_chain *chain)
{
    const struct advice_kernel *earliest = &search->kernels->list[chain->first];

    if (earliest->is_backward)
        earliest = &search->kernels->list[chain->end - 1];
    uint32_t line = advice_kernel_line(search->kernels, search->groups->places, earliest);
    if (line == NO_PLACE)
        return advice_group(search->groups, NO_PLACE, NO_PLACE);
    struct place place = places_get(search->groups->places, line);
    return advice_group(search->groups, place.file, place.function);
}

/* Whether an operator launches a kernel: of its own, or in an operator within. */
static int is_launched_in(const struct advice_kernels *kernels, size_t kernel, uint32_t op)
{
    uint32_t around = kernel < kernels->count ? kernels->list[kernel].op : NO_OPERATOR;

    while (around != NO_OPERATOR && around != op)
        around = kernels->operators->list[around].parent;
    return around != NO_OPERATOR;
}

/* The outermost operator around a kernel that launches kernels of the chain alone, or NO_OPERATOR: a convolution whose
 * bias the chain adds remains. The kernels of an operator follow each other, so that the two beside the chain say it.
 */
static uint32_t pointwise_operator_of(const struct advice_kernels *kernels, const struct pointwise_chain *chain,
                                      const struct advice_kernel *kernel)
{
    uint32_t found = NO_OPERATOR;

    for (uint32_t op = kernel->op; op != NO_OPERATOR; op = kernels->operators->list[op].parent) {
        if (kernels->operators->list[op].kind != OPERATOR || is_launched_in(kernels, chain->end, op) ||
            (chain->first && is_launched_in(kernels, chain->first - 1, op)))
            break;
        found = op;
    }
    return found;
}

/* One kernel of the fused operator, in place of the longest one, remains. */
static int pointwise_add_chain(struct pointwise_search *search, struct pointwise_chain *chain)
{
    const struct advice_kernels *kernels = search->kernels;
    uint32_t group = pointwise_group_of(search, chain), last = NO_OPERATOR;

    predict(search, chain);
    if (group == NO_KEY)
        return ERR_NO_MEMORY;
    for (size_t i = chain->first; i < chain->end; i++) {
        const struct advice_kernel *kernel = &kernels->list[i];
        struct advice_cause *cause = &search->groups->list[group].cause;
        uint32_t op = pointwise_operator_of(kernels, chain, kernel);
        if (advice_kernel_note(search->groups, group, kernels, kernel) != 0)
            return ERR_NO_MEMORY;
        if (i == chain->longest) {
            if (advice_kernel_take(&cause->bound, kernel, chain->bound_ns) != 0 ||
                advice_kernel_take(&cause->estimate, kernel, chain->estimate_ns) != 0)
                return ERR_NO_MEMORY;
        } else if (advice_kernel_vanish(&cause->bound, kernels, kernel) != 0 ||
                   advice_kernel_vanish(&cause->estimate, kernels, kernel) != 0 ||
                   (op != last && (advice_operator_vanish(&cause->bound, kernels, op) != 0 ||
                                   advice_operator_vanish(&cause->estimate, kernels, op) != 0))) {
            return ERR_NO_MEMORY;
        }
        last = op;
    }
    return 0;
}

static int pointwise_add_kernels(struct advice_groups *groups, struct advice_kernels *kernels)
{
    struct pointwise_search search = { .groups = groups, .kernels = kernels };
    int code = 0;

    search.extents = calloc(kernels->works.keys.count + 1, sizeof *search.extents);
    if (!search.extents)
        return ERR_NO_MEMORY;
    for (size_t first = 0; first < kernels->count && code == 0;) {
        struct pointwise_chain chain = { .first = first, .end = first };
        while (chain.end < kernels->count && pointwise_extend(&search, &chain))
            continue;
        if (chain.large >= SHORTEST_CHAIN && chain.has_others)
            code = pointwise_add_chain(&search, &chain);
        first = chain.end > first ? chain.end : first + 1;
    }
    free(search.extents);
    return code;
}

/* "chains of pointwise kernels: 95 kernels in 1.93 ms" */
static int pointwise_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;

    advice_group_say(groups, group, "chains of pointwise kernels: ", " kernels in ");
    text_add(&cause->rate, "the bytes that remain, at the rate of these kernels");
    cause->confidence = ADVICE_MODELLED;
    cause
        ->advice = adviser_uses_torch(groups->adviser)
                       ? "torch.compile fuses them into one kernel; so does an operator of PyTorch that does the same, "
                         "such as F.gelu()."
                       : "Compute them in one kernel, which reads and writes each element once.";
    return 1;
}

static int find_pointwise_chains(struct adviser *adviser, struct error *err)
{
    return advice_kernels_find(adviser, &(struct advice_kernel_rule){ pointwise_add_kernels, pointwise_describe }, err);
}

const struct analysis rule_pointwise_chains = {
    .name = "pointwise_chains",
    .title = "Chains of Pointwise Kernels",
    .help = "Three or more elementwise kernels on tensors of one size, one behind the other, with reductions between "
            "them. The saving is that of a "
            "replay with one fused kernel in place of each chain. In the bound it reads and writes one tensor, of the "
            "narrowest type, at the peak rate of the memory; in the estimate it reads what probably comes from outside "
            "of the chain, and "
            "moves memory as fast as the kernels of the chain do.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(pointwise_chains,
                .advice = "Fuse pointwise operators: torch.compile, or an operator of PyTorch that does the same.",
                .praise = "There are no chains of pointwise kernels that cost time."),
};
