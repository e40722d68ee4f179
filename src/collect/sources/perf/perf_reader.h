/* CPU samples and context switches from perf events: reads the rings in the collector's event loop and writes rows.
 *
 * Each round makes two passes: the first handles records about processes (forks, programs, mappings) up to now; the
 * second handles samples and switches up to where the rings ended before the first pass. So a sample from one CPU is
 * never handled before a mapping that another CPU's ring reported earlier. */
#ifndef TACHO_COLLECT_SOURCES_PERF_PERF_READER_H
#define TACHO_COLLECT_SOURCES_PERF_PERF_READER_H

#include <stdint.h>
#include <sys/types.h>

struct collector;

/* Opens the events that the options request, on a process that has not called exec yet: 0, or -errno if nothing is
 * available. The user is told about requests that the machine does not support. */
int perf_start(struct collector *collector, pid_t pid);

/* Recording goes on or off. */
void perf_switch(struct collector *collector, int on);

/* --cost-limit: enum perf_level. */
void perf_set_level(struct collector *collector, int level);

/* Reads all new records. */
void perf_round(struct collector *collector);

/* Reads the rest and closes everything. */
void perf_finish(struct collector *collector);

#endif
