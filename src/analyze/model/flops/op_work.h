/* Floating-point operations and bytes of an operator, from its name and inputs.
 *
 * A row of a table says how the operators of a name are counted. An operator without
 * a row, or whose shapes do not suffice, is not known, which is not 0. Bytes are those that must cross the memory bus
 * once: each input and output, without repetitions by broadcasting. */
#ifndef TACHO_ANALYZE_MODEL_FLOPS_OP_WORK_H
#define TACHO_ANALYZE_MODEL_FLOPS_OP_WORK_H

#include "op_inputs.h"

enum op_class {
    OP_UNKNOWN,
    OP_MATMUL,
    OP_CONVOLUTION,
    OP_ATTENTION,
    OP_NORM,
    OP_SOFTMAX,
    OP_POOLING,
    OP_EMBEDDING,
    OP_ELEMENTWISE,
    OP_REDUCTION,
    OP_OPTIMIZER,
    OP_COPY,
    OP_COMMUNICATION,
    OP_FUSED, /* a kernel of torch.compile that does several of these */
    OP_CLASSES
};

/* Classes that tensor cores compute, and of which MFU is. */
static inline int op_class_is_matrix(enum op_class class)
{
    return class == OP_MATMUL || class == OP_CONVOLUTION || class == OP_ATTENTION;
}
const char *op_class_name(enum op_class class); /* "matmul" */

#define NOT_KNOWN (-1.0)
struct op_work {
    enum op_class class;
    enum data_type type; /* of the first tensor */
    double flops;        /* or NOT_KNOWN */
    double recomputed;   /* the part of flops that only recomputes results of the forward pass */
    double bytes;        /* or NOT_KNOWN */
    int is_cast;         /* it copies, between floating-point types of different sizes */
};

/* name is with its namespace: "aten::mm". */
struct op_work op_work_of(const char *name, const struct op_texts *texts);

/* ---- for the files of this folder ------------------------------------------------------------------------------- */

struct op_rule {
    const char *name;
    enum op_class class;
    /* Sets flops, recomputed and bytes, which are NOT_KNOWN, 0 and NOT_KNOWN before. */
    void (*count)(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule);
    signed char at[6]; /* places of inputs, or numbers; each function says which */
};

/* Tables that end with a row without a name. */
extern const struct op_rule matrix_rules[], tensor_rules[];

/* The rule of a name without its "_" for an operation in place, or NULL. */
const struct op_rule *op_rule_find(const char *name, size_t length);

/* Whether the tensor at this place was recorded; its size in bytes, or NOT_KNOWN. */
const struct op_input *op_tensor(const struct op_inputs *inputs, int place);
double op_tensor_bytes(const struct op_input *input);

/* The work of a kernel of torch.compile: "triton_poi_fused_add_relu_0". */
void fused_work(struct op_work *work, const struct op_inputs *inputs, const char *name);

#endif
