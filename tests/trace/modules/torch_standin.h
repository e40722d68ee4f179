/* What programs under test call in the stand-ins of PyTorch's libraries. */
#ifndef TACHO_TESTS_TORCH_STANDIN_H
#define TACHO_TESTS_TORCH_STANDIN_H

#include <stddef.h>
#include <stdint.h>

struct standin_operator {
    const char *name;
    int scope;
    long sequence;
    uint64_t forward_thread;
    const void *inputs;
    uint64_t input_count;
};

typedef void *standin_begin_function(const struct standin_operator *op);
typedef void standin_end_function(void *function);
typedef uint64_t standin_observe_function(void *start, void *end);
standin_begin_function standin_begin;
standin_end_function standin_end;
standin_observe_function standin_observe; /* an observer of the program's own */
extern _Atomic uint64_t standin_contexts_deleted;
extern _Atomic uint64_t standin_observed; /* calls of observers at the begin of operators */
/* the program's, if it has one: called when an observer is about to be added */
void standin_is_observed(void) __attribute__((weak));

/* In libc10: an allocator that reports as torch's do. */
typedef void *standin_allocate_function(int64_t bytes);
typedef void standin_free_function(void *memory, int64_t bytes);
standin_allocate_function standin_allocate;
standin_free_function standin_free;
typedef void *standin_source_function(size_t bytes);
extern standin_source_function *standin_source; /* where the allocator gets memory, under its lock */
extern uint64_t standin_reports;                /* that reached the real functions */

#endif
