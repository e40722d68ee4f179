/* Counters of the CPU and of the kernel, read so many times a second: rows of PMU_EVENTS.
 *
 * A counting perf event for each counter and CPU, of the program's processes or of all. They are only read, never
 * sampled, so that they cost the program next to nothing. */
#ifndef TACHO_COLLECT_SOURCES_PERF_COUNTER_ROWS_H
#define TACHO_COLLECT_SOURCES_PERF_COUNTER_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct collector;
struct event;

struct counters {
    struct counter *list; /* by CPU, then by event; NULL: none is counted */
    size_t count, event_count;
    struct event *timer;
    int64_t read_ns;      /* when they were read last */
    int64_t row_id;
};

/* Before the program runs; pid 0: it runs already. What is refused is warned of, with the reason. */
void counters_start(struct collector *collector, pid_t pid);

/* Recording goes on or off: what was counted up to now belongs to the time before. */
void counters_switch(struct collector *collector);

/* The last row; then, whatever came of the capture, the end. */
void counters_finish(struct collector *collector);
void counters_free(struct counters *counters);

#endif
