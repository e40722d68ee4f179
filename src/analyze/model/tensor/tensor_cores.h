/* Whether a kernel uses tensor cores. Its machine code shows it in captures that saw the code being loaded
 * (TACHO_KERNEL_CODE), so that Triton's and hand-written kernels count. Else its name shows it where it states the
 * instruction ("s16816", "ffma") or belongs to a family whose source is known; the rows of tensor_names.def are those
 * statements. A name that no row knows is unknown, never "no". */
#ifndef TACHO_ANALYZE_MODEL_TENSOR_TENSOR_CORES_H
#define TACHO_ANALYZE_MODEL_TENSOR_TENSOR_CORES_H

#include "analyze/engine/analysis.h"
#include "analyze/engine/keys.h"
#include "analyze/model/gpu.h"

enum tensor_use { TENSOR_UNKNOWN, TENSOR_NO, TENSOR_YES, TENSOR_USES };
extern const char *const tensor_use_names[TENSOR_USES]; /* "unknown", "no", "yes" */

struct tensor_cores {
    enum tensor_use use;
    int is_matrix;    /* a product of matrices: GEMM, convolution, attention; else tensor cores cannot help */
    int by_code;      /* from the machine code, not from the name */
    const char *type; /* of the operands of a product, "bf16"; NULL: not known. A string of the program or the report */
};

/* By a name, mangled or demangled, short or long; NULL is unknown. */
struct tensor_cores tensor_cores_by_name(const char *name);

/* The kernels of a report. */
struct tensor_kernels {
    struct report *report;
    struct keys codes, names;            /* of mangled names; of mangled and demangled names */
    struct tensor_cores *by_code, *list; /* owned; by key */
    size_t code_room, room;
};

/* Reads the machine code. Needs tensor_kernels_free() after an error, too. */
int tensor_kernels_read(struct tensor_kernels *kernels, struct report *report, struct error *err);
void tensor_kernels_free(struct tensor_kernels *kernels);

/* By the names of a kernel, as string ids; -1: it has none. Each combination is looked up once. */
struct tensor_cores tensor_cores_of_kernel(struct tensor_kernels *kernels, int64_t mangled, int64_t demangled);

/* The same of a row of kernels that gpu_read() has read with these columns in front of others. */
enum { TENSOR_MANGLED, TENSOR_DEMANGLED };
extern const char *const tensor_kernel_columns[];
struct tensor_cores tensor_cores_of_row(struct tensor_kernels *kernels, const struct gpu_ops *ops, size_t row);

/* Time of kernels by their use of tensor cores, in the request's part of the report. */
struct tensor_time {
    int64_t ns[TENSOR_USES];
    int64_t kernel_ns; /* the sum */
};
int tensor_time_read(struct tensor_time *time, struct report *report, const struct analysis_request *request,
                     struct error *err);

#endif
