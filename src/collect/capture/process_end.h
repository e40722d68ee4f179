/* The end of a process, however it is noticed: by our wait(), its pidfd or its exec. */
#ifndef TACHO_COLLECT_CAPTURE_PROCESS_END_H
#define TACHO_COLLECT_CAPTURE_PROCESS_END_H

#include <stdint.h>

#include "collect/process/process.h"

/* The process has ended: drains what is left, closes its ranges and threads, writes its last rows, frees its memory. */
void process_end(struct process *process, enum process_ending ending, int status, int64_t end_ns);

/* The same for a process whose end or exec was just noticed. Its arena may be full, so it is read in rounds: processes
 * that attach in the meantime do not have to wait. See drain_rounds_end_next(). */
void process_end_soon(struct process *process, enum process_ending ending, int status, int64_t end_ns);

/* The status from our own wait(): ends the process if it has not ended yet. Must not be called while draining. */
void process_end_by_status(struct process *process, int wait_status);

#endif
