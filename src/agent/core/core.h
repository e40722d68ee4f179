/* What the files of the agent's core know of each other, and the hooks into it that sources provide. */
#ifndef TACHO_AGENT_CORE_CORE_H
#define TACHO_AGENT_CORE_CORE_H

#include <dlfcn.h>

#include "agent.h"

/* Asks the collector for an arena and maps it: 0, or -errno. Fills `agent`. */
int attach_arena(enum wire_origin origin);
int attach_flush(void);                   /* waits until the collector has written down what
                                           * was recorded: 0, or -errno */

void thread_prepare(void);                /* once per process, before the first thread_attach() */
void thread_returns(void);                /* the calling thread's function has returned */
int thread_give_key_back(void);           /* the program needs the agent's key for thread-specific
                                           * data: whether there was one */
struct agent_thread *thread_attach(void); /* a slot for the calling thread, or NULL */
/* A chunk for notes takes no event: behind this note, which is about to be committed, or where the lane is (NULL). */
void thread_close_note(struct agent_lane *lane, const struct wire_record *record);

/* Around system calls of the agent outside of the hooks that limit a process, which wait for them: 0:
 * none may be made any more. */
static inline int agent_begin_calls(void)
{
    atomic_fetch_add(&agent.calling, 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (agent_attached())
        return 1;
    atomic_fetch_sub(&agent.calling, 1);
    return 0;
}
static inline void agent_end_calls(void)
{
    atomic_fetch_sub(&agent.calling, 1);
}

/* Tells of objects that were loaded or unloaded since the last time. Not for signal handlers. */
void agent_note_modules(void);
/* Something is about to be loaded or unloaded, and nobody will be called when it is done: whoever comes next looks. */
void agent_modules_changed(void);
void agent_note_changed_modules(void);
void modules_after_fork_in_child(void);
struct dl_phdr_info;
/* from its first segment to its last */
void modules_extent(const struct dl_phdr_info *info, uint64_t *first, uint64_t *bytes);
int modules_contain(const struct dl_phdr_info *info, uintptr_t address); /* is it in that extent? */

/* The next function of this name after ours, or that of the loaded library whose file name begins
 * so; NULL if there is none. */
void *agent_find_function(const char *library, const char *symbol);

/* PyTorch is loaded, and this is its library: its operators are observed, if they are to be. */
void torch_found(const char *path);
void torch_after_attach(void);                 /* tells a new arena so */
void torch_follow(void);                       /* what is asked for of it has changed */
uint64_t torch_module_begin(const char *name); /* a number for its end, or 0: it is not recorded */
void torch_module_end(uint64_t call);

/* Before anything is recorded: the libraries' domains get their numbers. */
void library_prepare(void);

/* A source that keeps state on both sides tells a new arena what it must know (NVTX: domains, strings, names). */
void nvtx_after_attach(void);
void nvtx_thread_end(struct agent_thread *thread); /* gives back what the source holds for it */

/* Samples of CPU time, where the capture wants them from here: a timer for each thread. */
void sample_thread_begin(struct agent_thread *thread);
void sample_thread_end(struct agent_thread *thread);
/* no more of the calling thread, which blocks the signal */
void sample_thread_stop(struct agent_thread *thread, enum wire_fate cause);
void sample_leave(void);        /* none in this process any more… */
void sample_come_back(void);    /* …or yet */
void sample_not_in_child(void); /* the calling process was forked by a sampled one, and is not attached */
/* The program has a use for the signal: it gets it as it was, and there are no more samples. For
 * handlers too; keeps errno. */
#define SAMPLE_SIGNAL SIGURG
#define SAMPLE_SIGNAL_BIT (UINT64_C(1) << (SAMPLE_SIGNAL - 1)) /* in a set of the kernel's */
struct sigaction;
void sample_give_signal_back(void);
int sample_is_handler(const struct sigaction *action); /* ours */
int sample_has_signal(void); /* this process has our handler, which the program knows nothing of */
int sample_is_over(void);    /* the program has the signal, and may have had it before us */
void sample_note_sums(void); /* how long the calling thread has run, if the capture wants to know */

/* CUDA: what is enabled in CUPTI follows what is to be recorded, in a process that has CUDA; else these do nothing. */
void cuda_follow(int is_own_thread); /* the recording was switched on or off */
void cuda_range_begin(void);         /* the program has called cuProfilerStart() or one of its siblings */
void cuda_range_end(void);
void cuda_after_fork_in_child(void);
void cuda_flush(void);               /* waits for the GPU, and for CUPTI to hand over its
                                      * records; two seconds at most */
void cuda_exit(void);                /* the same, since the process ends */

#endif
