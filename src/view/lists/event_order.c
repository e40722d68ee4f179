/* Reads the order of a list from the arguments of a request. */
#include "event_order.h"

#include <string.h>

#include "view/answer/answer_cache.h"

int event_order_read(struct event_order *order, struct view *view, const struct arguments *arguments, struct error *err)
{
    static const char *const names[EVENT_SORTS] = { "start", "duration", "name", "row" };
    const char *given = argument_text(arguments, "sort", NULL);
    int64_t down = 0;
    int sort = SORT_START, code;

    if ((code = argument_int(arguments, "down", 0, 1, &down, err)) != 0)
        return code;
    if (given)
        for (sort = 0; sort < EVENT_SORTS && strcmp(given, names[sort]) != 0; sort++)
            ;
    if (sort == EVENT_SORTS)
        return error_set(err, ERR_BAD_ARGUMENT, "sort=%.40s: must be start, duration, name or row", given);
    *order = (struct event_order){ view, (enum event_sort)sort, down ? UINT64_MAX : 0, NULL };
    if (sort != SORT_NAME)
        return 0;
    if (!view->cache->name_ranks && !(view->cache->name_ranks = name_ranks_make(view, err)))
        return ERR_NO_MEMORY;
    order->ranks = view->cache->name_ranks;
    return 0;
}
