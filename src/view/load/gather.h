/* From tables to rows: events are gathered block by block, in parallel, then dealt out to the rows that their keys say,
 * put in order and laid into lanes.
 *
 * One family after another, so that memory holds the raw events of one of them beside the finished rows. */
#ifndef TACHO_VIEW_LOAD_GATHER_H
#define TACHO_VIEW_LOAD_GATHER_H

#include "event_sources.h"

/* Raw events of a chunk of a table, or of what was made up one by one. */
struct gather_block {
    uint32_t source;    /* in the family */
    size_t worker;      /* whose numbers the keys are */
    uint64_t first_row; /* for their order */
    uint32_t count, capacity, long_count;
    size_t long_capacity;
    int64_t *start_ns;  /* owned, as all below */
    uint32_t *length_ns, *name, *key, *table_row;
    uint8_t *tag;
    struct view_long *longer;
};

void gather_block_free(struct gather_block *block);

struct gather_worker {
    struct keys keys;             /* of KEY_PARTS */
    uint32_t last;                /* the key of the event before, or NO_KEY */
    struct gather_block **blocks; /* owned */
    size_t block_count, block_capacity;
};

struct gather {
    struct view *view;
    const struct view_family *family;
    const struct view_source *source; /* being scanned */
    uint32_t source_number;
    struct view_name_map names;
    uint32_t fixed_name, label_name;
    int key_used[KEY_PARTS];
    struct gather_worker *workers;
    size_t worker_count;
};

int gather_open(struct gather *gather, struct view *view, const struct view_family *family, struct error *err);
void gather_close(struct gather *gather);
/* All of a table; nothing if the report has none of it. */
int gather_scan(struct gather *gather, uint32_t source, struct error *err);
/* One event that was made up; its name is a name of the view. */
int gather_add(struct gather *gather, uint32_t source, const struct view_taken *event);
/* The same from several workers at once; part says which of the parts that they share out it belongs to, so that the
 * order of events does not depend on who was first. */
int gather_add_as(struct gather *gather, int worker, size_t part, uint32_t source, const struct view_taken *event);
/* The rows of what was gathered are added to the view's leaves. */
int gather_finish(struct gather *gather, struct error *err);

/* What a row of a table is as an event, by the source that is open: 0 if it makes none. */
int gather_take(const struct gather *gather, const struct report_block *block, size_t row, struct view_taken *event);
/* Makes a source the one that gather_take() speaks of, and says which columns its blocks must have. */
void gather_begin(struct gather *gather, uint32_t source, const struct report_table *table, int columns[TAKE_COLUMNS]);
/* A time, cut to what the view can have. */
int64_t gather_within(int64_t time_ns);

/* A row before it has its place in the tree. */
struct view_leaf {
    uint32_t key; /* in view->row_keys */
    int spill;
    const struct view_family *family;
    struct view_events events;
    struct view_points points;
};
int view_add_leaf(struct view *view, const struct view_leaf *leaf);

int events_allocate(struct view_events *events, uint32_t count, uint32_t long_count);
void events_free(struct view_events *events);

/* lanes.c: puts raw events (in any order, without lanes) in order of lane and start. What has more than VIEW_MOST_LANES
 * lanes becomes several parts; *parts is the caller's, and raw is used up either way. ERR_NO_MEMORY or 0. */
int events_arrange(struct view_events *raw, struct view_events **parts, size_t *part_count);

/* Moves times into the span, and builds the index anew. ERR_NO_MEMORY or 0. */
int events_cut(struct view_events *events, int64_t least_ns, int64_t most_ns);

#endif
