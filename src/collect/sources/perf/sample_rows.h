/* CPU samples: rows of COMPOSITE_EVENTS, whose stacks follow at the end of the capture (stack_rows.h); and the address
 * spaces of processes according to perf events, including programs without an agent. */
#ifndef TACHO_COLLECT_SOURCES_PERF_SAMPLE_ROWS_H
#define TACHO_COLLECT_SOURCES_PERF_SAMPLE_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/symbols.h"

struct collector;

void samples_free(struct collector *collector);

/* The address space of a pid at a time (CLOCK_MONOTONIC, as everywhere in this header), as far as it is known; a new
 * pid is looked up in /proc. NULL if out of memory. */
struct symbols_process *samples_process(struct collector *collector, pid_t pid, uint64_t time_ns);

/* Events that perf reports. */
void samples_forked(struct collector *collector, pid_t parent, pid_t child, uint64_t time_ns);
void samples_execed(struct collector *collector, pid_t pid, uint64_t time_ns);
void samples_ended(struct collector *collector, pid_t pid);
void samples_mapped(struct collector *collector, pid_t pid, uint64_t time_ns, const struct symbols_mapping *mapping);

/* Mappings may have been lost: processes are looked up in /proc again before their next sample. */
void samples_doubt_mappings(struct collector *collector);

struct samples_event {
    int64_t time_ns, global_tid;
    int64_t weight; /* in units of the sampled event */
    int64_t cpu;    /* -1: unknown */
    int64_t python; /* the id of its Python stack; 0: none */
    struct symbols_walk walk;
};
void samples_add(struct collector *collector, const struct samples_event *event);

#endif
