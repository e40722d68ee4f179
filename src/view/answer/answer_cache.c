/* The life of what answers keep; see answer_cache.h. */
#include "answer_cache.h"

#include <stdlib.h>

#include "query/query.h"

struct view_kept *view_kept(struct view *view, struct error *err)
{
    if (!view->kept) {
        view->kept = calloc(1, sizeof *view->kept);
        if (view->kept)
            key_ranges_init(&view->kept->zones);
        else
            error_set(err, ERR_NO_MEMORY, "out of memory");
    }
    return view->kept;
}

void view_kept_free(struct view *view)
{
    struct view_kept *kept = view->kept;

    if (!kept)
        return;
    key_ranges_free(&kept->zones);
    name_search_free(&kept->search);
    name_counts_free(&kept->tally);
    for (int source = 0; source < STACK_SOURCES; source++)
        if (kept->has_stacks[source])
            stacks_free(&kept->stacks[source]);
    advice_list_free(&kept->advice);
    advice_list_free(&kept->advice_rules);
    query_close(kept->query);
    free(kept);
    view->kept = NULL;
}
