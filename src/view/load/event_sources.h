/* The sources of events: one descriptor for each table, in families that share rows. event_sources.c has the table. */
#ifndef TACHO_VIEW_LOAD_EVENT_SOURCES_H
#define TACHO_VIEW_LOAD_EVENT_SOURCES_H

#include "name_map.h"
#include "view_state.h"

/* An event on its way from a table to a row. */
struct view_taken {
    int64_t start_ns, end_ns;
    int64_t name; /* the value of the column: an id of the string pool, or a number for the map */
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
    const char *end;                                            /* NULL: moments */
    const char *name;                                           /* column; NULL: fixed */
    const char *fixed;                                          /* the name of events without a value in that column */
    enum row_type type;
    enum work_kind work;                                        /* the kind of its events */
    enum work_kind (*work_of)(const char *name, size_t length); /* the same by the name that is shown; NULL: work */
    const char *key[KEY_PARTS - 1];                             /* columns that make the row; NULL: 0 */
    const char *label;              /* for rows whose type has none; becomes the last part of the key */
    const char *extra[TAKE_EXTRAS]; /* further columns, for take */
    /* Changes the event, or leaves it out (returns 0). Several workers call it at once. */
    int (*take)(const struct view *view, const struct report_block *block, size_t row, struct view_taken *event);
    /* Fills the map of names before the table is read. The column then holds numbers of that map. */
    int (*names)(struct view *view, struct view_name_map *map, struct error *err);
    /* Returns the name to show for a name of the string pool. */
    uint32_t (*rename)(struct view *view, uint32_t name);
};

/* Sources whose events share rows. */
struct view_family {
    const struct view_source *sources;
    size_t count;
};
extern const struct view_family view_families[];
extern const size_t view_family_count;

/* The name to show for the range of an operator that emit_nvtx made; any other name as it is. */
uint32_t view_operator_name(struct view *view, uint32_t name);
/* Removes the leaves of calls of libraries that stand in a row of NVTX ranges, too: Tacho records them as both. */
int view_drop_doubles(struct view *view, struct error *err);

/* The table that an event comes from; its row there is events.table_row[event]. NULL for a step, which comes from
 * several tables. */
const char *view_event_table(const struct view_row *row, uint32_t event);

#endif
