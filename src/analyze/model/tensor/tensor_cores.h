/* Whether a kernel uses tensor cores. A name tells it where it states the instruction ("s16816", "ffma") or belongs to
 * a family whose source is known; the rows of tensor_names.def are those statements. A name that no row knows is
 * unknown, never "no". */
#ifndef TACHO_ANALYZE_MODEL_TENSOR_TENSOR_CORES_H
#define TACHO_ANALYZE_MODEL_TENSOR_TENSOR_CORES_H

enum tensor_use { TENSOR_UNKNOWN, TENSOR_NO, TENSOR_YES };

struct tensor_cores {
    enum tensor_use use;
    int is_matrix;    /* a product of matrices: GEMM, convolution, attention; else tensor cores cannot help */
    const char *type; /* of the operands of a product, "bf16"; NULL: not known */
};

/* By a name, mangled or demangled, short or long; NULL is unknown. */
struct tensor_cores tensor_cores_by_name(const char *name);

#endif
