/* Annotations on streams, and their events. */
#include "projections.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/saturating.h"
#include "trace.h"

static struct projection *find(struct projections *projections, uint32_t annotation, const struct trace_event *work)
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

int projections_add(struct projections *projections, const struct owners *owners, uint32_t call,
                    const struct trace_event *work)
{
    for (uint32_t at = owners->annotation[call]; at != NO_ANNOTATION; at = owners->annotations[at].parent) {
        struct projection *projection = find(projections, at, work);
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

int trace_projections(struct trace *trace, struct error *err)
{
    const struct projections *projections = &trace->projections;
    int code = 0;

    for (uint32_t i = 0; i < projections->keys.count && code == 0; i++) {
        const struct annotation *annotation = &trace->owners.annotations[*keys_get(&projections->keys, i)];
        const struct projection *projection = &projections->list[i];
        /* Wider by a nanosecond on both sides, as torch has them, so that nothing begins or ends together with them. */
        struct trace_event *event = trace_begin(trace, TRACE_SPAN, "gpu_user_annotation",
                                                saturating_subtract(projection->start_ns, 1),
                                                saturating_add(projection->end_ns, 1));
        event->name = (struct trace_string){ .id = annotation->name };
        event->name.bytes = annotation->name < 0 ? ""
                                                 : report_string(trace->report, annotation->name, &event->name.length);
        if (trace_on_stream(trace, projection->process, keys_get(&projections->keys, i)[1], projection->stream) != 0)
            return error_set(err, ERR_NO_MEMORY, "out of memory");
        trace_arg_int(event, "External id", annotation->external);
        code = trace_emit(trace, err);
    }
    return code;
}
