/* The program begins or ends recording, at once in this process, soon in all others: see capture_control.c. */
#ifndef TACHO_AGENT_CORE_CAPTURE_CONTROL_H
#define TACHO_AGENT_CORE_CAPTURE_CONTROL_H

#include "wire/wire.h"

void agent_capture_begin(enum wire_capture cause);
void agent_capture_end(enum wire_capture cause);

#endif
