/* Bounds on the offset of a host from the order of events: an interval for each stretch of its fit. */
#ifndef TACHO_SET_CLOCKS_ORDER_BOUNDS_H
#define TACHO_SET_CLOCKS_ORDER_BOUNDS_H

#include "clock_fit_state.h"
#include "offset_fit.h"

/* An interval of (true offset − fitted offset), ns. */
struct order_interval {
    double low, high;
};

struct order_bounds {
    struct order_interval *exact; /* by stretch, if the places of other hosts are exact */
    struct order_interval *sure;  /* by stretch, with the errors of these places */
};

/* The fit of a host: x is host time − x_ns, y is host time − set time − y_ns. */
struct host_fit {
    uint32_t host;
    int64_t x_ns, y_ns;
    struct offset_fit offsets;
    struct order_bounds bounds;
};

/* Messages between hosts, by the host that they are looked up for. */
struct host_messages {
    size_t *first;     /* by host, and one more */
    uint32_t *numbers; /* numbers of messages */
};
int host_messages_index(struct fit *fit, struct host_messages *index);

/* Fills host_fit->bounds. Returns -1 when memory is short. */
int order_bounds_find(struct fit *fit, const struct host_messages *messages, struct host_fit *host_fit,
                      struct arena *arena);

#endif
