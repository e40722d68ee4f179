/* What the files of the source share that samples CPU time, where the capture wants that from here: a timer for each
 * thread (sample.c). */
#ifndef TACHO_AGENT_SAMPLING_SAMPLING_H
#define TACHO_AGENT_SAMPLING_SAMPLING_H

#include <signal.h>

#include "agent/core/agent.h"
#include "agent/core/source.h"

#define SAMPLE_SIGNAL SIGURG
#define SAMPLE_SIGNAL_BIT (UINT64_C(1) << (SAMPLE_SIGNAL - 1)) /* in a set of the kernel's */

struct sample_thread {
    uint32_t timer;                  /* the kernel's number and 1; 0: none */
    struct stack_head *signal_stack; /* sample_stack.c: NULL, or the end of one of ours, in use or not */
    uint64_t wait_mask;              /* sample_signals.c: of the signals that the call blocks while it waits… */
    uintptr_t wait_frame;            /* …from the hook with this frame; 0: there is none */
};
AGENT_THREAD_STATE(SAMPLES, struct sample_thread, sample_of)

/* no more of the calling thread, which blocks the signal */
void sample_thread_stop(struct agent_thread *thread, enum wire_fate cause);

/* The program has a use for the signal: it gets it as it was, and there are no more samples. For handlers too; keeps
 * errno. */
void sample_give_signal_back(void);
int sample_is_handler(const struct sigaction *action); /* ours */
int sample_has_signal(void); /* this process has our handler, which the program knows nothing of */
int sample_is_over(void);    /* the program has the signal, and may have had it before us */

#endif
