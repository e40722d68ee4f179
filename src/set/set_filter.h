/* Which ranks and hosts of a set are meant: "0,8-15", and "node01,gpu*". */
#ifndef TACHO_SET_SET_FILTER_H
#define TACHO_SET_SET_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct set_filter {
    const char *ranks; /* NULL: all */
    const char *hosts; /* patterns with commas between them; NULL: all */
};

int set_filter_check(const struct set_filter *filter, struct error *err);

/* Whether a report of this rank (negative: unknown) and host (NULL: unknown) is meant. */
int set_filter_has(const struct set_filter *filter, int64_t rank, const char *host);

#endif
