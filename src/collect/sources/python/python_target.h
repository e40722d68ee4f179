/* One process whose Python stacks are sampled: finds its interpreter, then reads all its threads in each round. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_TARGET_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_TARGET_H

#include <stdint.h>

#include "python_names.h"
#include "python_snapshot.h"

struct python_others;
struct python_target;
struct process;

struct python_target_counts {
    uint64_t samples;
    uint64_t torn; /* stacks that changed while they were read, in every attempt */
    uint64_t cut;  /* samples with more frames than are kept */
};

/* process: the caller's; it is only passed on to samples. is_automatic: the user did not ask for Python, so a program
 * that is not named like it is searched rarely. others: the caller's, of all its targets (python_find.h). NULL if out
 * of memory. */
struct python_target *python_target_new(struct process *process, pid_t pid, int is_automatic,
                                        struct python_others *others);
void python_target_free(struct python_target *target);

/* Samples the process now, into names->batch. */
void python_target_round(struct python_target *target, struct python_names *names, int64_t now_ns);

/* The time from which python_target_round() has work; INT64_MAX: never. */
int64_t python_target_due(const struct python_target *target);

struct process *python_target_process(const struct python_target *target);
const struct python_target_counts *python_target_counts(const struct python_target *target);
int python_target_is_python(const struct python_target *target);     /* 1: its interpreter is being read */

int python_target_saw_collector(const struct python_target *target); /* 1: its collections are in the batches */

/* Why it is not sampled, as the end of a sentence; NULL: it is, or may be later. */
const char *python_target_refusal(const struct python_target *target);

#endif
