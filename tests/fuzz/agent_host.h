/* The agent inside an ordinary program, so that sanitizers can look at it: see agent_host.c. */
#ifndef TACHO_FUZZ_AGENT_HOST_H
#define TACHO_FUZZ_AGENT_HOST_H

#include <stdint.h>

#include "collect/collect.h"

/* The report of the collector; to be called first. Without it there is none. */
void host_write_to(const char *path);
/* A fresh agent, attached to an arena with so many chunks, as these options have it; and a collector of its own. */
void host_begin(const struct collect_options *options, uint32_t sources, uint32_t chunk_count);
/* The collector reads what was recorded. */
void host_drain(void);
/* Whether the collector has read a warning of these words. */
int host_was_warned(const char *text);
/* The process has ended, and is read to its end: how many records the collector could not make sense of. */
uint64_t host_end(void);
/* The report is complete. */
void host_close(void);

#endif
