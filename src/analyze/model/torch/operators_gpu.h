/* Adds CUDA calls and work on GPUs to the operators, as torch counts them. Both readers of operators use it. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_OPERATORS_GPU_H
#define TACHO_ANALYZE_MODEL_TORCH_OPERATORS_GPU_H

#include "analyze/engine/keys.h"
#include "analyze/model/calls.h"
#include "analyze/model/filter.h"
#include "operators.h"

/* Maps strings of the report to numbers of the operators' texts; each string is processed once. */
struct operators_pool {
    struct operators *operators;
    struct report *report;
    const struct filter *filter;       /* for calls and work */
    struct keys ids;                   /* string ids */
    uint32_t *numbers;                 /* owned; by key */
    size_t capacity;
};
enum { HIDDEN_TEXT = UINT32_MAX - 1 }; /* a name that torch does not show */

/* The number of a text as it is, as the name of an event, or as the name of a call; NO_TEXT when memory is short. An id
 * keeps the number of its first use, so texts and names need a pool each. */
enum operators_pool_kind { TEXT_PLAIN, TEXT_NAME, TEXT_CALL };
uint32_t operators_pool_text(struct operators_pool *texts, int64_t id, enum operators_pool_kind kind);
void operators_pool_free(struct operators_pool *texts);

/* The number of bytes of a call's name that torch shows: without its version, "_v7000". */
size_t call_length_in_torch(const char *name, size_t length);

/* The operator or call that launched work: an index into the list, or NO_OPERATOR. */
typedef uint32_t operators_owner(void *context, int64_t process, int64_t correlation);

/* Adds the calls that pass the filter; places[i] is the index of call i in the list, or NO_OPERATOR. Here and below no
 * name is hidden, so the pool must not be that of the operators' names. */
int operators_add_calls(struct operators_pool *names, const struct calls *calls, uint32_t *places);
/* Adds the work on GPUs that passes the filter, and its time to the operator or call that owner() returns. */
int operators_add_work(struct operators_pool *names, operators_owner *owner, void *context, struct error *err);
/* Does both for reports that do not record the operator of a call: its work belongs to the innermost operator around
 * it in its thread. */
int operators_add_cuda(struct operators *operators, struct report *report, const struct filter *filter,
                       struct error *err);

#endif
