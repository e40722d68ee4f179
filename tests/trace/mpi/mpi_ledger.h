/* What the MPI programs of these tests share: each keeps a ledger of the calls that it makes, with the bytes, peer,
 * tag, root and communicator that it knows by its own arithmetic, never by asking MPI. The test compares it with the
 * report.
 *
 * The ledger of a process is the file $MPI_LEDGER.PID, a line a call: table, function, bytes, received bytes, peer,
 * tag, root, members, with "-" for what a call does not have. A line "poll" counts calls that found nothing. */
#ifndef TACHO_TESTS_MPI_LEDGER_H
#define TACHO_TESTS_MPI_LEDGER_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Winitializer-overrides"

enum { NONE = -1000000 };
enum { PIECE = 4 };    /* sizeof(int): messages here are ints */

struct entry {
    const char *table; /* p2p, collective, wait, other */
    long bytes, received, peer, tag, root;
    const char *members;
};

static FILE *ledger;
static int rank, size;        /* in the world */
static char world[256] = "-"; /* its members */

static void put_number(long number)
{
    if (number == NONE)
        fputs("\t-", ledger);
    else
        fprintf(ledger, "\t%ld", number);
}

static void note(const char *function, struct entry entry)
{
    if (!ledger)
        return;
    fprintf(ledger, "%s\t%s", entry.table, function);
    put_number(entry.bytes);
    put_number(entry.received);
    put_number(entry.peer);
    put_number(entry.tag);
    put_number(entry.root);
    fprintf(ledger, "\t%s\n", entry.members ? entry.members : "-");
}

static inline void note_polls(const char *function, long found_nothing)
{
    if (ledger && found_nothing)
        fprintf(ledger, "poll\t%s\t%ld\n", function, found_nothing);
}

static void must(int code, const char *function)
{
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "%s returned %d\n", function, code);
        abort();
    }
}

/* NOTE writes a line, P2P, COLL, WAIT and OTHER also make the call: P2P(MPI_Send, (buffer, …), .peer = 1).
 */
#define NOTE(kind, function, ...)                                                                                    \
    note(function, (struct entry){ .table = kind, .bytes = NONE, .received = NONE, .peer = NONE, .tag = NONE,         \
                                   .root = NONE, __VA_ARGS__ })
#define CALL(kind, function, arguments, ...)                                                                         \
    do {                                                                                                             \
        must(function arguments, #function);                                                                         \
        NOTE(kind, #function, __VA_ARGS__);                                                                          \
    } while (0)
#define P2P(function, arguments, ...) CALL("p2p", function, arguments, __VA_ARGS__)
#define COLL(function, arguments, ...) CALL("collective", function, arguments, __VA_ARGS__)
#define WAIT(function, arguments) CALL("wait", function, arguments, .table = "wait")
#define OTHER(function, arguments) CALL("other", function, arguments, .table = "other")

/* World ranks first, first + step, … as "0,2,4". */
static inline void write_members(char *out, int first, int step, int count)
{
    for (int i = 0; i < count; i++)
        out += sprintf(out, "%s%d", i ? "," : "", first + i * step);
}

static void begin(int *argc, char ***argv)
{
    const char *path = getenv("MPI_LEDGER");
    char name[4096];

    if (path) {
        snprintf(name, sizeof name, "%s.%d", path, (int)getpid());
        if (!(ledger = fopen(name, "w")))
            abort();
    }
    OTHER(MPI_Init, (argc, argv));
    OTHER(MPI_Comm_rank, (MPI_COMM_WORLD, &rank));
    OTHER(MPI_Comm_size, (MPI_COMM_WORLD, &size));
    write_members(world, 0, 1, size);
    if (ledger)
        fprintf(ledger, "rank\t%d\t%d\t%s\n", rank, size, world);
}

static int end(void)
{
    OTHER(MPI_Finalize, ());
    if (ledger)
        fclose(ledger);
    return 0;
}

#endif
