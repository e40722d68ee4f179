/* What the kernel says about a thread, cheaply and often: whether it waits, for what, and whether it has run since. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_THREAD_WATCH_H
#define TACHO_COLLECT_SOURCES_PYTHON_THREAD_WATCH_H

#include <stdint.h>
#include <sys/types.h>

enum { THREAD_UNKNOWN = 0, THREAD_RUNNING = 1, THREAD_WAITING = 7 }; /* values of ENUM_SAMPLING_THREAD_STATE */

struct thread_watch {
    int state_file, slices_file;                                     /* -1: not open */
    int is_syscall; /* state_file is /proc's `syscall`, which costs less than `stat` and says more */
};

/* Opens what there is; a thread that is gone, or too many files: its state is unknown. */
void thread_watch_open(struct thread_watch *watch, pid_t pid, pid_t tid);
void thread_watch_close(struct thread_watch *watch);

/* The state now. *address: where the futex lies that it waits for, 0: none or not known. */
int thread_watch_state(const struct thread_watch *watch, uint64_t *address);

/* How often it was given a CPU so far: as long as that stays the same, a thread that waited has
 * done nothing. 0: not known. */
uint64_t thread_watch_slices(const struct thread_watch *watch);

/* The number under which /proc has the thread that calls itself `native`: the same, unless it lives in a pid namespace
 * of its own. 0: the process has no such thread (a fork leaves states of threads behind that it did not copy). */
pid_t thread_of_native(pid_t pid, pid_t native);

/* The same for Python before 3.11, which does not say: of the numbers in a thread's struct pthread the first that
 * is a thread of the process. */
pid_t thread_of_pthread(pid_t pid, const unsigned char *bytes, size_t size);

#endif
