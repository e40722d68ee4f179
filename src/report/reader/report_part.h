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

/* The rank of a process, as part of a list that is sorted by pid and then by system. */
struct report_rank {
    int64_t process;  /* packed id of the part, without a thread */
    int64_t rank;
    const char *host; /* NULL: that of the part */
};

struct report_part {
    const char *name; /* of the file, for messages */
    const char *host; /* NULL: unknown */
    int64_t rank;     /* -1: unknown, or several */
    /* The ranks of its processes, for a part of several ranks. */
    const struct report_rank *ranks;
    size_t rank_count;
    /* For a part of several ranks: rows of other ranks are left out. Sorted. NULL: none are. */
    const int64_t *kept_ranks;
    size_t kept_rank_count;
    /* Upper 16 bits of packed ids, below REPORT_MOST_PARTS: the same for parts in which the same pid is the same
     * process. -1: packed ids stay as they are. */
    int64_t system;
    int64_t first_device;
    int repeats_gpus;                /* its GPUs are those of an earlier part */
    const struct report_knot *knots; /* none: the part's times are the set's */
    size_t knot_count;
    const char *clock;               /* what brought its times to those of the set; a constant text */
    int64_t clock_error_ns;          /* how far they may be off; -1: unknown */
};

/* Sorts a list of ranks, as a part needs it. */
void report_ranks_sort(struct report_rank *ranks, size_t count);

/* Whether rows of this rank are in the set. */
int report_part_keeps(const struct report_part *part, int64_t rank);

/* Offset and drift of the part's clock: where its map begins, and on average over the map, in parts per million. */
int64_t report_part_offset(const struct report_part *part);
double report_part_drift(const struct report_part *part);

/* A time of the part as one of the set. */
int64_t report_part_time(const struct report_part *part, int64_t time_ns);

#endif
