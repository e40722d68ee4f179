/* The hosts and ranks that the rows of a job are grouped by. */
#ifndef TACHO_VIEW_LOAD_JOB_ROWS_H
#define TACHO_VIEW_LOAD_JOB_ROWS_H

#include "analyze/engine/keys.h"
#include "analyze/model/ranks/process_ranks.h"

enum { NO_HOST = -1 };

struct row_host {
    int64_t name;            /* string id; 0: unknown */
    int64_t first_rank;      /* the lowest; INT64_MAX: it has none */
    size_t rank_count;
    int64_t clock_error_ns;  /* the largest of its reports; -1: unknown */
    int64_t clock_method;    /* string id of TACHO_CLOCK_OFFSET.method: that of the largest error */
    int has_clock, is_mixed; /* its reports got their times in one way; in several ways */
};

/* A place in the job: a rank of a host, a host, or neither. */
struct rank_place {
    int host;     /* number in the list, or NO_HOST */
    int64_t rank; /* -1: none */
};

struct job_rows {
    struct process_ranks processes;
    struct row_host *hosts;           /* owned; by their lowest rank */
    size_t host_count, host_room;
    size_t rank_count;                /* on all hosts */
    struct keys systems;              /* numbers of systems → system_hosts */
    int *system_hosts;                /* owned */
    size_t system_room;
    struct keys devices;              /* GPUs → device_places */
    struct rank_place *device_places; /* owned */
    size_t device_room;
};

/* A report of less than two ranks has no hosts. Freed by the caller after an error too. */
int job_rows_read(struct job_rows *ranks, struct report *report, struct error *err);
void job_rows_free(struct job_rows *ranks);

/* The place of a process, by its packed id. */
struct rank_place job_rows_of_process(const struct job_rows *ranks, int64_t process);
/* The host of a system, by its number, the upper 16 bits of packed ids. */
struct rank_place job_rows_of_system(const struct job_rows *ranks, int64_t system);
/* Notes that a process uses a GPU. */
int job_rows_add_device(struct job_rows *ranks, int64_t device, int64_t process);
/* The place of a GPU: its rank, or the host if several ranks use it. */
struct rank_place job_rows_of_device(const struct job_rows *ranks, int64_t device);

/* The number of the system in a packed id. */
static inline int64_t job_rows_system(int64_t global_id)
{
    return (int64_t)((uint64_t)global_id >> 48);
}

#endif
