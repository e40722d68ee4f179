/* The thread that samples Python stacks. One lock guards all of its state, and a round holds it: see
 * python_sampler.c. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SAMPLER_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SAMPLER_H

#include <stdint.h>
#include <sys/types.h>

#include "python_names.h"
#include "python_target.h"

struct python_sampler;

/* is_automatic: as in python_target_new(). NULL and errno if no thread could be created. */
struct python_sampler *python_sampler_start(unsigned frequency, int is_automatic);

/* Ends the thread and frees everything; *cpu_ns: its CPU time. */
void python_sampler_stop(struct python_sampler *sampler, int64_t *cpu_ns);

void python_sampler_switch(struct python_sampler *sampler, int on);
/* Adds a process to sample; ignored if it is one already. */
void python_sampler_add(struct python_sampler *sampler, struct process *process, pid_t pid);

/* Removes a process and returns the result of sampling it; 0 if it was not sampled. */
struct python_outcome {
    struct python_target_counts counts;
    int is_python, saw_collector; /* its collections are in the batches */
    const char *refusal;          /* NULL: none */
};
int python_sampler_remove(struct python_sampler *sampler, const struct process *process,
                          struct python_outcome *outcome);

/* Exchanges the filled batch for an empty one. *late: samples since the last call that were skipped because the
 * sampler could not run, or was behind. */
void python_sampler_take(struct python_sampler *sampler, struct python_batch *batch, uint64_t *late);

#endif
