/* Attention that is written out: a product, a softmax and another product, with all scores in memory. */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_ATTENTIONS_H
#define TACHO_ANALYZE_ADVICE_ADVICE_ATTENTIONS_H

#include "advice_kernels.h"

struct attention {
    double flops, bytes; /* of the forward pass; 0: not known */
    enum gpu_rate rate;  /* that a fused kernel computes at */
    int is_upcast;       /* tensors of 16 bits are cast to fp32 for it: a fused kernel takes them as they are */
};

/* Starts from {0}. */
struct attentions {
    struct attention *list; /* owned, as all below */
    size_t count, room;
    uint32_t *of_op;        /* by operator: its attention plus 1, or 0 */
    uint32_t *of_kernel;    /* the same by kernel */
};

/* ERR_NO_MEMORY or 0; needs attentions_free() after an error too. */
int attentions_find(struct attentions *out, struct advice_kernels *kernels);
void attentions_free(struct attentions *attentions);

/* The attention that a kernel belongs to, or NULL. */
static inline const struct attention *attention_of(const struct attentions *attentions, size_t kernel)
{
    return attentions->of_kernel[kernel] ? &attentions->list[attentions->of_kernel[kernel] - 1] : NULL;
}

#endif
