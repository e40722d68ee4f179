/* Creates and frees the cache: see answer_cache.h. */
#include "answer_cache.h"

#include <stdlib.h>

#include "analyze/advice/adviser.h"
#include "query/query.h"

struct answer_cache *answer_cache_new(void)
{
    struct answer_cache *cache = calloc(1, sizeof *cache);

    if (cache) {
        key_ranges_init(&cache->key_ranges);
        idle_causes_init(&cache->idle);
    }
    return cache;
}

int answer_cache_adviser(struct answer_cache *cache, struct report *report, struct adviser **out, struct error *err)
{
    int code;

    if (!cache->adviser) {
        struct adviser *adviser = malloc(sizeof *adviser);
        if (!adviser)
            return error_short_memory(err, "for the advice");
        if ((code = adviser_open(adviser, report, &(struct analysis_request){ 0 }, err)) != 0) {
            free(adviser);
            return code;
        }
        cache->adviser = adviser;
    }
    *out = cache->adviser;
    return 0;
}

void answer_cache_forget_adviser(struct answer_cache *cache)
{
    if (cache->adviser)
        adviser_free(cache->adviser);
    free(cache->adviser);
    cache->adviser = NULL;
}

void answer_cache_free(struct answer_cache *cache)
{
    if (!cache)
        return;
    key_ranges_free(&cache->key_ranges);
    name_search_free(&cache->search);
    name_counts_free(&cache->name_counts);
    free(cache->name_ranks);
    for (int source = 0; source < STACK_SOURCES; source++)
        stacks_free(&cache->stacks[source]);
    advice_list_free(&cache->advice);
    advice_list_free(&cache->advice_rules);
    answer_cache_forget_adviser(cache);
    if (cache->summary)
        cache->free_summary(cache->summary);
    gpu_metrics_share_free(&cache->metrics);
    idle_causes_free(&cache->idle);
    rank_links_free(&cache->rank_links);
    query_close(cache->query);
    free(cache);
}
