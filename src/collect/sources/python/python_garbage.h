/* Collections of Python's garbage collector, out of what rounds of the sampler read: whether one runs, and how many
 * have ended.
 *
 * Nothing is hooked, and the program does not notice. A collection reaches half way to the rounds beside those that saw
 * it. One between two rounds is not seen, and one of a fraction of a round is seen as often as it is longer: sums are
 * right, single lengths are not. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_GARBAGE_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_GARBAGE_H

#include "python_names.h"

/* Interpreters of a process whose collections are watched. Further ones replace the first. */
enum { PYTHON_GARBAGE_INTERPRETERS = 8 };

/* Starts from {0}. */
struct python_garbage {
    struct python_garbage_of {
        uint64_t interpreter;
        struct python_collector collector; /* in its last round */
        int64_t round_ns;                  /* when that was */
        int64_t start_ns;                  /* of the collection that runs; tid: its thread, 0: none runs */
        uint32_t tid;
    } of[PYTHON_GARBAGE_INTERPRETERS];
    unsigned count;                        /* of interpreters that were ever seen */
};

/* Takes what a round has read of an interpreter. tid: the thread that holds its lock; 0: none, or not known. Returns 1
 * and sets all but `process` of *ended if a collection has ended since the last round. */
int python_garbage_round(struct python_garbage *garbage, uint64_t interpreter, const struct python_collector *collector,
                         uint32_t tid, int64_t now_ns, struct python_collection *ended);

#endif
