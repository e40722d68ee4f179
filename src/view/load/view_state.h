/* An opened timeline, as the files of src/view share it. Nobody else includes this.
 *
 * A row is a list of events that are drawn together. Its events are numbered from 0, lane by lane and by start inside a
 * lane; events of a lane do not overlap, so that both their starts and their ends are in order. Times are the report's
 * own (origin_ns is taken off when they are answered), and every one lies within ±VIEW_FURTHEST, so that differences
 * and sums of two do not overflow. */
#ifndef TACHO_VIEW_LOAD_VIEW_STATE_H
#define TACHO_VIEW_LOAD_VIEW_STATE_H

#include "analyze/engine/keys.h"
#include "analyze/model/steps.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/text.h"
#include "job_rows.h"
#include "report/reader/reader.h"
#include "row_types.h"
#include "view/work/work_kinds.h"

struct answer_cache;
struct rank_views;
struct view_overview;

#define VIEW_FURTHEST (INT64_C(1) << 61)  /* times of the report are cut there */
#define VIEW_LAST_TIME (INT64_C(1) << 53) /* since the origin: all smaller numbers are exact in a double */

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* A name is an id of the report's string pool, or one of the view's own strings. */
enum { VIEW_OWN_NAME = 1 << 30, VIEW_NAME_NONE = VIEW_OWN_NAME /* the empty one */ };

/* ---- rows ------------------------------------------------------------------------------------------------------ */

enum { VIEW_NO_ROW = -1 };

/* flags of an event, as tiles have them */
enum {
    EVENT_NO_END = 1,
    EVENT_WAITING = 2 /* a sample's thread did not run */,
    EVENT_FAILED = 4,
    EVENT_FLAGS = 7,
    EVENT_SOURCE_SHIFT = 3,
    EVENT_SOURCES = 32,
    EVENT_WORK_SHIFT = 8
};

enum { LENGTH_IS_LONG = UINT32_MAX };
struct view_long {
    uint32_t event;
    int64_t length_ns;
};

struct view_events {
    uint32_t count;
    int64_t *start_ns;            /* all owned, by event */
    uint32_t *length_ns;          /* LENGTH_IS_LONG: see longer */
    uint32_t *name;
    uint32_t *table_row;          /* in the table of the source in tag */
    uint16_t *tag;                /* flags, the number of the source among the row's sources, the kind of work */
    struct view_long *longer;     /* owned; by event */
    uint32_t long_count;
    uint32_t *lanes;              /* owned; lane_count + 1: the first event of each lane, and count at the end */
    uint32_t lane_count;
    struct view_index *index;     /* owned; see event_index.h */
    int is_named_late;            /* answers change the names: read them by event_name() */
};

struct view_points {              /* counters only */
    uint32_t count;
    size_t capacity;
    int64_t *time_ns;             /* owned, in order */
    double *value;
    struct view_pyramid *pyramid; /* see counter_points.h */
    double min, max;
    const char *unit;             /* static */
};

/* The parts of a row's key: its type and up to five numbers, whose meaning depends on the type (row_types.h). */
enum { KEY_TYPE, KEY_A, KEY_B, KEY_C, KEY_D, KEY_E, KEY_PARTS };

struct view_row {
    int parent;                           /* VIEW_NO_ROW at the top; always a row before this one */
    enum row_type type;
    enum row_kind kind;
    const char *label, *detail, *unit;    /* in the view's arena; any bytes; "" if there is none */
    int is_open;
    int64_t thread, process;              /* global ids, or -1 */
    int64_t device, context, stream, cpu; /* -1 where it has none; device is the id of the GPU */
    int64_t rank;                         /* in the job, or -1 */
    int host;                             /* number in view->ranks, or NO_HOST */
    int64_t from_ns, to_ns;               /* the span of its events; of a group: of all rows below it */
    unsigned works, busy;                 /* kinds of its events; kinds that count as busy, also in rows below it */
    int behind;                           /* in a group: the row after all rows below it */
    int64_t key[KEY_PARTS];
    int spill;                            /* 0, or how many rows of the same key come before: a row has at
                                           * most VIEW_MOST_LANES lanes */
    const struct view_family *family;     /* the sources of its events; NULL for a group */
    struct view_events events;            /* all kinds but group and counter */
    struct view_points points;            /* counters only */
};
enum { VIEW_MOST_LANES = 128 };

/* A row before it has its place in the tree. */
struct view_leaf {
    uint32_t key; /* in view->row_keys */
    int spill;
    const struct view_family *family;
    struct view_events events;
    struct view_points points;
};

/* The share of time in which a GPU had work. */
struct view_gpu_use {
    int64_t gpu, busy_ns, whole_ns;
};

struct view {
    struct report *report;
    const char *name;         /* the name of the report; NULL: unknown */
    struct arena arena;
    struct intern own_names;  /* name VIEW_OWN_NAME + i is string i */
    struct view_row *rows;    /* owned; in the order in which they are shown; the row's id is its place */
    size_t row_count;
    struct keys row_keys;     /* key number → row_of_key */
    int *row_of_key;          /* owned; the first row of a key; the rows that it spilled into follow that one */
    struct job_rows ranks;    /* hosts and ranks, if the report has several ranks */
    int64_t origin_ns;        /* the origin of times: 0, as in tables, or the first event if it is far from 0 */
    int64_t begin_ns, end_ns; /* begin of the first event, end of the last */
    int64_t focus_from_ns, focus_to_ns; /* the span that is shown at first */
    struct view_leaf *leaves;           /* owned; rows that tree_build() has not placed in the tree yet */
    size_t leaf_count, leaf_capacity;
    uint64_t event_count;
    size_t step_count;
    struct report_span steady;            /* the steps without their warm-up; from > to: there are none */
    struct view_gpu_use *gpu_uses;        /* owned; how busy the GPUs were, by idle_rows() */
    size_t gpu_use_count;
    const char *gpu_use_span;             /* static; the span of these figures in words */
    char step_source[STEPS_SOURCE_BYTES]; /* where the steps come from, in words */
    struct view_overview *overview;       /* owned; NULL until it is asked for */
    int is_cut;                           /* some times lay further from the origin than VIEW_LAST_TIME */
    int is_map;                           /* the job is so large that there are no events, only the work of each rank */
    int is_unprojected;                   /* there were too many calls for ranges to be projected onto the GPUs */
    struct text scratch;                  /* while it is being opened: answers come from several threads */
    const struct report_span *span;       /* while it is being opened: the first and last time to show; may be NULL */
    struct rank_views *rank_views;        /* owned; timelines of some of its ranks; never NULL */
    struct view *other;                   /* the second of two runs that are compared; NULL: there is none */
    struct answer_cache *cache; /* owned; results that answers keep from one request to the next; never NULL */
};

static inline uint32_t event_source(const struct view_events *events, uint32_t event)
{
    return events->tag[event] >> EVENT_SOURCE_SHIFT & (EVENT_SOURCES - 1);
}
static inline enum work_kind event_work(const struct view_events *events, uint32_t event)
{
    return (enum work_kind)(events->tag[event] >> EVENT_WORK_SHIFT);
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

/* The text of a name, any bytes; never NULL. */
const char *view_name(struct view *view, uint32_t name, size_t *length);
/* The text as it is shown: UTF-8, cut to 4,096 characters; added with its quotes. */
void view_add_name(struct view *view, struct text *out, uint32_t name);
/* The name of one of the view's own strings; VIEW_NAME_NONE when memory is short. Adds strings only while the view is
 * being opened: later, only texts that it has already may be passed. */
uint32_t view_own_name(struct view *view, const char *text);
/* The name of a string of the pool. */
static inline uint32_t view_pool_name(int64_t id)
{
    return id >= 0 && id < VIEW_OWN_NAME ? (uint32_t)id : (uint32_t)VIEW_NAME_NONE;
}
/* Adds a copy of the leaf, which owns its events and points from then on. ERR_NO_MEMORY or 0. */
int view_add_leaf(struct view *view, const struct view_leaf *leaf);
/* A time of the report as time since the origin, cut to ±VIEW_LAST_TIME. */
int64_t view_time(const struct view *view, int64_t time_ns);
/* The reverse of view_time(). */
int64_t view_report_time(const struct view *view, int64_t time);

#endif
