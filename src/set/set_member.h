/* One report of a set, as its own data describes it. */
#ifndef TACHO_SET_SET_MEMBER_H
#define TACHO_SET_SET_MEMBER_H

#include "base/error.h"
#include "base/intern.h"
#include "report/reader/unite.h"

enum { RANK_UNKNOWN = -1, RANK_SEVERAL = -2 };

/* A moment on all clocks of a host. */
struct set_moment {
    int64_t time_ns; /* time in the report */
    int64_t ticks, monotonic_ns, utc_ns;
};

struct set_member {
    const char *path;
    struct report *report;
    char *host, *boot, *pid_namespace, *job; /* owned; NULL: unknown */
    int64_t rank, world_size;                /* or RANK_…; world_size 0: unknown */
    int64_t first_rank;                      /* the lowest, or RANK_UNKNOWN */
    struct report_rank *ranks;               /* owned; ranks of its processes, if there are several; sorted */
    size_t rank_count, rank_room;
    int has_too_many_ranks;                  /* more than plausible; then the rank is unknown */
    struct intern rank_hosts;                /* the strings that the ranks' hosts point to */
    int64_t *kept_ranks;                     /* owned; if there are several ranks, the requested ones; NULL: all */
    size_t kept_rank_count;
    struct set_moment *moments;              /* owned; in order of time, at most some thousand */
    size_t moment_count, moment_room;
    int has_counter, has_utc;                /* which members of the moments are known */
    int64_t utc_error_ns;                    /* error of UTC as the kernel stated it; -1: it did not */
    int64_t clock_reading_error_ns;          /* the clocks of a moment were read at most this far apart */
    char *gpus;                              /* owned; identifies the GPUs of the report, in their order */
    int64_t gpu_count;                       /* one more than the highest number of a GPU */
    size_t clock_group;                      /* group in the set: its members share a counter, and GPUs */
    int64_t system, first_device;            /* in the set */
    int repeats_gpus;
    struct report_knot *knots;               /* owned; in the set, as all below */
    size_t knot_count;
    const char *clock;
    int64_t clock_error_ns;
};

/* Reads all facts about the report, or the ranks alone. Free it after an error too; the report stays open. */
int set_member_read(struct set_member *member, struct error *err);
int set_member_read_ranks(struct set_member *member, struct error *err);
void set_member_free(struct set_member *member);

/* The ranks of the report, each once, in ascending order; owned by the caller, as many as *count. NULL: out of
 * memory. */
int64_t *set_member_ranks(const struct set_member *member, size_t *count);

#endif
