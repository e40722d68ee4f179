/* CPU samples and context switches from perf events: reads the rings in the collector's loop and makes rows of them.
 *
 * Each round reads twice: first what is said of processes (forks, programs, mappings), up to now; then samples
 * and switches, up to where the rings stood before that. So a sample on one CPU never comes before the mapping
 * that another CPU has told of. */
#ifndef TACHO_COLLECT_SOURCES_PERF_PERF_READER_H
#define TACHO_COLLECT_SOURCES_PERF_PERF_READER_H

#include <stdint.h>
#include <sys/types.h>

struct collector;

/* Opens what the options ask for, on a process that has not called exec yet: 0, or -errno if nothing can be had. Wishes
 * that the machine does not grant are told. */
int perf_start(struct collector *collector, pid_t pid);

/* Recording goes on or off. */
void perf_switch(struct collector *collector, int on);

/* Reads what is there. */
void perf_round(struct collector *collector);

/* Reads the rest and closes all. */
void perf_finish(struct collector *collector);

#endif
