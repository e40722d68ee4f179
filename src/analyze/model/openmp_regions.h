/* Parallel regions of OpenMP: what each thread's part of an instance worked and waited.
 *
 * A region has one part for each thread of its team: the thread's implicit task. The time of a part is work, except for
 * waits inside it (barriers, taskwait, locks), and explicit tasks that run inside a wait are work again. A part that
 * ends before its region waits for the others. A region is as long as its busiest thread, so balanced threads would
 * save that thread's work less the mean. */
#ifndef TACHO_ANALYZE_MODEL_OPENMP_REGIONS_H
#define TACHO_ANALYZE_MODEL_OPENMP_REGIONS_H

#include "analyze/engine/keys.h"
#include "base/text.h"
#include "filter.h"

/* An instance of a region. */
struct openmp_region {
    int64_t start_ns, end_ns, process;
    int64_t most_ns, work_ns, wait_ns; /* work of the busiest part; work and waits of all parts */
    int64_t busiest;                   /* the number of that part's thread in its team; -1: not known */
    uint32_t place, parts;
};

/* How long a thread could not work in a span of time although it wanted to; that is no work. */
typedef int64_t openmp_lost(const void *context, int64_t thread, int64_t from_ns, int64_t to_ns);

struct openmp_regions {
    struct report *report;
    const struct filter *filter; /* while they are read */
    struct keys numbers;         /* process, parallelId; numbers index list */
    struct openmp_region *list;
    size_t room;
    struct openmp_span *spans;
    size_t span_count, span_room;
    struct keys chains; /* callchainId; numbers index chain_places */
    struct keys places; /* symbol, file, line */
    uint32_t *chain_places;
    size_t chain_room;
};

/* The instances that pass the filter: list[0 … numbers.count). openmp_regions_free() is safe after an error. */
int openmp_regions_read(struct openmp_regions *regions, struct report *report, const struct filter *filter,
                        struct error *err);
/* Sets most_ns, work_ns, wait_ns, busiest and parts. lost: NULL: none is known. */
int openmp_regions_measure(struct openmp_regions *regions, openmp_lost *lost, const void *context);
void openmp_regions_free(struct openmp_regions *regions);

/* What balanced threads would save of the instance. */
int64_t openmp_region_gain(const struct openmp_region *region);

/* The function of a place, and "file.c:12", or "" if the line is not known. */
const char *openmp_place_function(const struct openmp_regions *regions, uint32_t place);
void openmp_place_line(struct text *out, const struct openmp_regions *regions, uint32_t place);

#endif
