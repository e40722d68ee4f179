/* Says whether a thread that made no CUDA call for a while waited, or computed. */
#ifndef TACHO_ANALYZE_REPLAY_REPLAY_PAUSES_H
#define TACHO_ANALYZE_REPLAY_REPLAY_PAUSES_H

#include "replay_events.h"

/* When a thread was last seen before a moment, and first seen after it. */
struct replay_seen {
    int64_t last_ns, next_ns;
};

struct replay_pause {
    uint32_t thread;          /* its number */
    int64_t start_ns, end_ns; /* the end of a call, INT64_MIN: there is none; the start of the next one */
    int64_t moment_ns;        /* in the pause: when another thread may have handed over */

    /* for replay_pauses.c alone */
    struct replay_seen running, sampled; /* where records show it running; where samples do */
    int64_t blocked_start_ns, blocked_end_ns;
    uint8_t is_blocked;                  /* at the moment, in the time above */
    uint8_t is_computing;                /* at the moment */
    uint8_t has_waits;                   /* waits of its process were recorded */
};

/* Reads what the report knows about the pauses, which come by thread and then by time. */
int replay_pauses_read(struct replay_pause *pauses, size_t count, const struct replay_events *events,
                       struct report *report, struct error *err);

/* Whether the thread can have waited at the moment: it was blocked then or, if records cannot show that, it was silent.
 * *own_ns: how much of the pause the thread needed for itself. */
int replay_pause_waits(const struct replay_pause *pause, int64_t *own_ns);

#endif
