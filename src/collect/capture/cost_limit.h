/* --cost-limit: keeps what recording costs the program below a share of its CPU time, by recording less.
 *
 * Ten times a second it multiplies the events of each source by the cost of one (overhead.h), asks cost_control.h which
 * level to change, tells the processes, and writes a row of TACHO_COST_LIMIT. All processes of a capture have the same
 * levels, so that they can be compared. */
#ifndef TACHO_COLLECT_CAPTURE_COST_LIMIT_H
#define TACHO_COLLECT_CAPTURE_COST_LIMIT_H

#include <stdint.h>

struct collector;
struct process;

/* 0, or -1 if out of memory. Does nothing without a limit. */
int cost_limit_start(struct collector *collector);
void cost_limit_free(struct collector *collector);

/* The process has ended, and its CPU time is known. */
void cost_limit_process_ends(const struct process *process);

/* The capture ends: warns if the limit was not kept. */
void cost_limit_finish(struct collector *collector);

#endif
