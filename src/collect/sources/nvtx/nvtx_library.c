/* Calls into libraries among the NVTX ranges: see nvtx_library.h. */
#include "nvtx_library.h"

#include <string.h>

static const char *const domain_names[] = {
#define LIBRARY(id, name, domain, ...) [WIRE_LIBRARY_##id] = domain,
#include "wire/libraries.def"
#undef LIBRARY
};

void library_domain_told(struct nvtx_process *process, uint16_t domain, const char *name, size_t length)
{
    for (uint32_t i = 0; i < WIRE_LIBRARY_COUNT; i++)
        if (!library_is_call(process, domain) && strlen(domain_names[i]) == length &&
            memcmp(domain_names[i], name, length) == 0)
            process->own_domains[i] = domain;
}

int library_range_ends(struct nvtx_thread *thread, const struct nvtx_event *event)
{
    const struct nvtx_process *process = thread->process;
    if (!(process->sources & WIRE_BIT(LIBRARIES)))
        return 0;
    if (library_is_call(process, event->domain))
        return thread->own_range_ns[event->domain - 1] > event->start;
    for (uint32_t i = 0; i < WIRE_LIBRARY_COUNT; i++)
        if (process->own_domains[i] == event->domain && event->domain)
            thread->own_range_ns[i] = event->start;
    return 0;
}

/* ---- nsys's tables --------------------------------------------------------------------------------------------- */

#define FILL(table, class)                                                                                           \
    struct row_##table row = {0};                                                                                    \
    ROW_SET(&row, table, start, event->start);                                                                       \
    ROW_SET(&row, table, end, place->end);                                                                           \
    ROW_SET(&row, table, eventClass, class);                                                                         \
    ROW_SET(&row, table, globalTid, place->tid);                                                                     \
    ROW_SET(&row, table, nameId, name);                                                                              \
    writer_append(process->writer, TABLE_##table, &row)

enum { CLASS_CUDNN = 28, CLASS_CUBLAS = 29 }; /* of ENUM_NSYS_EVENT_CLASS */

void library_call_row(const struct nvtx_process *process, const struct nvtx_event *event,
                      const struct nvtx_place *place)
{
    int64_t name = nvtx_string(process, event->string);
    if (!place->has_end || name < 0)
        return;
    if (event->domain == WIRE_LIBRARY_CUBLAS + 1) {
        FILL(CUBLAS_EVENTS, CLASS_CUBLAS);
    } else if (event->domain == WIRE_LIBRARY_CUDNN + 1) {
        FILL(CUDNN_EVENTS, CLASS_CUDNN);
    }
}
