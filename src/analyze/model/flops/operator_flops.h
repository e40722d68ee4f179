/* FLOPs and bytes of the operators of a report, each counted once however many operators surround it.
 *
 * An operator counts if its class is known and it launched work on a GPU itself; in a report without GPU work, if no
 * operator within it does. Of two nested operators that tensor cores compute the inner one counts. */
#ifndef TACHO_ANALYZE_MODEL_FLOPS_OPERATOR_FLOPS_H
#define TACHO_ANALYZE_MODEL_FLOPS_OPERATOR_FLOPS_H

#include "gpu_peaks.h"
#include "op_works.h"

enum { FLOPS_NO_WORK = UINT32_MAX };

struct operator_flops {
    int64_t gpu_ns;                  /* of the work on GPUs that it launched itself */
    uint32_t work;                   /* an index into works.list, or FLOPS_NO_WORK: it does not count */
    unsigned char uses_tensor_cores; /* a kernel of it does */
    unsigned char is_recomputed;     /* it runs in the backward pass, but computes what the forward pass did */
};

struct flops {
    struct operators operators;
    struct operator_flops *list; /* owned; by operator */
    struct op_works works;
    int64_t gpu_ns, known_ns;    /* time of kernels on GPUs; of operators whose FLOPs are known */
    int has_gpu_work;
};

/* ERR_NO_DATA, with a sentence, if there are no operators, or their shapes were not recorded. */
int flops_of_operators(struct flops *flops, struct report *report, const struct analysis_request *request,
                       struct error *err);
void flops_free(struct flops *flops);

/* Whether the shapes of operators were recorded; asks the report without reading its operators. */
int flops_has_shapes(struct report *report, int *out, struct error *err);
#define FLOPS_NO_SHAPES                                                                                                \
    "the report has no shapes of operators: record them with tacho profile --pytorch-shapes=true, or "                 \
    "torch.profiler's record_shapes=True"

/* The rate that bounds an operator of this type; GPU_RATES if it is not known. */
enum gpu_rate flops_rate(const struct op_work *work, int uses_tensor_cores, const struct gpu_peaks *peaks);

#endif
