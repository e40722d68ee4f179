/* The inputs of an operator, read from the texts that torch's profiler records: shapes, types, strides and values. */
#ifndef TACHO_ANALYZE_MODEL_FLOPS_OP_INPUTS_H
#define TACHO_ANALYZE_MODEL_FLOPS_OP_INPUTS_H

#include "base/intern.h"

enum data_type {
    DATA_UNKNOWN,
    DATA_FP64,
    DATA_FP32,
    DATA_FP16,
    DATA_BF16,
    DATA_FP8,
    DATA_FP4,
    DATA_INT8,
    DATA_INT, /* of 2 to 8 bytes, and bool */
    DATA_COMPLEX,
};

enum { OP_MOST_DIMS = 8, OP_MOST_INPUTS = 32 };

struct op_input {
    int64_t dims[OP_MOST_DIMS]; /* of a list of tensors: of the first */
    size_t rank;
    size_t tensors;             /* 0: it is no tensor, else 1 or the length of the list */
    int is_list;
    double elements;            /* of all tensors */
    double stored;              /* the same without repetitions: dimensions with stride 0 count once */
    enum data_type type;
    int bytes;                  /* of an element; 0: not known, as in lists of tensors */
    struct intern_string value; /* of an input that is no tensor: "1", "[2, 2]", "True" */
};

struct op_inputs {
    struct op_input list[OP_MOST_INPUTS];
    size_t count;
    int is_cut; /* there were more */
};

/* The texts are JSON; those that were not recorded are empty. Any text is read without complaint: what cannot be read
 * is left out. */
struct op_texts {
    struct intern_string shapes, types, strides, values;
};
void op_inputs_read(struct op_inputs *out, const struct op_texts *texts);

/* The numbers of a value, "[1, -2]" or "3", at most `most` of them; true is 1, false and words are 0. */
size_t op_value_numbers(const struct op_input *input, int64_t *out, size_t most);

#endif
