/* Results that answers keep from one request to the next. Each is computed when it is first needed. Each member belongs
 * to one lane (timeline.h), whose requests are answered one after the other; only key_ranges and idle, which have a
 * lock, are used by two. */
#ifndef TACHO_VIEW_ANSWER_ANSWER_CACHE_H
#define TACHO_VIEW_ANSWER_ANSWER_CACHE_H

#include "advice_list.h"
#include "analyze/model/metrics/gpu_metrics.h"
#include "analyze/model/stacks/stacks.h"
#include "key_ranges.h"
#include "name_counts.h"
#include "name_search.h"
#include "view/idle/idle_causes.h"
#include "view/links/rank_links.h"

struct adviser;
struct name_ranks;
struct view_summary;
struct query;

struct answer_cache {
    struct key_ranges key_ranges;            /* VIEW_LANE_EVENT, VIEW_LANE_ADVICE */
    struct name_search search;               /* the last one */
    struct name_counts name_counts;          /* without rows before the first search */
    struct name_ranks *name_ranks;           /* one block; NULL before the first list by name (view/lists) */
    struct stacks stacks[STACK_SOURCES];     /* all samples, with lines */
    int has_stacks[STACK_SOURCES];
    struct advice_list advice, advice_rules; /* from the rules that have run so far */
    size_t rules_run;
    int is_advised;                          /* all rules have run */
    struct adviser *adviser;                 /* until all rules have run; NULL before the first that needs it */
    struct gpu_metrics_share metrics;        /* until all rules have run */
    struct idle_causes idle;                 /* VIEW_LANE_IDLE, VIEW_LANE_EVENT */
    struct view_summary *summary;            /* VIEW_LANE_ADVICE; its parts that were read so far; owned, if not NULL */
    void (*free_summary)(struct view_summary *summary);
    struct rank_links rank_links;            /* VIEW_LANE_EVENT */
    struct query *query;                     /* NULL before the first statement */
};

/* view_open() creates the cache, so that every lane finds it; NULL when memory is short. */
struct answer_cache *answer_cache_new(void);
void answer_cache_free(struct answer_cache *cache); /* NULL is fine */
/* The adviser, which the first call opens: for VIEW_LANE_ADVICE. It stays until all rules have run. */
int answer_cache_adviser(struct answer_cache *cache, struct report *report, struct adviser **out, struct error *err);
void answer_cache_forget_adviser(struct answer_cache *cache);

#endif
