/* OS calls that were too short for records: counted by each thread and function in its slot (wire_short_calls), added
 * up by process here, and written as rows of TACHO_SHORT_CALL. */
#ifndef TACHO_COLLECT_SOURCES_OSRT_OSRT_SHORT_H
#define TACHO_COLLECT_SOURCES_OSRT_OSRT_SHORT_H

#include "collect/process/process.h"
#include "osrt_records.h"

/* Adds what the thread has counted since the last call. */
void osrt_short_take(struct process *process, struct process_reader *reader, const struct wire_thread *slot);
void osrt_short_thread_end(struct process_reader *reader);

/* Writes what has been added since the last call. */
void osrt_short_write(struct osrt *osrt, struct process *process);
void osrt_short_process_free(struct process *process);

#endif
