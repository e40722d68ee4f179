/* The MPI calls of all ranks, by thread and in order of time. A thread is in one call at a time: calls that MPI makes
 * to itself are not recorded. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_RANK_CALLS_H
#define TACHO_ANALYZE_MODEL_RANKS_RANK_CALLS_H

#include "mpi_ranks.h"

enum { MPI_NO_CALL = UINT32_MAX };

struct mpi_call {
    int64_t start_ns, end_ns; /* of one that never returned: the end of the report */
    int64_t thread;           /* global id */
    int64_t name;             /* string id */
    int64_t chain;            /* id in TACHO_MPI_CALLCHAINS; -1: none */
};

/* A thread that called MPI. */
struct mpi_thread {
    int64_t id, rank;  /* MPI_RANK_UNKNOWN: none is recorded */
    size_t first, end; /* of its calls */
    int is_whole;      /* its process was recorded from MPI_Init() on, without a loss or a pause */
};

struct mpi_calls {
    struct report *report;
    struct mpi_ranks ranks;
    struct mpi_call *list;                  /* owned; by thread, then by start */
    size_t count, room;
    struct mpi_thread *threads;             /* owned; by id */
    size_t thread_count, thread_room;
    uint32_t *by_end;                       /* owned; all calls, by process, then by end */
};

extern const char *const mpi_call_tables[]; /* the tables that calls are in, up to a NULL */

/* mpi_calls_free() is safe after an error. */
int mpi_calls_read(struct mpi_calls *calls, struct report *report, struct error *err);
void mpi_calls_free(struct mpi_calls *calls);

/* The same with the table of calls that set MPI up alone: enough to know which processes are whole. */
int mpi_calls_read_setup(struct mpi_calls *calls, struct report *report, struct error *err);
/* Whether the process was recorded from MPI_Init() on, without a loss or a pause. */
int mpi_calls_is_whole(const struct mpi_calls *calls, int64_t process);

/* NULL: it called nothing. */
const struct mpi_thread *mpi_calls_thread(const struct mpi_calls *calls, int64_t thread);
/* The thread's last call that starts at this time or before, or MPI_NO_CALL. */
uint32_t mpi_calls_at(const struct mpi_calls *calls, int64_t thread, int64_t time_ns);
/* The call that starts then, or MPI_NO_CALL. */
uint32_t mpi_calls_starting(const struct mpi_calls *calls, int64_t thread, int64_t start_ns);
/* The last call of any thread of the process that ends at this time or before, or MPI_NO_CALL. */
uint32_t mpi_calls_ending(const struct mpi_calls *calls, int64_t process, int64_t end_ns);

/* Its name without "MPI_" before and, for large counts, "_c" after it: the bytes of the name and their number. */
const char *mpi_call_base(struct report *report, int64_t name, size_t *length);
/* Whether it is this name, of that length. */
int mpi_base_is(const char *base, size_t length, const char *name);

#endif
