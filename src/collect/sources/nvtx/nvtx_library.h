/* Which NVTX ranges are calls into libraries, and which of those a library has told of itself.
 *
 * The agent makes push/pop ranges of the calls that it stands before, in the first domains (libraries.def).
 * A library that annotates itself (NCCL) makes a range inside such a call, with payloads: then that one is
 * kept and the agent's is not. */
#ifndef TACHO_COLLECT_SOURCES_NVTX_NVTX_LIBRARY_H
#define TACHO_COLLECT_SOURCES_NVTX_NVTX_LIBRARY_H

#include "nvtx_state.h"

/* Whether the agent makes the ranges of this domain. */
static inline int library_is_call(const struct nvtx_process *process, uint16_t domain)
{
    return domain - 1u < WIRE_LIBRARY_COUNT && (process->sources & WIRE_BIT(LIBRARY));
}

/* Whether an event counts for the libraries: the rest of NVTX does too, where NVTX itself was not asked for. */
static inline int library_counts(const struct nvtx_process *process, uint16_t domain)
{
    return library_is_call(process, domain) ||
           (process->sources & (WIRE_BIT(LIBRARY) | WIRE_BIT(NVTX))) == WIRE_BIT(LIBRARY);
}

/* The program has made a domain: is it a library's own? */
void library_domain_told(struct nvtx_process *process, uint16_t domain, const char *name, size_t length);

/* A call has its range: what nsys's own tables of such calls have of it, where there is one. */
void library_call_row(const struct nvtx_process *process, const struct nvtx_event *event,
                      const struct nvtx_place *place);

/* A push/pop range is over. 1: it is a call that the library has told of itself, and makes no row. */
int library_range_ends(struct nvtx_thread *thread, const struct nvtx_event *event);

#endif
