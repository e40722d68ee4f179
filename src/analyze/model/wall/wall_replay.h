/* How long a program would have taken with changes: its threads are played again, each as it worked and waited.
 *
 * Work takes as long as it did. A wait that somebody ended (wall_threads.h) ends when that thread is as far again, and
 * no earlier than it begins; any other wait takes as long as it did. So an unchanged replay takes as long as the run. A
 * wait for other threads goes on for all of those that were done in it: when the last one is faster, another one is the
 * last. The program ends no earlier than threads and children that had ended before it. */
#ifndef TACHO_ANALYZE_MODEL_WALL_WALL_REPLAY_H
#define TACHO_ANALYZE_MODEL_WALL_WALL_REPLAY_H

#include "wall_threads.h"

/* Work of a thread that takes another time. */
struct wall_edit {
    int64_t thread, start_ns, end_ns;
    int64_t saved_ns;  /* by how much it is shorter; below 0: longer */
    int64_t before_ns; /* the same of all edits before it: set by wall_edits_sort() */
};

/* Starts from {0}. */
struct wall_edits {
    struct wall_edit *list;      /* owned; by thread, then by time; they do not overlap */
    size_t count, room;
    unsigned char *are_no_waits; /* owned; by wait: it takes no time. NULL: none */
};

int wall_edits_add(struct wall_edits *edits, int64_t thread, int64_t start_ns, int64_t end_ns, double factor);
/* Each wait that is to take no time: by its number in threads->waits. */
int wall_edits_add_wait(struct wall_edits *edits, const struct wall_threads *threads, size_t wait);
/* After the last one. */
void wall_edits_sort(struct wall_edits *edits);
void wall_edits_free(struct wall_edits *edits);

/* edits: up to a NULL; those of several lists add up. ERR_NO_MEMORY or 0. */
int wall_replay(const struct wall_threads *threads, const struct wall_edits *const *edits, int64_t *time_ns);

#endif
