/* Finds attention that is written out: see advice_attentions.h. */
#include "advice_attentions.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/flops/operator_flops.h"
#include "base/array.h"

enum { MOST_BETWEEN = 8 }; /* kernels between a product and the softmax: scale, mask, dropout, casts */

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

/* ---- casts ----------------------------------------------------------------------------------------------------- */

/* Where an attention begins and ends: its products, and what belongs to them. */
struct attention_span {
    size_t first, softmax, last; /* kernels */
    size_t begin, end;           /* with casts before the first product, and copies after the last */
};

/* Without types a cast is known by the operator that the program called. */
static int is_cast(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    const struct op_work *work = advice_kernel_work(kernels, kernel);

    if (kernel->class != OP_COPY || kernel->is_backward)
        return 0;
    return work && work->type ? work->is_cast
                              : strcmp(advice_operator_name(kernels, kernel->source).bytes, "aten::to") == 0;
}

/* Whether there is a cast in a part of the kernels. */
static int has_cast(const struct advice_kernels *kernels, size_t from, size_t to)
{
    while (from < to && !is_cast(kernels, &kernels->list[from]))
        from++;
    return from < to;
}

/* The first of the copies before a product that begins with a cast: operands of a product are often copied for it. */
static size_t casts_before(const struct advice_kernels *kernels, size_t product)
{
    size_t begin = product;

    for (size_t at = product; at > 0 && product - at < MOST_BETWEEN; at--) {
        const struct advice_kernel *kernel = &kernels->list[at - 1];
        if (kernel->class != OP_COPY || kernel->is_backward ||
            !advice_kernel_follows(kernels, kernel, &kernels->list[product]))
            break;
        begin = is_cast(kernels, kernel) ? at - 1 : begin;
    }
    return begin;
}

/* The end of the copies after a product: a cast back, and heads side by side again, as a fused kernel returns them. */
static size_t copies_after(const struct advice_kernels *kernels, size_t product)
{
    size_t end = product + 1;
    int was_cast = 1;

    while (end < kernels->count && was_cast) {
        const struct advice_kernel *kernel = &kernels->list[end];
        if (kernel->class != OP_COPY || kernel->is_backward || kernel->source == NO_OPERATOR ||
            !advice_kernel_follows(kernels, &kernels->list[product], kernel))
            break;
        was_cast = is_cast(kernels, kernel);
        end++;
    }
    return end;
}

static int is_in_fp32(const struct advice_kernels *kernels, const struct advice_kernel *product)
{
    const struct tensor_cores *cores = &kernels->named[product->name].cores;

    return cores->type ? strcmp(cores->type, "fp32") == 0 : advice_kernel_type(kernels, product) == DATA_FP32;
}

/* Whether q, k and v are cast for products of fp32. A cast before the first product alone may be that of a mask. */
static int is_upcast(const struct advice_kernels *kernels, const struct attention_span *span)
{
    return kernels->peaks.rate[RATE_FP16] > 0 && is_in_fp32(kernels, &kernels->list[span->first]) &&
           is_in_fp32(kernels, &kernels->list[span->last]) && span->begin < span->first &&
           has_cast(kernels, span->softmax + 1, span->end);
}

/* ---- attention ------------------------------------------------------------------------------------------------- */

/* Marks the operators from the first product to the second, and those of the copies around them. */
static void mark_operators(struct attentions *attentions, const struct advice_kernels *kernels,
                           const struct attention_span *span)
{
    const struct operators_event *list = kernels->operators->list;
    uint32_t from = kernels->list[span->begin].source, to = kernels->list[span->end - 1].source;

    if (from == NO_OPERATOR || to == NO_OPERATOR || kernels->list[span->last].source == NO_OPERATOR)
        return;
    for (uint32_t op = from; op <= to; op++)
        if (list[op].thread == list[from].thread)
            attentions->of_op[op] = (uint32_t)attentions->count;
}

/* Whether the softmax lies over the result of the first product, and is an operand of the second. Without shapes the
 * order of the kernels must do. */
static int add_attention(struct attentions *attentions, struct advice_kernels *kernels, struct attention_span span)
{
    const struct advice_kernel *first = &kernels->list[span.first];
    struct advice_product a = advice_product_of(kernels, first),
                          b = advice_product_of(kernels, &kernels->list[span.last]);
    struct attention attention = { .rate = GPU_RATES };

    if (advice_kernel_type(kernels, first) == DATA_FP64) /* no fused kernel takes it */
        return 0;
    span.begin = casts_before(kernels, span.first);
    span.end = copies_after(kernels, span.last);
    attention.is_upcast = is_upcast(kernels, &span);
    if (!attention.is_upcast)
        span.begin = span.first;
    if (a.bytes && b.bytes) {
        if (a.rows != b.rows || a.columns != b.depth || a.batch != b.batch)
            return 0;
        attention.flops = 2 * a.batch * a.rows * a.columns * (a.depth + b.columns);
        attention.bytes = a.batch * (a.rows + a.columns) * (a.depth + b.columns) * a.bytes;
        attention.bytes /= attention.is_upcast ? 2 : 1;
        attention.rate = attention.is_upcast
                             ? RATE_FP16
                             : flops_rate(advice_kernel_work(kernels, first),
                                          kernels->named[first->name].cores.use == TENSOR_YES, &kernels->peaks);
    }
    if (ARRAY_PUSH(attentions->list, attentions->room, attentions->count, attention) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = span.begin; i <= span.last; i++)
        attentions->of_kernel[i] = (uint32_t)attentions->count;
    mark_operators(attentions, kernels, &span);
    return 0;
}

int attentions_find(struct attentions *out, struct advice_kernels *kernels)
{
    out->of_op = calloc(kernels->operators->count + 1, sizeof *out->of_op);
    out->of_kernel = calloc(kernels->count + 1, sizeof *out->of_kernel);
    if (!out->of_op || !out->of_kernel)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < kernels->count; i++) {
        const struct advice_kernel *kernel = &kernels->list[i];
        if (kernel->class != OP_SOFTMAX || kernel->is_backward)
            continue;
        struct attention_span span = { .first = product_near(kernels, i, -1),
                                       .softmax = i,
                                       .last = product_near(kernels, i, 1) };
        if (span.first < i && span.last > i && !kernels->list[span.first].is_backward &&
            !kernels->list[span.last].is_backward && add_attention(out, kernels, span) != 0)
            return ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->list[i].source != NO_OPERATOR && !out->of_kernel[i])
            out->of_kernel[i] = out->of_op[kernels->list[i].source];
    return 0;
}

void attentions_free(struct attentions *attentions)
{
    free(attentions->list);
    free(attentions->of_op);
    free(attentions->of_kernel);
}
