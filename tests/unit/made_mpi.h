/* Rows of MPI, for tests that make reports of several ranks: process 100 + r is rank r. */
#ifndef TACHO_TESTS_UNIT_MADE_MPI_H
#define TACHO_TESTS_UNIT_MADE_MPI_H

#include <stdio.h>

#include "made_report.h"

static inline int64_t made_rank_thread(int64_t rank)
{
    return made_thread(100 + rank, 100 + rank);
}

static inline void made_rank(struct writer *writer, int64_t rank)
{
    struct row_MPI_RANKS row = { 0 };

    ROW_SET(&row, MPI_RANKS, globalTid, made_rank_thread(rank));
    ROW_SET(&row, MPI_RANKS, rank, rank);
    writer_append(writer, TABLE_MPI_RANKS, &row);
}

static inline void made_communicator(struct writer *writer, int64_t rank, int64_t since, int64_t handle,
                                     const char *members, int64_t size, const char *name)
{
    struct row_MPI_COMMUNICATORS row = { 0 };

    ROW_SET(&row, MPI_COMMUNICATORS, rank, rank);
    ROW_SET(&row, MPI_COMMUNICATORS, timestamp, since);
    ROW_SET(&row, MPI_COMMUNICATORS, commHandle, handle);
    ROW_SET(&row, MPI_COMMUNICATORS, members, made_string(writer, members));
    ROW_SET(&row, MPI_COMMUNICATORS, size, size);
    if (name) { /* files of nsys have neither */
        ROW_SET(&row, MPI_COMMUNICATORS, globalPid, made_thread(100 + rank, 0));
        ROW_SET(&row, MPI_COMMUNICATORS, name, made_string(writer, name));
    }
    writer_append(writer, TABLE_MPI_COMMUNICATORS, &row);
}

struct made_collective {
    int64_t rank, start, end; /* end 0: it never left */
    const char *name;
    int64_t handle;           /* 0: none */
    int64_t bytes;            /* NO_ID: none */
    int64_t completed;        /* of a nonblocking one; 0: it is blocking */
};
static inline void made_collective(struct writer *writer, struct made_collective call)
{
    struct row_MPI_COLLECTIVES_EVENTS row = { 0 };

    ROW_SET(&row, MPI_COLLECTIVES_EVENTS, start, call.start);
    if (call.end)
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, end, call.end);
    else
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, incomplete, 1);
    ROW_SET(&row, MPI_COLLECTIVES_EVENTS, globalTid, made_rank_thread(call.rank));
    ROW_SET(&row, MPI_COLLECTIVES_EVENTS, textId, made_string(writer, call.name));
    if (call.handle)
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, commHandle, call.handle);
    if (call.bytes != NO_ID)
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, size, call.bytes);
    if (call.completed) {
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, requestHandle, 77);
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, requestEnd, call.completed);
    }
    writer_append(writer, TABLE_MPI_COLLECTIVES_EVENTS, &row);
}

#endif
