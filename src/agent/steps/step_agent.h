/* Steps of the program. Captures with --advise time all of them and record some; others record all but those of a few
 * probes, which are only timed (WIRE_FLAG_STEP_PROBES).
 *
 * Other sources report events that may mark steps: ranges and annotations by their names, calls of outermost modules.
 * The best mark that comes again counts. At each step the schedule says what is recorded from there on. */
#ifndef TACHO_AGENT_STEPS_STEP_AGENT_H
#define TACHO_AGENT_STEPS_STEP_AGENT_H

#include "agent/core/agent.h"

/* Events that may mark steps, the better ones last. */
enum step_mark {
    STEP_MARK_NONE,
    STEP_MARK_MODULE,    /* a call of an outermost module begins a step */
    STEP_MARK_LOADER,    /* the next batch of a DataLoader begins a step */
    STEP_MARK_OPTIMIZER, /* the end of Optimizer.step() begins a step */
    STEP_MARK_NAMED,     /* a range or annotation with a name such as "step 7" is a step */
    STEP_MARK_PROFILER,  /* ProfilerStep#7 is a step */
};

/* True if this capture times steps. */
static inline int steps_are_timed(void)
{
    return unlikely((agent.sources & WIRE_BIT(STEPS)) != 0);
}

/* True if it was asked to (--advise): then NVTX ranges and calls of modules mark steps, too. */
int steps_are_advised(void);

/* The mark that a range or annotation of this name is. */
enum step_mark step_mark_of(const char *name, size_t length);

/* The calling thread is at the begin or the end of an event that may mark steps. May switch what is recorded: at the
 * begin, call it before the event itself is recorded, at the end after that. Keeps errno. */
void step_mark_begin(enum step_mark mark, const char *name, size_t length);
void step_mark_end(enum step_mark mark, const char *name, size_t length);

/* The sources that --cost-limit switches off for whole steps, and which of them are off now; operators also in steps
 * that the schedule lowers. Without steps, which a program may not mark, they are off as soon as the collector says so.
 * Call it only while attached. */
#define STEP_LEFT_OUT (WIRE_BIT(TORCH) | WIRE_BIT(CUDA))
uint32_t steps_left_out(void);

/* True if shapes, stacks and modules are recorded now. */
int step_has_details(void);

/* True in a forked child that has no steps of its own, with --advise: a worker of a DataLoader. */
int step_is_in_worker(void);

/* True if the calls of modules mark the steps, or may come to do so. */
int step_needs_modules(void);

/* Tells the step that runs now from the one before it, with STEP_TAG_DETAILED if it has details; below 128. 0: there is
 * no step. */
#define STEP_TAG_DETAILED 1u
uint32_t step_tag(void);

#endif
