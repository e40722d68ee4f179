/* What the files of the source SAMPLES share. It samples CPU time with a timer for each thread, where the kernel
 * refuses perf events (samples_agent.c). */
#ifndef TACHO_AGENT_SAMPLES_SAMPLES_H
#define TACHO_AGENT_SAMPLES_SAMPLES_H

#include <signal.h>

#include "agent/core/agent.h"
#include "agent/core/source.h"

#define SAMPLE_SIGNAL SIGURG
#define SAMPLE_SIGNAL_BIT (UINT64_C(1) << (SAMPLE_SIGNAL - 1)) /* in a signal set of the kernel */

struct sample_thread {
    uint32_t timer;                  /* the kernel's id + 1; 0: none */
    uint32_t period_us;              /* as the timer was armed last */
    struct stack_head *signal_stack; /* sample_stack.c: the end of the agent's stack, in use or not; NULL: none */
    uint64_t wait_mask;              /* sample_signals.c: the signal mask of a call that waits */
    uintptr_t wait_frame;            /* the frame of its hook; 0: no such call */
};
AGENT_THREAD_STATE(SAMPLES, struct sample_thread, sample_of)

/* Stops sampling the calling thread, which must have the signal blocked. */
void sample_thread_stop(struct agent_thread *thread, enum wire_fate cause);

/* The program uses the signal: gives it back as it was, and stops sampling. For signal handlers too; keeps errno. */
void sample_give_signal_back(void);
int sample_is_handler(const struct sigaction *action); /* true if it is the agent's */
int sample_has_signal(void); /* this process has the agent's handler, and the program does not know it */
int sample_is_over(void);    /* the program has the signal, and may have had it before the agent */

#endif
