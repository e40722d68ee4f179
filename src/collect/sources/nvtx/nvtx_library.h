/* Calls into libraries among the NVTX ranges, and ranges that a library makes itself.
 *
 * The agent makes push/pop ranges of the calls that it interposes, in the first domains (libraries.def). A library
 * that annotates itself (NCCL) makes a range inside such a call, with payloads: then that range is kept and the
 * agent's is dropped. */
#ifndef TACHO_COLLECT_SOURCES_NVTX_NVTX_LIBRARY_H
#define TACHO_COLLECT_SOURCES_NVTX_NVTX_LIBRARY_H

#include "nvtx_state.h"

/* Does the agent make the ranges of this domain? */
static inline int library_is_call(const struct nvtx_process *process, uint16_t domain)
{
    return domain - 1u < WIRE_LIBRARY_COUNT && (process->sources & WIRE_BIT(LIBRARIES));
}

/* Does an event count for the libraries? If NVTX itself is not enabled, all NVTX events do. */
static inline int library_counts(const struct nvtx_process *process, uint16_t domain)
{
    return library_is_call(process, domain) ||
           (process->sources & (WIRE_BIT(LIBRARIES) | WIRE_BIT(NVTX))) == WIRE_BIT(LIBRARIES);
}

/* The program has created a domain: remembers it if it belongs to a library. */
void library_domain_told(struct nvtx_process *process, uint16_t domain, const char *name, size_t length);

/* Writes a call into nsys's own table of such calls, if there is one. */
void library_call_row(const struct nvtx_process *process, const struct nvtx_event *event,
                      const struct nvtx_place *place);

/* A push/pop range has ended. Returns 1 if it is a call that the library has annotated itself: it gets no row. */
int library_range_ends(struct nvtx_thread *thread, const struct nvtx_event *event);

#endif
