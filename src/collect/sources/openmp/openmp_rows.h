/* Rows of the tables OPENMP_EVENT_KIND_*, from events that are complete. */
#ifndef TACHO_COLLECT_SOURCES_OPENMP_OPENMP_ROWS_H
#define TACHO_COLLECT_SOURCES_OPENMP_OPENMP_ROWS_H

#include "collect/core/collect_source.h"
#include "wire/wire_openmp.h"

/* A construct of one thread, or a moment. Fields that it does not have are 0. */
struct openmp_event {
    enum wire_openmp_event event;
    uint32_t kind, index, threads;
    uint64_t parallel, task, value, address;
    uint64_t ticks; /* of its begin */
};

enum { OPENMP_KINDS = 16, OPENMP_PLACES_KNOWN = 1024 };

/* What the source keeps for the capture. */
struct openmp_names {
    int64_t ids[WIRE_OPENMP_EVENTS][OPENMP_KINDS]; /* in the writer's string pool; 0: not there yet */
    struct {
        int64_t process;                           /* its global pid */
        uint64_t address;
        int64_t chain;
    } places[OPENMP_PLACES_KNOWN];                 /* by address */
};

/* The process has ended, or these addresses have another meaning now. */
void openmp_forget_places(const struct process *process, uint64_t first, uint64_t bytes);
/* Writes the row of the event, which is counted as recorded. is_cut: its end was not seen. */
void openmp_row(const struct collect_origin *origin, const struct openmp_event *event, int64_t end_ns, int is_cut);

#endif
