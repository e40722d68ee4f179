/* Launches joined with their kernels: cuda_kern_exec_trace lists them, cuda_kern_exec_sum summarizes them. */
#ifndef TACHO_ANALYZE_MODEL_EXECUTIONS_H
#define TACHO_ANALYZE_MODEL_EXECUTIONS_H

#include "launches.h"

/* Extra columns of kernels, in this order. */
enum { EXEC_NAME, EXEC_FULL_NAME, EXEC_GRID, EXEC_BLOCK = EXEC_GRID + 3 };

/* A call and a kernel that it launched. A kernel with two calls of its id has two of these, as in nsys. */
struct execution {
    uint32_t call, kernel;
};

struct executions {
    struct report *report;
    struct gpu_ops kernels;
    struct calls calls;
    struct launch_ranges ranges; /* empty without nvtx-name */
    struct execution *list;      /* owned; in the order of the kernels' rows */
    size_t count;
};

/* Reads the executions that the request leaves in. with_dimensions: the columns from EXEC_GRID on are read too. Needs
 * executions_free() after an error too. */
int executions_read(struct executions *executions, struct report *report, const struct analysis_request *request,
                    int with_dimensions, struct error *err);
void executions_free(struct executions *executions);

int64_t execution_kernel_name(const struct executions *executions, const struct execution *execution); /* a string id */
/* a label, or NO_KEY */
uint32_t execution_range(const struct executions *executions, const struct execution *execution);

/* From the call's start to the end of both. */
int64_t execution_total_ns(const struct executions *executions, const struct execution *execution);
/* From the call's end to the kernel's start; 0 or less when it did not wait. */
int64_t execution_queue_ns(const struct executions *executions, const struct execution *execution);

#endif
