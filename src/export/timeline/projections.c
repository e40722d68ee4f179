/* Annotations on streams. */
#include "projections.h"

#include <stdlib.h>

#include "base/array.h"

static struct projection *projections_find(struct projections *projections, uint32_t annotation,
                                           const struct projection_work *work)
{
    projections->keys.width = 3;
    size_t before = projections->keys.count;
    uint32_t key = keys_add(&projections->keys, (int64_t[]){ annotation, work->device, work->lane });
    if (key == NO_KEY ||
        array_reserve(&projections->list, &projections->capacity, (size_t)key + 1, sizeof *projections->list) != 0)
        return NULL;
    if (projections->keys.count > before)
        projections->list[key] = (struct projection){ work->process, work->stream, work->start_ns, work->end_ns };
    return &projections->list[key];
}

int projections_add(struct projections *projections, const struct call_owners *owners, uint32_t call,
                    const struct projection_work *work)
{
    for (uint32_t at = owners->annotation[call]; at != NO_ANNOTATION; at = owners->annotations[at].parent) {
        struct projection *projection = projections_find(projections, at, work);
        if (!projection)
            return ERR_NO_MEMORY;
        projection->start_ns = work->start_ns < projection->start_ns ? work->start_ns : projection->start_ns;
        projection->end_ns = work->end_ns > projection->end_ns ? work->end_ns : projection->end_ns;
    }
    return 0;
}

void projections_free(struct projections *projections)
{
    if (projections->keys.width)
        keys_free(&projections->keys);
    free(projections->list);
}
