/* What a set knows of one of its reports. */
#ifndef TACHO_REPORT_READER_REPORT_PART_H
#define TACHO_REPORT_READER_REPORT_PART_H

#include <stddef.h>
#include <stdint.h>

#define REPORT_MOST_PARTS 32767

/* Time of the set = time of the part + offset + rate × (time of the part - at), from `at` of a knot to that of the
 * next; the first and the last hold beyond the ends. */
struct report_knot {
    int64_t at, offset;
    double rate;
};

struct report_part {
    const char *name; /* of the file, for messages */
    const char *host; /* NULL: unknown */
    int64_t rank;     /* -1: unknown */
    /* Upper 16 bits of packed ids, below REPORT_MOST_PARTS: the same for parts in which the same pid is the same
     * process. */
    int64_t system;
    int64_t first_device;
    int repeats_gpus;                /* its GPUs are those of an earlier part */
    const struct report_knot *knots; /* none: the part's times are the set's */
    size_t knot_count;
    const char *clock;               /* what brought its times to those of the set; a constant text */
    int64_t clock_error_ns;          /* how far they may be off; -1: unknown */
};

/* A time of the part as one of the set. */
int64_t report_part_time(const struct report_part *part, int64_t time_ns);

#endif
