/* The details of a gap: its causes, and the chain of events that lead to it. */
#ifndef TACHO_VIEW_IDLE_GAP_DETAILS_H
#define TACHO_VIEW_IDLE_GAP_DETAILS_H

#include "idle_causes.h"
#include "view/links/event_list.h"

struct gap_chain {
    struct view_place gap, work, call, operator; /* all but the first may be VIEW_NO_PLACE */
    struct view_place wait;                      /* filled by gap_details_add(): the call in which the thread waited */
};

/* The work that ended a gap, or VIEW_NO_PLACE. */
int gap_details_work(struct view *view, struct view_place gap, struct view_place *out, struct error *err);

/* Adds {"cause", "causes": […], "more", "chain": […]}: see docs/view-api.md. After idle_causes_find(). */
int gap_details_add(struct text *out, struct view *view, const struct idle_causes *causes, struct gap_chain *chain,
                    struct error *err);

#endif
