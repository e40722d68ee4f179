/* The kernel's view of a thread, read cheaply and often: does it wait, for what, and has it run since? */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_THREAD_WATCH_H
#define TACHO_COLLECT_SOURCES_PYTHON_THREAD_WATCH_H

#include <stdint.h>
#include <sys/types.h>

enum { THREAD_UNKNOWN = 0, THREAD_RUNNING = 1, THREAD_WAITING = 7 }; /* values of ENUM_SAMPLING_THREAD_STATE */

struct thread_watch {
    int state_file, slices_file;                                     /* -1: not open */
    int is_syscall; /* state_file is /proc's `syscall`, which is cheaper than `stat` and says more */
};

/* Opens the files that exist. If the thread is gone, or too many files are open, its state is unknown. */
void thread_watch_open(struct thread_watch *watch, pid_t pid, pid_t tid);
void thread_watch_close(struct thread_watch *watch);

/* The current state. *address: the futex that it waits for; 0: none or unknown. */
int thread_watch_state(const struct thread_watch *watch, uint64_t *address);

/* How many times it has been on a CPU so far. As long as this stays the same, a thread that waited has done nothing.
 * 0: unknown. */
uint64_t thread_watch_slices(const struct thread_watch *watch);

/* The id in /proc of the thread that calls itself `native`: the same, unless it lives in a pid namespace of its own.
 * 0: the process has no such thread (a fork leaves the states of threads behind that it did not copy). */
pid_t thread_of_native(pid_t pid, pid_t native);

/* The same for Python before 3.11, which does not record the id: the first number in a thread's struct pthread that is
 * a thread of the process. */
pid_t thread_of_pthread(pid_t pid, const unsigned char *bytes, size_t size);

#endif
