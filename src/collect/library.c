/* Calls into libraries among the NVTX ranges: see library.h. */
#include "library.h"

#include <string.h>

static const char *const domain_names[] = {
#define LIBRARY(id, name, domain) [WIRE_LIBRARY_##id] = domain,
#include "../wire/libraries.def"
#undef LIBRARY
};

void library_domain_told(struct nvtx_process *process, uint16_t domain, const char *name, size_t length)
{
    for (uint32_t i = 0; i < WIRE_LIBRARY_COUNT; i++)
        if (!library_is_call(process, domain) && strlen(domain_names[i]) == length && memcmp(domain_names[i], name, length) == 0)
            process->own_domains[i] = domain;
}

int library_range_ends(struct nvtx_thread *thread, const struct nvtx_event *event)
{
    const struct nvtx_process *process = thread->process;
    if (!(process->sources & WIRE_BIT(LIBRARY)))
        return 0;
    if (library_is_call(process, event->domain))
        return thread->own_range_ns[event->domain - 1] > event->start;
    for (uint32_t i = 0; i < WIRE_LIBRARY_COUNT; i++)
        if (process->own_domains[i] == event->domain && event->domain)
            thread->own_range_ns[i] = event->start;
    return 0;
}
