/* Counts names row by row, in one array of counters whose used entries are cleared after each row. */
#include "name_counts.h"

#include <stdlib.h>

enum {
    EVENTS_A_NAME = 8,      /* with fewer events for each name, a list of names saves nothing */
    MOST_COUNTERS = 1 << 26 /* greater ids come from damaged reports */
};

struct name_counts_counters {
    uint32_t *list[2]; /* owned; by id of the pool, by name of the view's own */
    size_t room[2];
    uint32_t *met;     /* owned; names of this row */
    size_t met_count, met_room;
};

static int name_counts_find_room(struct name_counts_counters *counters, const struct view *view)
{
    uint32_t most = 0;

    for (size_t r = 0; r < view->row_count; r++) {
        const struct view_events *events = &view->rows[r].events;
        if (events->is_named_late)
            continue;
        most = events->count > most ? events->count : most;
        for (uint32_t i = 0; i < events->count; i++) {
            int is_own = (events->name[i] & VIEW_OWN_NAME) != 0;
            size_t room = (events->name[i] & ~(uint32_t)VIEW_OWN_NAME) + (size_t)1;
            counters->room[is_own] = room > counters->room[is_own] && room <= MOST_COUNTERS ? room
                                                                                            : counters->room[is_own];
        }
    }
    counters->met_room = most / EVENTS_A_NAME + 1;
    for (int is_own = 0; is_own < 2; is_own++)
        counters->list[is_own] = calloc(counters->room[is_own] + 1, sizeof *counters->list[is_own]);
    counters->met = malloc(counters->met_room * sizeof *counters->met);
    return counters->list[0] && counters->list[1] && counters->met ? 0 : ERR_NO_MEMORY;
}

/* NULL if the id is too great for a counter. */
static uint32_t *counter_of(struct name_counts_counters *counters, uint32_t name)
{
    int is_own = (name & VIEW_OWN_NAME) != 0;
    uint32_t id = name & ~(uint32_t)VIEW_OWN_NAME;

    return id < counters->room[is_own] ? &counters->list[is_own][id] : NULL;
}

/* Returns 1 if the row has few enough names for a list. */
static int count_names(struct name_counts_counters *counters, const struct view_events *events)
{
    size_t most = events->count / EVENTS_A_NAME + 1;

    for (uint32_t i = 0; i < events->count; i++) {
        uint32_t *counter = counter_of(counters, events->name[i]);
        if (!counter || (*counter == 0 && counters->met_count == most))
            return 0;
        if (*counter == 0)
            counters->met[counters->met_count++] = events->name[i];
        ++*counter;
    }
    return 1;
}

static int count_row(struct name_counts_row *counts, struct name_counts_counters *counters,
                     const struct view_events *events)
{
    if (count_names(counters, events)) {
        counts->list = malloc((counters->met_count + 1) * sizeof *counts->list);
        if (!counts->list)
            return ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < counters->met_count; i++) {
        uint32_t name = counters->met[i], *counter = counter_of(counters, name);
        if (counts->list)
            counts->list[counts->count++] = (struct name_count){ name, *counter };
        *counter = 0;
    }
    counters->met_count = 0;
    return 0;
}

static int name_counts_rows(struct name_counts *counts, struct name_counts_counters *counters, const struct view *view)
{
    int code;

    counts->rows = calloc(view->row_count + 1, sizeof *counts->rows);
    if (!counts->rows)
        return ERR_NO_MEMORY;
    counts->row_count = view->row_count;
    for (size_t r = 0; r < view->row_count; r++)
        if (!view->rows[r].events.is_named_late &&
            (code = count_row(&counts->rows[r], counters, &view->rows[r].events)) != 0)
            return code;
    return 0;
}

int name_counts_make(struct name_counts *out, const struct view *view, struct error *err)
{
    struct name_counts counts = { 0 };
    struct name_counts_counters counters = { 0 };
    int code = 0;

    if ((name_counts_find_room(&counters, view) != 0 || name_counts_rows(&counts, &counters, view) != 0) &&
        (code = error_short_memory(err, "to count names")) != 0)
        goto done;
    *out = counts;
    counts = (struct name_counts){ 0 };
done:
    name_counts_free(&counts);
    free(counters.list[0]);
    free(counters.list[1]);
    free(counters.met);
    return code;
}

void name_counts_free(struct name_counts *counts)
{
    for (size_t r = 0; r < counts->row_count; r++)
        free(counts->rows[r].list);
    free(counts->rows);
    *counts = (struct name_counts){ 0 };
}
