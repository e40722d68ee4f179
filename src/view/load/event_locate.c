/* Finds the event of a row of a table. The row is read once more and gives the same key and start as when the view was
 * opened, so that no index from rows to events takes memory. */
#include "event_locate.h"

#include <string.h>

#include "event_search.h"
#include "gather.h"

struct locating {
    struct view *view;
    struct gather gather;
    const uint32_t *table_rows;
    size_t count, next; /* the rows before next are done */
    struct view_place *out;
};

/* The source that reads a table. The sources of derived.c read tables that have one here too. */
static const struct view_family *event_locate_find_source(const char *table, uint32_t *source)
{
    for (size_t f = 0; f < view_family_count; f++)
        for (uint32_t s = 0; s < view_families[f].count; s++)
            if (strcmp(view_families[f].sources[s].table, table) == 0) {
                *source = s;
                return &view_families[f];
            }
    return NULL;
}

/* Among the events of a row that start there. */
static int find_in_row(const struct view_row *row, const struct view_taken *event, int64_t start_ns, uint32_t source,
                       uint32_t *out)
{
    const struct view_events *events = &row->events;

    for (uint32_t lane = 0; lane < events->lane_count; lane++)
        for (uint32_t i = events_from(events, lane, start_ns);
             i < events->lanes[lane + 1] && events->start_ns[i] == start_ns; i++)
            if (events->table_row[i] == event->table_row && event_source(events, i) == source) {
                *out = i;
                return 1;
            }
    return 0;
}

static struct view_place event_locate_find_event(const struct locating *locating, const struct view_taken *event)
{
    const struct view *view = locating->view;
    uint32_t key = keys_find(&view->row_keys, event->key);
    int row = key == NO_KEY ? VIEW_NO_ROW : view->row_of_key[key];
    int64_t start = gather_within(event->start_ns), least = view->origin_ns - VIEW_LAST_TIME,
            most = view->origin_ns + VIEW_LAST_TIME;
    uint32_t found;

    start = start < least ? least : start > most ? most : start;
    for (; row != VIEW_NO_ROW && (size_t)row < view->row_count &&
           memcmp(view->rows[row].key, event->key, sizeof event->key) == 0;
         row++)
        if (find_in_row(&view->rows[row], event, start, locating->gather.source_number, &found))
            return (struct view_place){ row, found };
    return (struct view_place){ VIEW_NO_ROW, 0 };
}

static int event_locate_visit(void *context, int worker, const struct report_block *block)
{
    struct locating *locating = context;
    struct view_taken event = { 0 };

    for (; locating->next < locating->count && locating->table_rows[locating->next] < block->first_row + block->rows;
         locating->next++) {
        uint32_t row = locating->table_rows[locating->next];
        if (row >= block->first_row && gather_take(&locating->gather, block, row - (size_t)block->first_row, &event))
            locating->out[locating->next] = event_locate_find_event(locating, &event);
    }
    return 0;
}

/* Reads one chunk after another, and only chunks that have one of the rows. */
int view_locate(struct view *view, const char *table_name, const uint32_t *table_rows, size_t count,
                struct view_place *out, struct error *err)
{
    struct locating locating = { .view = view, .table_rows = table_rows, .count = count, .out = out };
    const struct report_table *table = report_table(view->report, table_name);
    uint32_t source = 0;
    const struct view_family *family = event_locate_find_source(table_name, &source);
    int columns[TAKE_COLUMNS], code;

    for (size_t i = 0; i < count; i++)
        out[i] = (struct view_place){ VIEW_NO_ROW, 0 };
    if (!family)
        return error_set(err, ERR_NOT_FOUND, "no row of the timeline is made of %s", table_name);
    if (!table || !count)
        return 0;
    if ((code = gather_open(&locating.gather, view, family, err)) != 0)
        return code;
    gather_begin(&locating.gather, source, table, columns);
    for (size_t c = 0; c < report_chunk_count(table) && locating.next < count; c++) {
        struct report_chunk chunk = report_chunk_at(table, c);
        if (table_rows[locating.next] >= chunk.first_row + chunk.rows)
            continue;
        if ((code = report_scan_rows(view->report, table, columns, TAKE_COLUMNS, chunk.first_row, chunk.rows,
                                     event_locate_visit, &locating, err)) != 0)
            goto close_gather;
        while (locating.next < count && table_rows[locating.next] < chunk.first_row + chunk.rows)
            locating.next++; /* the chunk was damaged */
    }
close_gather:
    gather_close(&locating.gather);
    return code;
}
