/* The ranks or the hosts of a set, each as a report of its own, for `--by rank` and `--by host`. */
#ifndef TACHO_SET_SET_GROUPS_H
#define TACHO_SET_SET_GROUPS_H

#include "report/reader/unite.h"

enum set_by { SET_BY_NONE, SET_BY_RANK, SET_BY_HOST };

struct set_group {
    int64_t rank;        /* -1: unknown, or grouped by host */
    const char *host;    /* string of the set; NULL: unknown */
    size_t first, count; /* index and number in set_groups.choices */
};

struct set_groups {
    struct set_group *list; /* owned, as all below; by rank, or by name of the host; an unknown one is the last */
    size_t count;
    struct report_choice *choices;
    int64_t *ranks;
};

/* Groups the parts of a set, and the ranks within parts of several ranks. Rows without a rank in these parts are in no
 * group. Freed by the caller after an error too. */
int set_groups_make(struct set_groups *groups, const struct report *set, enum set_by by, struct error *err);
void set_groups_free(struct set_groups *groups);

/* The events of a group. Close it before the next is opened. */
int set_group_open(const struct set_groups *groups, size_t index, struct report *set, struct report **out,
                   struct error *err);

#endif
