/* Annotations projected onto a GPU: on each stream, from the begin of the first work that was launched inside one to
 * the end of the last. Traces of torch have them; for other reports they are computed. */
#ifndef TACHO_EXPORT_TIMELINE_PROJECTIONS_H
#define TACHO_EXPORT_TIMELINE_PROJECTIONS_H

#include "analyze/engine/keys.h"
#include "call_owners.h"

struct projection {
    int64_t process, stream, start_ns, end_ns;
};

struct projections {
    struct keys keys;        /* annotation, device, lane */
    struct projection *list; /* owned; by key */
    size_t capacity;
};

struct projection_work {
    int64_t process, device, lane, stream, start_ns, end_ns;
};

/* Work that the call launched belongs to all annotations around the call. ERR_NO_MEMORY or 0. */
int projections_add(struct projections *projections, const struct call_owners *owners, uint32_t call,
                    const struct projection_work *work);
void projections_free(struct projections *projections);

#endif
