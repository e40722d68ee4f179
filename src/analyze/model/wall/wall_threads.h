/* The threads and processes of a program: when they lived, worked and waited, who ended a wait and who started a
 * thread.
 *
 *     struct wall_threads threads;
 *     int code = wall_threads_read(&threads, report, err);
 *     … threads.waits, wall_wait_ended_by() …
 *     wall_threads_free(&threads);      (after an error, too)
 *
 * Who ended a wait is known of children, of pthread_join() and of locks whose holder was recorded. Of other waits
 * (conditions, semaphores, pipes) it is a thread that was at work when the wait ended: the one of the same process, or
 * of a relative, that had been at work for longest. */
#ifndef TACHO_ANALYZE_MODEL_WALL_WALL_THREADS_H
#define TACHO_ANALYZE_MODEL_WALL_WALL_THREADS_H

#include "analyze/model/threads.h"
#include "wall_waits.h"

enum { WALL_MOST_ASKED = 256 };           /* threads of a process that are asked about a wait */

struct wall_process {
    int64_t id, parent, start_ns, end_ns; /* id, parent: global */
};

struct wall_threads {
    struct wall_waits waits;
    struct thread_lives lives;
    struct thread_spans gone;           /* from when on threads had no CPU any more, one of each, by thread */
    struct wall_process *processes;     /* owned; by id */
    size_t process_count, process_room;
    const struct wall_process *program; /* the one whose parent is not in the report */
};

/* A report without lifetimes of processes and threads, or a set of reports, has none: ERR_NO_DATA. */
int wall_threads_read(struct wall_threads *threads, struct report *report, struct error *err);
void wall_threads_free(struct wall_threads *threads);

/* The process, or NULL. */
const struct wall_process *wall_process_find(const struct wall_threads *threads, int64_t id);
int64_t wall_main_thread(int64_t process);

/* The begin of the thread's life before this time; lives that an exec() divides are one. INT64_MIN: not known. */
int64_t wall_life_start(const struct wall_threads *threads, int64_t thread, int64_t time_ns);
/* The end of the thread's life that began before this time, or the time itself. */
int64_t wall_life_end(const struct wall_threads *threads, int64_t thread, int64_t time_ns);

/* When the thread left its CPU for good, or the time itself if it had one later: an end is noticed late on a machine
 * that is busy. */
int64_t wall_gone_at(const struct wall_threads *threads, int64_t thread, int64_t time_ns);

/* A moment of a thread; thread 0: there is none. */
struct wall_moment {
    int64_t thread, time_ns;
};

/* When the thread was at work last, up to this time. */
struct wall_moment wall_last_work(const struct wall_threads *threads, int64_t thread, int64_t time_ns);

/* What ended a wait, which is asked for up to this time: whoever worked then, and why the wait took so long. None:
 * nobody in the report. */
struct wall_moment wall_wait_ended_by(const struct wall_threads *threads, const struct wall_wait *wait,
                                      int64_t time_ns);

/* Who was at work when the thread started, and started it: the main thread, or another one if that waited. Of the main
 * thread itself: that of the process's parent. */
struct wall_moment wall_started_by(const struct wall_threads *threads, int64_t thread, int64_t time_ns);

#endif
