/* Calls of sources that do not number them: they are counted in the order in which they begin, by process and
 * communicator. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_COLLECTIVE_ORDER_H
#define TACHO_ANALYZE_MODEL_RANKS_COLLECTIVE_ORDER_H

#include "collectives_state.h"

struct ordered_call {
    uint64_t communicator; /* its name */
    int64_t rank;          /* used if that of the process is not known */
    struct collective_call call;
};

struct ordered_calls {
    struct ordered_call *list; /* owned */
    size_t count, room;
};

int ordered_calls_append(struct ordered_calls *calls, const struct ordered_call *call);
/* Numbers all calls and adds them. The communicators are known to `all`. */
int ordered_calls_add(struct collectives *all, struct ordered_calls *calls);
void ordered_calls_free(struct ordered_calls *calls);

/* The communicator with this name, which is described if it is new: "TEXT N" for a number above 0, else "TEXT". 0, or
 * ERR_NO_MEMORY. */
int ordered_communicator(struct collectives *all, uint64_t name, const char *text, int64_t number, int64_t size,
                         int is_guessed);

#endif
