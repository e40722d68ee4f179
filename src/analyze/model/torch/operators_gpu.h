/* CUDA calls and work on GPUs as torch counts them: what both ways of reading operators add in the same way. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_OPERATORS_GPU_H
#define TACHO_ANALYZE_MODEL_TORCH_OPERATORS_GPU_H

#include "analyze/engine/keys.h"
#include "analyze/model/calls.h"
#include "analyze/model/filter.h"
#include "operators.h"

/* Texts of the report as numbers of the operators' texts, each looked at once. */
struct pool_texts {
    struct operators *operators;
    struct report *report;
    const struct filter *filter;       /* what of calls and work counts */
    struct keys ids;                   /* string ids */
    uint32_t *numbers;                 /* owned; by key */
    size_t capacity;
};
enum { HIDDEN_TEXT = UINT32_MAX - 1 }; /* a name that torch does not show */

/* A text as it is, as the name of an event, or as that of a call; NO_TEXT when memory is short. What an id became at
 * first it stays: texts and names want a pool_texts each. */
enum pool_text_kind { TEXT_PLAIN, TEXT_NAME, TEXT_CALL };
uint32_t pool_text(struct pool_texts *texts, int64_t id, enum pool_text_kind kind);
void pool_texts_free(struct pool_texts *texts);

/* How many bytes of a call's name torch shows: without its version, "_v7000". */
size_t call_length_in_torch(const char *name, size_t length);

/* Whom the work belongs to: an index into the list, or NO_OPERATOR. */
typedef uint32_t operator_of(void *context, int64_t process, int64_t correlation);

/* Adds the calls that count and says where each one is in the list: NO_OPERATOR for the others. Here and below names
 * are shown whatever they are, so the pool_texts must not be that of the operators' names. */
int operators_add_calls(struct pool_texts *names, const struct calls *calls, uint32_t *places);
/* Adds the work on GPUs that counts, and its time to the one that owner finds. */
int operators_add_work(struct pool_texts *names, operator_of *owner, void *context, struct error *err);
/* Both, where nothing says which operator a call was made for: what it launched belongs to the innermost one
 * around it, in its thread. */
int operators_add_cuda(struct operators *operators, struct report *report, const struct filter *filter,
                       struct error *err);

#endif
