/* When recording is on: delay, duration, capture ranges, and who switches what.
 *
 * The agent of the process that asks flips its own switch at once and leaves word (struct wire_switch); the collector flips
 * the others when it reads of it, and decides alone what the end of a range means. */
#ifndef TACHO_COLLECT_CAPTURE_H
#define TACHO_COLLECT_CAPTURE_H

#include <stdint.h>

#include "../wire/wire.h"

struct collector;
struct process;
struct event;

struct capture {
    int armed;             /* the delay is over */
    int on;                /* recording, in all processes */
    int done;              /* no range may begin any more */
    unsigned open;         /* ranges that are on at the moment, over all processes */
    uint32_t ranges_left;  /* that may still begin; UINT32_MAX: any number */
    int64_t on_since_ns;
    const char *cause;     /* of the span that is on: see TACHO_RANGE */
    int64_t recorded_ns;   /* sum of the spans that are over */
    char elsewhere[64];    /* a domain that had the range which was waited for in another; "": none is known */
    struct event *delay, *duration;
};

int capture_init(struct collector *collector);
void capture_free(struct collector *collector);

/* The program has been started. */
void capture_begin(struct collector *collector);

/* Settings and switch of a new arena. */
void capture_prepare_arena(struct collector *collector, struct wire_header *arena);

/* Takes the switches that a process has pressed since the last time. */
void capture_hear(struct collector *collector, struct process *process);

/* Ranges that a process had open end with it. */
void capture_process_ends(struct collector *collector, struct process *process, int64_t time_ns);

/* Recording off everywhere, for good. */
void capture_end(struct collector *collector, int64_t time_ns);

#endif
