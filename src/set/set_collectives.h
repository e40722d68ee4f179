/* The collectives that the reports of a set have in common: the ranks of a job enter and leave them together. */
#ifndef TACHO_SET_SET_COLLECTIVES_H
#define TACHO_SET_SET_COLLECTIVES_H

#include "base/error.h"
#include "set/clocks/clock_fit.h"
#include "set_member.h"

struct set_collectives {
    struct clock_entry *entries; /* entries of synchronising collectives, instance by instance */
    size_t *instance_first;      /* instance_count + 1 */
    size_t entry_count, instance_count;
};

/* If there are many, a part is read: the same instances on every rank. Freed by the caller after an error too. */
int set_collectives_read(struct set_collectives *collectives, const struct set_member *members, size_t count,
                         struct error *err);
void set_collectives_free(struct set_collectives *collectives);

#endif
