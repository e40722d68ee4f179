/* The waits of threads, each with the call that it is in: times off a CPU, or calls that wait if context switches were
 * not recorded. Times in which a thread wants a CPU and has none are told apart.
 *
 *     struct wall_waits waits = { 0 };
 *     int code = wall_waits_read(&waits, report, err);
 *     … waits.list, wall_wait_before() …
 *     wall_waits_free(&waits);      (after an error, too) */
#ifndef TACHO_ANALYZE_MODEL_WALL_WALL_WAITS_H
#define TACHO_ANALYZE_MODEL_WALL_WALL_WAITS_H

#include "analyze/model/os_calls.h"
#include "analyze/model/stacks/thread_spans.h"

struct wall_wait {
    int64_t thread, start_ns, end_ns;
    int64_t call, chain, python, holder, lock, result; /* as in os_calls.h; call: -1: none */
    enum os_call_kind kind;
    int is_sleep, is_join, is_exchange; /* exchange: another process may end it, as of a pipe or a socket */
};

/* Starts from {0}. */
struct wall_waits {
    struct wall_wait *list;    /* owned; by thread, then by time; they do not overlap */
    size_t count, room;
    uint32_t *locked;          /* owned; those for a lock with an address, by process and lock, then by end */
    size_t locked_count;
    struct thread_spans ready; /* times without a CPU, by thread */
};

int wall_waits_read(struct wall_waits *waits, struct report *report, struct error *err);
void wall_waits_free(struct wall_waits *waits);

/* The thread's last wait that begins before this time, or NULL. */
const struct wall_wait *wall_wait_before(const struct wall_waits *waits, int64_t thread, int64_t time_ns);

/* The thread that waited for the same lock and got it last in this wait; 0: none. */
int64_t wall_wait_heir(const struct wall_waits *waits, const struct wall_wait *wait);

#endif
