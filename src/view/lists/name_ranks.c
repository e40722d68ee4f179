/* Ranks the names that events have. */
#include "name_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/load/event_search.h"

enum { MOST_IDS = 1 << 26 }; /* greater ids come from damaged reports */

struct name_ranks_named {
    const char *text;
    size_t length, place; /* in the list of ranks */
};

static int by_text(const void *a, const void *b)
{
    const struct name_ranks_named *left = a, *right = b;
    size_t shorter = left->length < right->length ? left->length : right->length;
    int order = shorter ? memcmp(left->text, right->text, shorter) : 0;

    return order ?: COMPARE(left->length, right->length);
}

static void name_ranks_find_room(const struct view *view, size_t room[2])
{
    room[0] = room[1] = 0;
    for (size_t r = 0; r < view->row_count; r++)
        for (uint32_t i = 0; i < view->rows[r].events.count; i++) {
            uint32_t name = event_name(&view->rows[r].events, i), id = name & ~(uint32_t)VIEW_OWN_NAME;
            size_t *own = &room[(name & VIEW_OWN_NAME) != 0];
            *own = id >= *own && id < MOST_IDS ? (size_t)id + 1 : *own;
        }
}

/* Marks each name that an event has, with 1. */
static void name_ranks_mark(struct name_ranks *ranks, const struct view *view)
{
    for (size_t r = 0; r < view->row_count; r++)
        for (uint32_t i = 0; i < view->rows[r].events.count; i++) {
            uint32_t name = event_name(&view->rows[r].events, i), id = name & ~(uint32_t)VIEW_OWN_NAME;
            int is_own = (name & VIEW_OWN_NAME) != 0;
            if (id < ranks->room[is_own])
                ranks->list[(is_own ? ranks->room[0] : 0) + id] = 1;
        }
}

static int rank_names(struct name_ranks *ranks, struct view *view)
{
    size_t count = 0, capacity = 0, room = ranks->room[0] + ranks->room[1];
    struct name_ranks_named *names = NULL;

    for (size_t i = 0; i < room; i++) {
        if (!ranks->list[i])
            continue;
        if (array_reserve(&names, &capacity, count + 1, sizeof *names) != 0) {
            free(names);
            return ERR_NO_MEMORY;
        }
        uint32_t name = (uint32_t)(i < ranks->room[0] ? i : (i - ranks->room[0]) | VIEW_OWN_NAME);
        names[count].text = view_name(view, name, &names[count].length);
        names[count++].place = i;
    }
    if (count)
        qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++)
        ranks->list[names[i].place] = i && by_text(&names[i - 1], &names[i]) == 0 ? ranks->list[names[i - 1].place]
                                                                                  : (uint32_t)i;
    free(names);
    return 0;
}

struct name_ranks *name_ranks_make(struct view *view, struct error *err)
{
    size_t room[2];
    struct name_ranks *ranks;

    name_ranks_find_room(view, room);
    ranks = calloc(1, sizeof *ranks + (room[0] + room[1]) * sizeof *ranks->list);
    if (ranks) {
        memcpy(ranks->room, room, sizeof room);
        name_ranks_mark(ranks, view);
        if (rank_names(ranks, view) == 0)
            return ranks;
        free(ranks);
    }
    error_short_memory(err, "to sort names");
    return NULL;
}
