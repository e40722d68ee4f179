/* Which ranks and hosts of a set are meant: "0,8-15", and "node01,gpu*". */
#ifndef TACHO_SET_SET_FILTER_H
#define TACHO_SET_SET_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct set_filter {
    struct set_filter_range {
        int64_t first, last;
    } *ranks;
    size_t rank_count, rank_capacity;
    const char *hosts; /* patterns with commas between them; NULL: all */
};

/* Either may be NULL: all. `hosts` must stay valid. Freed by the caller after an error too. */
int set_filter_parse(struct set_filter *filter, const char *ranks, const char *hosts, struct error *err);
void set_filter_free(struct set_filter *filter);

/* Whether a report of this rank (negative: unknown) and host (NULL: unknown) is meant. */
int set_filter_has(const struct set_filter *filter, int64_t rank, const char *host);

#endif
