/* Why a process is not recorded, as text. */
#ifndef TACHO_COLLECT_PROCESS_CAUSE_H
#define TACHO_COLLECT_PROCESS_CAUSE_H

#include <stdint.h>

#include "wire/wire_marks.h"

/* The cause in a word that an agent wrote; UNKNOWN if the value is invalid. */
enum wire_cause cause_of(uint32_t word);

/* cause_text(): as it appears in the report. cause_reason(): as the end of a sentence. */
const char *cause_text(enum wire_cause cause);
const char *cause_reason(enum wire_cause cause);

#endif
