/* The replay of a capture: how long would it have taken, had something been different?
 *
 *     struct replay replay = { 0 };
 *     struct replay_edits edits = { 0 };
 *     int code = replay_events_read(&replay.events, report, err);
 *     code = replay_build(&replay, report, err);
 *     …
 *     code = replay_drop_waits(&replay, is_concerned, context, &edits, err);
 *     code = replay_run(&replay, REPLAY_EDITS(&edits), &result, err);
 *     replay_edits_free(&edits);
 *     replay_free(&replay);
 *
 * Starts and ends of CUDA calls and of work on GPUs become points of a graph (replay_graph.h). A change is a list of
 * edits to the lags of edges (replay_edits.h). Between two calls a thread takes as long as it was measured to take. */
#ifndef TACHO_ANALYZE_REPLAY_REPLAY_H
#define TACHO_ANALYZE_REPLAY_REPLAY_H

#include "analyze/model/steps.h"
#include "replay_edits.h"
#include "replay_events.h"

/* Lags that work has if nothing else delays it, by table of work. */
enum { TYPICAL_LAUNCH, TYPICAL_GAP, TYPICALS };

struct replay {
    struct replay_events events;
    struct replay_graph graph;
    int64_t typical_ns[TYPICALS][REPLAY_TABLES];
    int64_t *times;    /* owned; by place: of the last replay_run() */
    uint32_t *step_of; /* owned; by call: its step, or NO_STEP; NULL before replay_steps(), and without steps */
};

/* Builds the graph from the events, which replay_events_read() has read, on all workers of the report. A report without
 * CUDA calls and GPU work has one without points. After an error there is nothing to free. */
int replay_build(struct replay *replay, const struct report *report, struct error *err);
void replay_free(struct replay *replay);

/* The points of a call and of work. */
static inline uint32_t replay_call_start(uint32_t call)
{
    return 2 * call;
}
static inline uint32_t replay_call_end(uint32_t call)
{
    return 2 * call + 1;
}
static inline uint32_t replay_work_start(const struct replay *replay, uint32_t work)
{
    return 2 * (replay->events.call_count + work);
}
static inline uint32_t replay_work_end(const struct replay *replay, uint32_t work)
{
    return 2 * (replay->events.call_count + work) + 1;
}

static inline uint32_t replay_call_of(uint32_t point)
{
    return point / 2;
}
static inline uint32_t replay_work_of(const struct replay *replay, uint32_t point)
{
    return point / 2 - replay->events.call_count;
}

/* When a point was measured, and when it was in the last replay_run(). */
static inline int64_t replay_measured(const struct replay *replay, uint32_t point)
{
    return replay->graph.measured[replay->graph.place[point]];
}
static inline int64_t replay_replayed(const struct replay *replay, uint32_t point)
{
    return replay->times[replay->graph.place[point]];
}

struct replay_result {
    int64_t measured_ns;           /* from the first point to the last */
    int64_t replayed_ns;           /* the same with the changes */
    uint32_t last;                 /* the place of the last point, at which the critical path ends */
    int64_t path_ns[REPLAY_KINDS]; /* the critical path of the replay: time in each kind of edge */
    int64_t before_path_ns;        /* from the first point to the start of the path */
};

/* Replays with the edits of these lists, which end with NULL. NULL: as it was measured. */
int replay_run(struct replay *replay, const struct replay_edits *const *lists, struct replay_result *out,
               struct error *err);
/* The same without the critical path, which is a walk through all memory of its own. */
int replay_run_times(struct replay *replay, const struct replay_edits *const *lists, struct replay_result *out,
                     struct error *err);

/* The mean time of a step, measured and in the last replay_run(): from the completion of one step to that of the next.
 * A step is complete when its own time has passed and all work that it launched is done. Steps of the warm-up do not
 * count. steps is 0 if no process has two. All calls for a replay have the same list of steps: the first one finds the
 * step of each CUDA call. */
struct replay_step_times {
    int64_t measured_ns, replayed_ns;
    size_t steps;
};
int replay_steps(struct replay *replay, const struct steps *steps, struct replay_step_times *out, struct error *err);

/* The name of a kind of edge, in words. */
extern const char *const replay_kind_names[REPLAY_KINDS];

/* ---- changes: replay_change.c ---------------------------------------------------------------------------------- */

/* The edge of this kind that leads to a point, or REPLAY_NO_EDGE. */
uint32_t replay_edge_to(const struct replay *replay, uint32_t point, enum replay_kind kind);

/* When the point that an edge starts at was measured. */
static inline int64_t replay_edge_start(const struct replay *replay, uint32_t edge)
{
    return replay->graph.measured[replay->graph.from[edge]];
}

/* The functions below add the edits of a change to a list. */

/* The calls for which choose() returns non-zero do not wait. */
int replay_drop_waits(const struct replay *replay, int (*choose)(void *context, const struct replay_call *call),
                      void *context, struct replay_edits *edits, struct error *err);

/* Work for which choose() returns non-zero takes `factor` of its time. */
int replay_scale_work(const struct replay *replay, int (*choose)(void *context, const struct replay_work *work),
                      void *context, double factor, struct replay_edits *edits, struct error *err);

/* Threads take less time between their calls: cut() returns how much less of the time up to the start of a call, from
 * the end of the call before it, or of the call of another thread that handed over. */
int replay_cut_host(const struct replay *replay,
                    int64_t (*cut)(void *context, uint32_t call, int64_t from_ns, int64_t to_ns), void *context,
                    struct replay_edits *edits, struct error *err);

#endif
