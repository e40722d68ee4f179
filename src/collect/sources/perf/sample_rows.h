/* CPU samples: rows of COMPOSITE_EVENTS, whose stacks follow at the end of the capture (stack_rows.h); and the address
 * spaces of processes as the kernel's perf events tell of them, programs without an agent included. */
#ifndef TACHO_COLLECT_SOURCES_PERF_SAMPLE_ROWS_H
#define TACHO_COLLECT_SOURCES_PERF_SAMPLE_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/symbols.h"

struct collector;

void samples_free(struct collector *collector);

/* The address space of this pid at this time (CLOCK_MONOTONIC, as all here), as it is known so far; a pid that is new
 * is looked up in /proc. NULL when memory is short. */
struct symbols_process *samples_process(struct collector *collector, pid_t pid, uint64_t time_ns);

/* What perf events tell of. */
void samples_forked(struct collector *collector, pid_t parent, pid_t child, uint64_t time_ns);
void samples_execed(struct collector *collector, pid_t pid, uint64_t time_ns);
void samples_ended(struct collector *collector, pid_t pid);
void samples_mapped(struct collector *collector, pid_t pid, uint64_t time_ns, const struct symbols_mapping *mapping);

/* They may have told of mappings in vain: processes are looked up in /proc again before their next sample. */
void samples_doubt_mappings(struct collector *collector);

struct samples_event {
    int64_t time_ns, global_tid;
    int64_t weight; /* in units of the event that was sampled */
    int64_t cpu;    /* -1: not known */
    int64_t python; /* the id of its Python stack; 0: none */
    struct symbols_walk walk;
};
void samples_add(struct collector *collector, const struct samples_event *event);

#endif
