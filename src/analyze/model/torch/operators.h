/* The operators of PyTorch, whether its own profiler recorded them (tables TACHO_TORCH_…) or they are NVTX ranges of
 * torch.autograd.profiler.emit_nvtx. Callers do not see the difference. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_OPERATORS_H
#define TACHO_ANALYZE_MODEL_TORCH_OPERATORS_H

#include "analyze/engine/analysis.h"
#include "base/intern.h"
#include "base/saturating.h"

enum operator_kind {
    OPERATOR,
    OPERATOR_ANNOTATION, /* record_function(), ProfilerStep, a range of the user's */
    OPERATOR_CALL,       /* of the CUDA API */
    OPERATOR_MEMORY,     /* memory allocated or freed outside of all the above */
    OPERATOR_PYTHON,     /* a Python function, only from operators_add_python() and operators_read_listed() */
    OPERATOR_GPU,        /* a kernel, copy or fill */
    OPERATOR_GPU_ANNOTATION,
};
static inline int operator_is_cpu(enum operator_kind kind)
{
    return kind < OPERATOR_GPU;
}

enum { NO_OPERATOR = UINT32_MAX, NO_TEXT = UINT32_MAX };

struct operators_event {
    int64_t start_ns, end_ns, thread;
    double kernels_us;                       /* work on GPUs that it launched itself; calls have it only until
                                              * operators_nest() */
    int64_t bytes[2];                        /* memory allocated less freed while it ran: on the CPU, on devices */
    int64_t sequence;                        /* -1: none */
    uint32_t name, stack;                    /* numbers in texts, or NO_TEXT */
    uint32_t shapes, types, strides, values; /* of its inputs, as JSON: the same */
    uint32_t parent;                         /* after operators_nest(): an index in the list, or NO_OPERATOR */
    uint32_t launcher; /* of work on a GPU: the operator or call that launched it, or NO_OPERATOR */
    uint32_t children; /* their number */
    unsigned char kind, is_backward, is_collapsed;
};

struct operators {
    struct operators_event *list; /* owned; after operators_nest() by start, the longer first */
    size_t count, capacity;
    struct intern texts;
    int64_t start_ns;             /* of the capture; torch's times are relative to it */
    int has_memory, has_flops;    /* the capture recorded memory; it counted FLOPs */
};

/* Reads the operators in the request's part of the report; ERR_NO_DATA, with a sentence, if there are none. */
int operators_read(struct operators *operators, struct report *report, const struct analysis_request *request,
                   struct error *err);
/* Does the same, and adds the Python functions if the torch that made the trace has them in its list: an operator's own
 * time then excludes them. */
int operators_read_listed(struct operators *operators, struct report *report, const struct analysis_request *request,
                          struct error *err);
void operators_free(struct operators *operators);

/* Adds the Python functions of the report, so that they are parents too. */
int operators_add_python(struct operators *operators, struct report *report, struct error *err);

/* Sorts the operators and finds each one's parent in its thread, as torch does: an operator that is the only child of
 * one with the same name is merged with it (is_collapsed: reports leave it out). */
int operators_nest(struct operators *operators);

/* After operators_nest(): finds for each moment the innermost operator that ran in its thread on the CPU, or
 * NO_OPERATOR. CUDA calls are ignored. Moments may come in any order. */
struct operators_moment {
    int64_t thread, time_ns;
};
int operators_at(const struct operators *operators, const struct operators_moment *moments, size_t count,
                 uint32_t *out);

static inline struct intern_string operators_text(const struct operators *operators, uint32_t text)
{
    return text == NO_TEXT ? (struct intern_string){ "", 0 } : operators->texts.strings[text];
}

/* The text in a cell; NO_TEXT leaves it empty. */
static inline int operators_cell(struct table *table, struct table_cell *cell, const struct operators *operators,
                                 uint32_t text)
{
    struct intern_string string = operators_text(operators, text);

    return text == NO_TEXT ? 0 : cell_set_text(table, cell, string.bytes, string.length);
}

/* As in torch: a difference of two doubles, with the same rounding. */
static inline double operators_us(const struct operators *operators, int64_t start_ns, int64_t end_ns)
{
    return (double)saturating_duration(operators->start_ns, end_ns) / 1000 -
           (double)saturating_duration(operators->start_ns, start_ns) / 1000;
}

/* For the two readers: a new operator, or NULL when memory is short; the number of a text. */
struct operators_event *operators_add(struct operators *operators);
uint32_t operators_intern(struct operators *operators, const char *bytes, size_t length);
/* The name under which torch shows an event: all steps have the same, and some events are never shown (0). */
int operators_name(struct operators *operators, const char *bytes, size_t length, uint32_t *out);

struct filter;
int operators_read_torch(struct operators *operators, struct report *report, const struct filter *filter,
                         int with_python, struct error *err);
int operators_read_nvtx(struct operators *operators, struct report *report, const struct filter *filter,
                        struct error *err);

/* Set out to torch's name of a copy or fill on a GPU. */
struct text;
void operators_copy_name(struct text *out, int64_t copy_kind, int64_t from_kind, int64_t to_kind);
void operators_fill_name(struct text *out, int64_t memory_kind);

#endif
