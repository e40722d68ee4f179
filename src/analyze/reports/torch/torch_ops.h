/* torch's key_averages(): operators, calls and work on GPUs by name, and by shapes or stack if requested. */
#ifndef TACHO_ANALYZE_REPORTS_TORCH_OPS_H
#define TACHO_ANALYZE_REPORTS_TORCH_OPS_H

#include "analyze/engine/table.h"
#include "analyze/model/torch/operators.h"

struct torch_ops_request {
    int by_shapes;
    int stack_frames;    /* number of stack frames in the key; 0: none */
    int with_flops;      /* count FLOPs even if the capture did not */
    const char *sort_by; /* one of torch_ops_orders(); NULL: by self time on the GPU, or on the CPU if none has any */
};

/* The columns, by the names that they have in json; times in microseconds. */
enum {
    TORCH_KEY,
    TORCH_COUNT,
    TORCH_CPU_TOTAL,
    TORCH_SELF_CPU,
    TORCH_DEVICE_TOTAL,
    TORCH_SELF_DEVICE,
    TORCH_CPU_BYTES,
    TORCH_SELF_CPU_BYTES,
    TORCH_DEVICE_BYTES,
    TORCH_SELF_DEVICE_BYTES,
    TORCH_FLOPS,
    TORCH_SHAPES,
    TORCH_STACK,
    TORCH_ON_DEVICE,
    TORCH_IS_ANNOTATION,
    TORCH_IS_TOP_LEVEL,
    TORCH_COLUMNS
};

struct torch_ops {
    struct table *table;        /* owned: table_delete() */
    int has_memory, has_flops;
    int has_shapes, has_stacks; /* whether any operator has them */
};

/* The values of --sort-by: those of torch, the same with "cuda" and "xpu" for "device", and "none": in order of time,
 * torch's default. NULL-terminated. */
const char *const *torch_ops_orders(void);

/* `part` selects a part of the report; its options are ignored. */
int torch_ops(struct torch_ops *out, struct report *report, const struct analysis_request *part,
              const struct torch_ops_request *request, struct error *err);

/* Sums over all rows; shares are of these. */
struct torch_ops_sums {
    double self_cpu_us, self_device_us; /* device: without annotations, which span work that counts itself */
    int has_device_time, has_device_memory;
};
struct torch_ops_sums torch_ops_sums(const struct torch_ops *ops);

/* The rows as a table with shares and units, as torch_op_sum has it. with_keys: also with columns for shapes and
 * stacks. is_wanted (NULL: all) gets a row of ops. NULL if memory is short. */
struct table *torch_ops_summary(const struct torch_ops *ops, int with_keys,
                                int (*is_wanted)(const struct table_cell *row));

/* Floating-point operations of an operator, as torch counts them; 0 for those that it does not count.
 * shapes and values are JSON. */
int64_t torch_flops(const char *name, struct intern_string shapes, struct intern_string values);

#endif
