/* Lists of ranks and patterns of hosts. */
#include "set_filter.h"

#include <fnmatch.h>
#include <string.h>

#include "base/number.h"

int set_filter_check(const struct set_filter *filter, struct error *err)
{
    if (filter->ranks && !number_list_is_valid(filter->ranks))
        return error_set(err, ERR_BAD_ARGUMENT, "'%s' is no list of ranks: write 0,8-15", filter->ranks);
    return 0;
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
    return !filter || ((!filter->ranks || number_list_has(filter->ranks, rank)) && has_host(filter, host));
}
