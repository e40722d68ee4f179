/* Gathers the events of tables, block by block and in parallel. gather_rows.h then makes rows of them, by their keys.
 *
 * One family is gathered after another, so that memory holds the raw events of one family beside the finished rows. */
#ifndef TACHO_VIEW_LOAD_GATHER_H
#define TACHO_VIEW_LOAD_GATHER_H

#include "event_sources.h"

/* Raw events of a chunk of a table, or events that gather_add() was given. */
struct gather_block {
    uint32_t source;    /* in the family */
    size_t worker;      /* the worker that numbered the keys */
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
    struct keys keys;             /* KEY_PARTS numbers each */
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
/* Gathers all events of the table of a source; a table that the report lacks has none. */
int gather_scan(struct gather *gather, uint32_t source, struct error *err);
/* Adds one derived event; event->name is a name of the view. */
int gather_add(struct gather *gather, uint32_t source, const struct view_taken *event);
/* The same for several workers at once. `part` is the number of the part of the work that the event belongs to: events
 * are put in the order of parts, so that the order does not depend on which worker was first. */
int gather_add_as(struct gather *gather, int worker, size_t part, uint32_t source, const struct view_taken *event);

/* Makes an event of a row of a table, by the source of gather_begin(). Returns 0 if the row is no event. */
int gather_take(const struct gather *gather, const struct report_block *block, size_t row, struct view_taken *event);
/* Chooses the source for gather_take(), and fills the columns that its blocks must have. */
void gather_begin(struct gather *gather, uint32_t source, const struct report_table *table, int columns[TAKE_COLUMNS]);
/* A time, cut to ±VIEW_FURTHEST. */
int64_t gather_within(int64_t time_ns);

#endif
