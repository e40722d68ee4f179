/* Counting names row by row, over one table of counters that is swept clean between rows. */
#include "name_counts.h"

#include <stdlib.h>

enum {
    EVENTS_A_NAME = 8,      /* where a name has fewer, a list of names saves nothing */
    MOST_COUNTERS = 1 << 26 /* ids beyond that are of damaged reports */
};

struct counters {
    uint32_t *list[2]; /* owned; by id of the pool, by name of the view's own */
    size_t room[2];
    uint32_t *met;     /* owned; names of this row */
    size_t met_count, met_room;
};

static int find_room(struct counters *counters, const struct view *view)
{
    uint32_t most = 0;

    for (size_t r = 0; r < view->row_count; r++) {
        const struct view_events *events = &view->rows[r].events;
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

/* NULL: it has none. */
static uint32_t *counter_of(struct counters *counters, uint32_t name)
{
    int is_own = (name & VIEW_OWN_NAME) != 0;
    uint32_t id = name & ~(uint32_t)VIEW_OWN_NAME;

    return id < counters->room[is_own] ? &counters->list[is_own][id] : NULL;
}

/* 1 if the names of the row fit a list. */
static int count_names(struct counters *counters, const struct view_events *events)
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

static int tally_row(struct name_counts_row *tally, struct counters *counters, const struct view_events *events)
{
    int fits = count_names(counters, events), code = 0;

    if (fits) {
        tally->list = malloc((counters->met_count + 1) * sizeof *tally->list);
        code = tally->list ? 0 : ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < counters->met_count; i++) {
        uint32_t name = counters->met[i], *counter = counter_of(counters, name);
        if (tally->list)
            tally->list[tally->count++] = (struct name_count){ name, *counter };
        *counter = 0;
    }
    counters->met_count = 0;
    return code;
}

int name_counts_make(struct name_counts *tally, const struct view *view, struct error *err)
{
    struct counters counters = { 0 };
    int code = find_room(&counters, view);

    *tally = (struct name_counts){ .rows = calloc(view->row_count + 1, sizeof *tally->rows),
                                   .row_count = view->row_count };
    code = tally->rows ? code : ERR_NO_MEMORY;
    for (size_t r = 0; r < view->row_count && code == 0; r++)
        code = tally_row(&tally->rows[r], &counters, &view->rows[r].events);
    free(counters.list[0]);
    free(counters.list[1]);
    free(counters.met);
    if (code != 0)
        name_counts_free(tally);
    return code ? error_set(err, code, "not enough memory to count names") : 0;
}

void name_counts_free(struct name_counts *tally)
{
    for (size_t r = 0; tally->rows && r < tally->row_count; r++)
        free(tally->rows[r].list);
    free(tally->rows);
    *tally = (struct name_counts){ 0 };
}
