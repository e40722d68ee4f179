/* Arrows from forward operators to their backward ones, for reports that have none. They are matched by process and
 * sequence number: the last forward operator to begin, and the first backward one. */
#ifndef TACHO_EXPORT_TIMELINE_FORWARD_ARROWS_H
#define TACHO_EXPORT_TIMELINE_FORWARD_ARROWS_H

#include "analyze/engine/keys.h"
#include "trace.h"

struct forward_arrow_end {
    int64_t thread, time_ns;
    int is_there;
};

struct forward_arrows {
    struct keys keys;                    /* process, sequence number */
    struct forward_arrow_end (*ends)[2]; /* owned; by key: forward, backward */
    size_t capacity;
};

/* ERR_NO_MEMORY or 0. */
int forward_arrows_add(struct forward_arrows *arrows, int64_t sequence, int is_backward, int64_t thread,
                       int64_t time_ns);
/* Both ends of each arrow that has both. */
int forward_arrows_emit(struct forward_arrows *arrows, struct trace *trace, struct error *err);
void forward_arrows_free(struct forward_arrows *arrows);

#endif
