/* The tree of processes in `tacho info`. */
#ifndef TACHO_CMD_INFO_INFO_PROCESSES_H
#define TACHO_CMD_INFO_INFO_PROCESSES_H

#include "base/text.h"
#include "report/reader/reader.h"

/* Adds the process tree with the exit status of each process; at most limit lines, of which *left did not fit. Those
 * that took most CPU time, with their descendants, come first. */
int info_add_processes(struct text *out, struct report *report, size_t limit, size_t *left, struct error *err);

#endif
