/* How far the times of two processes may be off against each other, in a set of reports. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_CLOCK_ERRORS_H
#define TACHO_ANALYZE_MODEL_RANKS_CLOCK_ERRORS_H

#include <stddef.h>
#include <stdint.h>

#include "report/reader/reader.h"

enum { CLOCK_SYSTEMS = 1 << 16 };

/* A report that a merged one was made of. */
struct merged_part {
    int64_t rank;             /* -1: unknown, or several */
    int64_t system;           /* the upper 16 bits of its packed ids; -1: unknown */
    int64_t error_ns;         /* of its clock; -1: unknown */
};
struct merged_parts {
    struct merged_part *list; /* owned */
    size_t count, room;
};
/* None for a set, whose parts are reports themselves, and for a report that was not merged. */
int merged_parts_read(struct merged_parts *parts, struct report *report, struct error *err);
void merged_parts_free(struct merged_parts *parts);

/* {0} is that of a single report: all on one clock. */
struct clock_errors {
    int64_t *by_system; /* owned; of the upper 16 bits of packed ids: the largest of its reports, -1: unknown */
};

int clock_errors_read(struct clock_errors *errors, struct report *report, struct error *err);
void clock_errors_free(struct clock_errors *errors);

/* The error between two threads, by their packed ids. 0 within a process; INT64_MAX: unknown, so that their order is
 * unknown too. */
int64_t clock_errors_of(const struct clock_errors *errors, int64_t thread, int64_t other);

#endif
