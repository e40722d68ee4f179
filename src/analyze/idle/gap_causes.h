/* Why a GPU had no work: each moment of a gap gets one cause and the line of the program that it lies at.
 *
 *     struct gap_causes causes;
 *     int code = gap_causes_open(&causes, report, NULL, NULL, err);
 *     code = gap_causes_explain(&causes, &gap, visit, context);      (for each gap)
 *     gap_causes_close(&causes);
 *
 * The events of the replay say what the work that ends a gap waited for: its launch, what the thread did before that,
 * and if another thread handed over to it, what that one did. So the causes are those of the advice (advice/), and what
 * a cause takes here is what the rules remove there. Time between two CUDA calls is taken apart further, by what the
 * report knows of the thread. */
#ifndef TACHO_ANALYZE_IDLE_GAP_CAUSES_H
#define TACHO_ANALYZE_IDLE_GAP_CAUSES_H

#include "analyze/advice/advice_gil.h"
#include "analyze/model/places/places.h"
#include "analyze/model/stacks/thread_spans.h"
#include "analyze/replay/replay_events.h"

enum gap_cause {
    GAP_LAUNCH,     /* launches, and the way from one to the next */
    GAP_PYTHON,     /* code of the program between launches, 100 µs or more of it */
    GAP_NATIVE,     /* the same of a program that is not Python, or of one whose code is not known */
    GAP_WAIT,       /* a call waits for results; and then no work is queued, as long as it had waited */
    GAP_LOADING,    /* a DataLoader makes, or waits for, the next batch */
    GAP_COPY,       /* calls that copy and fill memory */
    GAP_ALLOCATION, /* calls that allocate and free memory */
    GAP_CODE,       /* CUDA loads or compiles kernels */
    GAP_GC,         /* Python's garbage collector */
    GAP_COMPILE,    /* torch.compile compiles */
    GAP_GIL,        /* another thread holds Python's GIL */
    GAP_BLOCKED,    /* nothing to do: the thread waits for input, a lock or another thread */
    GAP_PREEMPTED,
    GAP_LATENCY,    /* the launch has returned, and the GPU does not begin yet */
    GAP_PROFILER,   /* CUPTI and the agent */
    GAP_UNKNOWN,    /* no launch of the work was recorded, nor anything else */
    GAP_CAUSES
};
extern const char *const gap_cause_names[GAP_CAUSES];

struct gap {
    int64_t start_ns, end_ns;
    const char *table; /* of the work that ended it; NULL: no work did */
    uint32_t row;      /* its row there */
    int64_t thread;    /* that would have launched, if no work ended it */
};

/* A part of a gap. */
struct gap_piece {
    enum gap_cause cause;
    uint32_t place; /* a line, or NO_PLACE */
    int64_t thread, start_ns, end_ns;
};

/* The activity of a thread between its CUDA calls, in the order in which the layers are asked. */
enum gap_layer {
    LAYER_PROFILER,
    LAYER_GC,
    LAYER_COMPILE,
    LAYER_CODE,
    LAYER_LOADER,
    LAYER_GIL,
    LAYER_OS,
    LAYER_OFF_CPU,
    LAYER_OPERATOR,
    GAP_LAYERS
};

/* A span of the way to a launch: a call, or the time before one. */
struct gap_link {
    int64_t thread, start_ns, end_ns;
    uint32_t call; /* NO_CALL: between two calls */
};

/* Starts from {0}. */
struct gap_causes {
    struct report *report;
    const struct replay_events *events;
    struct places *places;
    struct replay_events own_events; /* these two: unless the caller has them */
    struct places own_places;
    struct thread_spans layers[GAP_LAYERS];
    uint32_t *work_of;               /* owned; by row, counted over all tables of work */
    unsigned char *call_causes;      /* owned; by name of a call */
    struct gap_link *links;          /* owned; of the gap that is being explained, the last first */
    size_t link_count, link_room;
};

/* events and places are of the same report, and must outlive this; NULL: it reads its own. gap_causes_close() is safe
 * after an error. The struct must not be moved in between. */
int gap_causes_open(struct gap_causes *causes, struct report *report, const struct replay_events *events,
                    struct places *places, struct error *err);
void gap_causes_close(struct gap_causes *causes);

/* Visits the pieces of a gap. They do not overlap, and cover it. A visit that returns non-zero ends it. */
typedef int gap_visit(void *context, const struct gap_piece *piece);
int gap_causes_explain(struct gap_causes *causes, const struct gap *gap, gap_visit *visit, void *context);

/* For gap_causes.c: finds the way to the launch of the work that ended a gap, which is NO_CALL if it is not known.
 * ERR_NO_MEMORY or 0. */
int gap_walk(struct gap_causes *causes, const struct gap *gap, uint32_t *launch);

#endif
