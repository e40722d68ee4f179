/* Points in time and what each of them depends on.
 *
 * A point happens when the last of its edges lets it: at the latest of "time of the edge's other end, plus its lag". A
 * point without edges happens when it was measured. With the lags of the build a run yields the measured times; a
 * change to the program is a change to some lags. The graph knows nothing of calls and kernels.
 *
 * A run goes through all edges, so they lie in the order of evaluation: each point comes after those that it depends
 * on, and most of what it needs has just been computed. They are written in that order, too, and once: a graph of 4 M
 * events takes longer to move than to make.
 *
 * A point takes 20 bytes, an edge 13; a run takes 8 more for a point. */
#ifndef TACHO_ANALYZE_REPLAY_REPLAY_GRAPH_H
#define TACHO_ANALYZE_REPLAY_REPLAY_GRAPH_H

#include <stddef.h>
#include <stdint.h>

struct report;

enum replay_kind {
    REPLAY_HOST,     /* a thread runs between two calls */
    REPLAY_CALL,     /* a thread is in a call, apart from the time that it waits there */
    REPLAY_LAUNCH,   /* from a call to the start of its work on the GPU */
    REPLAY_STREAM,   /* work starts after the work before it on its stream */
    REPLAY_EVENT,    /* work starts after work of another stream */
    REPLAY_DEVICE,   /* work starts when other work leaves room on the device */
    REPLAY_RUN,      /* work runs */
    REPLAY_WAIT,     /* a call returns after the work that it waits for */
    REPLAY_QUEUE,    /* a launch returns when the queue of its stream has room */
    REPLAY_HANDOVER, /* a thread goes on after another one */
    REPLAY_KINDS
};

#define REPLAY_DROPPED INT64_MIN /* the lag of an edge that does not count */

/* Starts from {0}. */
struct replay_graph {
    int64_t
        *measured; /* owned, as all below; by place, and by point until replay_graph_arrange(): when it was measured */
    uint32_t *first; /* by place, and one more: its first edge */
    uint32_t *point; /* by place */
    uint32_t *place; /* by point */
    uint32_t *from;  /* by edge: the place of the point that it starts at */
    int64_t *lag;    /* by edge */
    uint8_t *kind;   /* by edge: enum replay_kind */
    size_t points, edges;
};

/* Makes room for the points. The caller sets all times. ERR_NO_MEMORY or 0, as of all functions here. */
int replay_graph_open(struct replay_graph *graph, size_t points);
void replay_graph_free(struct replay_graph *graph);

/* Sorts the points by time; points of the same time by their numbers. */
int replay_graph_sort(struct replay_graph *graph);

/* An edge to a point that is given. */
struct replay_edge {
    uint32_t from; /* a point */
    enum replay_kind kind;
    int64_t lag;
};
enum { REPLAY_MOST_EDGES = 32 };
/* Writes the edges to a point, at most REPLAY_MOST_EDGES, and returns their number. Several threads ask, each in order
 * of time; a point that others of the same time depend on may be asked for twice. */
typedef size_t replay_graph_edges(const void *context, uint32_t point, struct replay_edge *out);

/* Puts the sorted points in their places and makes the edges, on all workers of the report. An edge from a point that
 * was measured later is left out, and so is one that closes a circle. */
int replay_graph_arrange(struct replay_graph *graph, const struct report *report, replay_graph_edges *edges_to,
                         const void *context);

/* Computes the time of every point, by place. */
struct replay_graph_span {
    int64_t first_ns, last_ns; /* of all points */
    uint32_t last;             /* the place of the last one */
};
struct replay_graph_span replay_graph_run(const struct replay_graph *graph, int64_t *times);

/* Walks back the critical path of a run, from a place to the start of the path. visit gets each edge with its lag and
 * the point that it leads to. */
typedef void replay_graph_visit(void *context, enum replay_kind kind, int64_t lag, uint32_t to);
void replay_graph_path(const struct replay_graph *graph, const int64_t *times, uint32_t place,
                       replay_graph_visit *visit, void *context);

#endif
