/* Why a process is not recorded, in words. */
#ifndef TACHO_COLLECT_PROCESS_CAUSE_H
#define TACHO_COLLECT_PROCESS_CAUSE_H

#include <stdint.h>

#include "wire/wire_marks.h"

/* A cause as an agent tells it; UNKNOWN, if it makes no sense. */
enum wire_cause cause_of(uint32_t word);

/* The cause as it stands in the report; and as the end of a sentence. */
const char *cause_text(enum wire_cause cause);
const char *cause_reason(enum wire_cause cause);

#endif
