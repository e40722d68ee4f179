/* The thread that samples Python stacks. Everything of it is behind one lock, which a round
 * holds: see python_sampler.c. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SAMPLER_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SAMPLER_H

#include <stdint.h>
#include <sys/types.h>

#include "python_names.h"
#include "python_target.h"

struct python_sampler;

/* NULL and errno when no thread could be had. */
struct python_sampler *python_sampler_start(unsigned frequency);

/* Ends the thread and frees everything; *cpu_ns: the CPU time that it took. */
void python_sampler_stop(struct python_sampler *sampler, int64_t *cpu_ns);

void python_sampler_switch(struct python_sampler *sampler, int on);
/* A process to be looked at from now on; one that is already is left alone. */
void python_sampler_add(struct python_sampler *sampler, struct process *process, pid_t pid);

/* What became of a process that is sampled no more; 0 if it was not. */
struct python_outcome {
    struct python_target_counts counts;
    int is_python;
    const char *refusal; /* NULL: none */
};
int python_sampler_remove(struct python_sampler *sampler, const struct process *process,
                          struct python_outcome *outcome);

/* Exchanges the batch that was filled for an empty one; *late: samples that would have been taken at times at which the
 * sampler was kept from running, or was behind, since the last time. */
void python_sampler_take(struct python_sampler *sampler, struct python_batch *batch, uint64_t *late);

#endif
