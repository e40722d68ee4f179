/* The chain of threads and processes that set the wall time of a program.
 *
 *     struct wall_path path = { 0 };
 *     int code = wall_path_read(&path, report, err);
 *     … path.list …
 *     wall_path_free(&path);
 *
 * It is followed from the end of the program backwards: what its main thread did last, and before that what it waited
 * for. A wait for a child, for another thread or for the holder of a lock leads to that process or thread, at the time
 * at which the wait ended: what it did until then is why the wait took so long. A wait that nobody in the capture ended
 * (sleeping, a disk, another machine) is a part of the chain itself; but while a thread waits for events, the work of
 * the busiest other thread of its process stands there. So the pieces follow each other without gaps, and their lengths
 * add up to the wall time: filters and what was not recorded leave gaps. Who ended a wait: see wall_threads.h. */
#ifndef TACHO_ANALYZE_MODEL_WALL_WALL_PATH_H
#define TACHO_ANALYZE_MODEL_WALL_WALL_PATH_H

#include "analyze/model/filter.h"
#include "wall_threads.h"

enum wall_kind {
    WALL_RUNS,   /* on a CPU, as far as context switches were recorded */
    WALL_READY,  /* wants a CPU and has none */
    WALL_SLEEPS,
    WALL_IO,     /* files, sockets, pipes, names of hosts */
    WALL_EVENTS, /* poll() and its like: a server without work, or a peer that does not answer */
    WALL_LOCKS,
    WALL_WAITS,  /* for something else */
    WALL_KINDS
};

struct wall_piece {
    int64_t thread, from_ns, to_ns;
    int64_t call;          /* the OS call that it waits in; a number of the string pool, or -1 */
    int64_t chain, python; /* of that call; 0: none */
    enum wall_kind kind;
};

/* Starts from {0}. */
struct wall_path {
    struct wall_piece *list;     /* owned; by time */
    size_t count, room;
    struct wall_threads threads; /* what it was followed through */
};

/* The chain is that of the whole run; the filter keeps a part of it. A report without lifetimes of processes
 * and threads, or a set of reports, has none: ERR_NO_DATA. */
int wall_path_read(struct wall_path *path, struct report *report, const struct filter *filter, struct error *err);
void wall_path_free(struct wall_path *path);

#endif
