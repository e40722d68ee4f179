/* The end of a process, noticed by whoever it was: by our own wait call, its pidfd, its exec. */
#ifndef TACHO_COLLECT_CAPTURE_PROCESS_END_H
#define TACHO_COLLECT_CAPTURE_PROCESS_END_H

#include <stdint.h>

#include "collect/process/process.h"

/* It runs no more: drains what is left, finishes its ranges and threads, writes its last rows, gives memory back. */
void process_end(struct process *process, enum process_ending ending, int status, int64_t end_ns);

/* The same for one whose end, or whose exec, was just noticed: what is left in its arena, up to all of it, is read in
 * rounds, so that others who come in meanwhile need not wait for it: see drain_rounds_end_next(). */
void process_end_soon(struct process *process, enum process_ending ending, int status, int64_t end_ns);

/* What our own wait call said about it: ends it, if it has not ended yet. Not while draining. */
void process_end_by_status(struct process *process, int wait_status);

#endif
