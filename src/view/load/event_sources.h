/* What rows are made of: one descriptor for each table of events, in families that share rows.
 * event_sources.c has the table. */
#ifndef TACHO_VIEW_LOAD_EVENT_SOURCES_H
#define TACHO_VIEW_LOAD_EVENT_SOURCES_H

#include "view_state.h"

/* Numbers to names, ready to be asked by any worker. */
struct view_name_map {
    struct name_of {
        int64_t number;
        uint32_t name;
    } *list; /* owned; by number */
    size_t count, capacity;
};
int view_name_map_add(struct view_name_map *map, int64_t number, uint32_t name);
void view_name_map_sort(struct view_name_map *map);
uint32_t view_name_map_find(const struct view_name_map *map, int64_t number, uint32_t otherwise);

/* An event on its way from a table to a row. */
struct view_taken {
    int64_t start_ns, end_ns;
    int64_t name; /* what the column says: an id of the pool, or a number for the map */
    int64_t key[KEY_PARTS];
    uint32_t table_row;
    uint8_t flags;
};

/* Columns of a source, in the order of its blocks. */
enum {
    TAKE_START,
    TAKE_END,
    TAKE_NAME,
    TAKE_KEY,
    TAKE_EXTRA = TAKE_KEY + KEY_PARTS - 1,
    TAKE_EXTRAS = 2,
    TAKE_COLUMNS = TAKE_EXTRA + TAKE_EXTRAS
};

struct view_source {
    const char *table, *start;
    const char *end;                /* NULL: moments */
    const char *name;               /* column; NULL: fixed */
    const char *fixed;              /* the name where the column says nothing */
    enum row_type type;
    const char *key[KEY_PARTS - 1]; /* columns that make the row; NULL: 0 */
    const char *label;              /* of rows whose type has none; it becomes the last part of the key */
    const char *extra[TAKE_EXTRAS]; /* further columns, for take */
    /* Changes what was taken, or leaves it out (0). Called by several workers. */
    int (*take)(const struct view *view, const struct report_block *block, size_t row, struct view_taken *event);
    /* Names for numbers, made before the table is read; the column's value is a number then. */
    int (*names)(struct view *view, struct view_name_map *map, struct error *err);
    /* A name for one of the pool, where its text is shown otherwise. */
    uint32_t (*rename)(struct view *view, uint32_t name);
};

/* Sources whose events share rows. */
struct view_family {
    const struct view_source *sources;
    size_t count;
};
extern const struct view_family view_families[];
extern const size_t view_family_count;

/* The table that an event comes from; its row there is events.table_row[event]. NULL for a step,
 * which is of no one table. */
const char *view_event_table(const struct view_row *row, uint32_t event);

#endif
