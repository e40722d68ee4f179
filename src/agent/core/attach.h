/* The handshake with the collector: see attach.c. */
#ifndef TACHO_AGENT_CORE_ATTACH_H
#define TACHO_AGENT_CORE_ATTACH_H

#include "agent.h"

/* Asks the collector for an arena and maps it: 0, or -errno. Fills `agent`. */
int attach_arena(enum wire_origin origin);
int attach_flush(void); /* waits until the collector has written all events to the report: 0, or -errno */

#endif
