/* The place of each name of an event in the order of their texts, so that a list sorted by name compares numbers. */
#ifndef TACHO_VIEW_LISTS_NAME_RANKS_H
#define TACHO_VIEW_LISTS_NAME_RANKS_H

#include "view/load/view_state.h"

struct name_ranks {
    size_t room[2];  /* for ids of the pool; for the view's own names */
    uint32_t list[]; /* both, one after the other; equal texts have the same number */
};

/* In one block of malloc(), which the caller owns; NULL with an error. */
struct name_ranks *name_ranks_make(struct view *view, struct error *err);

/* A name that is too great for the list comes from a damaged report, and comes after all others. */
static inline uint32_t name_rank(const struct name_ranks *ranks, uint32_t name)
{
    int is_own = (name & VIEW_OWN_NAME) != 0;
    uint32_t id = name & ~(uint32_t)VIEW_OWN_NAME;

    return id < ranks->room[is_own] ? ranks->list[(is_own ? ranks->room[0] : 0) + id] : UINT32_MAX;
}

#endif
