/* What answers keep from one request to the next: made when it is first needed, dropped with the view. Each
 * part is that of one lane (timeline.h), whose requests are answered one after the other; only the zones, which
 * have a lock, are used by two. */
#ifndef TACHO_VIEW_ANSWER_ANSWER_CACHE_H
#define TACHO_VIEW_ANSWER_ANSWER_CACHE_H

#include "advice_list.h"
#include "analyze/model/stacks/stacks.h"
#include "key_ranges.h"
#include "name_counts.h"
#include "name_search.h"

struct query;

struct view_kept {
    struct key_ranges zones;                 /* VIEW_LANE_EVENT, VIEW_LANE_ADVICE */
    struct search search;
    struct name_counts tally;                /* without rows while nothing was searched for */
    struct stacks stacks[STACK_SOURCES];     /* all samples, with lines */
    int has_stacks[STACK_SOURCES];
    struct advice_list advice, advice_rules; /* what the rules that were run so far found */
    size_t rules_run;
    struct query *query;                     /* NULL while there was no SQL */
};

/* Opening asks for it first, so that it is there whichever lane comes next; NULL when memory is short. */
struct view_kept *view_kept(struct view *view, struct error *err);
void view_kept_free(struct view *view);

#endif
