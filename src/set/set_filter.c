/* Lists of ranks and patterns of hosts. */
#include "set_filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int take_number(const char **at, int64_t *number)
{
    char *end;

    if (**at < '0' || **at > '9')
        return 0;
    *number = strtoll(*at, &end, 10);
    *at = end;
    return 1;
}

int set_filter_parse(struct set_filter *filter, const char *ranks, const char *hosts, struct error *err)
{
    *filter = (struct set_filter){ .hosts = hosts };
    for (const char *at = ranks; at && *at;) {
        struct set_filter_range range;
        if (!take_number(&at, &range.first))
            goto malformed;
        range.last = range.first;
        if (*at == '-' && (at++, !take_number(&at, &range.last)))
            goto malformed;
        if (range.last < range.first || (*at && (*at != ',' || !at[1])))
            goto malformed;
        at += *at == ',';
        if (array_reserve(&filter->ranks, &filter->rank_capacity, filter->rank_count + 1, sizeof *filter->ranks) != 0)
            return error_set(err, ERR_NO_MEMORY, "out of memory");
        filter->ranks[filter->rank_count++] = range;
    }
    if (!ranks || filter->rank_count)
        return 0;
malformed:
    return error_set(err, ERR_BAD_ARGUMENT, "'%s' is no list of ranks: write 0,8-15", ranks);
}

void set_filter_free(struct set_filter *filter)
{
    free(filter->ranks);
}

static int has_rank(const struct set_filter *filter, int64_t rank)
{
    for (size_t i = 0; i < filter->rank_count; i++)
        if (rank >= filter->ranks[i].first && rank <= filter->ranks[i].last)
            return 1;
    return !filter->rank_count;
}

static int has_host(const struct set_filter *filter, const char *host)
{
    for (const char *at = filter->hosts; at;) {
        char pattern[256];
        size_t length = strcspn(at, ",");
        if (host && length < sizeof pattern) {
            memcpy(pattern, at, length);
            pattern[length] = 0;
            if (fnmatch(pattern, host, 0) == 0)
                return 1;
        }
        at = at[length] ? at + length + 1 : NULL;
    }
    return !filter->hosts;
}

int set_filter_has(const struct set_filter *filter, int64_t rank, const char *host)
{
    return !filter || (has_rank(filter, rank) && has_host(filter, host));
}
