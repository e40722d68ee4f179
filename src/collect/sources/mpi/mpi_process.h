/* What the collector knows about a process that calls MPI.
 *
 * A call that starts a request gets its row when the request is completed: a receive then knows what arrived and from
 * whom. Threads are read one after the other, so a completion may be read before the start; it is kept until then. A
 * message whose communicator has not been described yet is kept, too. */
#ifndef TACHO_COLLECT_SOURCES_MPI_MPI_PROCESS_H
#define TACHO_COLLECT_SOURCES_MPI_MPI_PROCESS_H

#include "base/map.h"
#include "collect/core/clock_map.h"
#include "report/writer/writer.h"
#include "wire/wire_mpi.h"

/* Most items of each kind that are kept: a program that overwrites records must not take all memory. */
#define MPI_KEPT_MAX (1u << 18)

/* A communicator of the process. Peers are members of the remote group, if it has one. */
struct mpi_communicator {
    uint64_t number;
    uint64_t handle, parent;
    int64_t start_ns, name; /* name: string id */
    int32_t size[2], rank;  /* of the group, of the remote group */
    uint32_t known[2];      /* members that the notes have reported so far */
    int32_t *members[2];    /* world ranks; owned */
    int is_inter;
};
MAP(mpi_communicator_map, struct mpi_communicator, uint64_t, number, number, hash_number, map_is_same_number)

/* One half of a call: what it sends or what it receives. */
struct mpi_message {
    uint64_t number; /* of its request */
    uint32_t function, flags;
    int64_t start_ns, end_ns, global_tid;
    uint64_t bytes;
    int32_t peer, tag;
    uint32_t communicator;
    uint64_t comm_handle, request_handle;
    int32_t root;      /* of a collective */
    uint64_t received; /* of a collective: bytes */
    int is_collective;
    int64_t active_ns; /* of a persistent request: when it was started; 0: it is not active */
    int64_t done_ns;   /* 0: not completed */
    int64_t chain;     /* the call in the program: id in TACHO_MPI_CALLCHAINS; 0: not known */
};
MAP(mpi_message_map, struct mpi_message, uint64_t, number, number, hash_number, map_is_same_number)

/* A completion, or the start of a persistent request, that was read before the request itself. */
struct mpi_event {
    uint64_t number, bytes;
    int32_t source, tag;
    int64_t at_ns;
    uint32_t kind; /* enum wire_mpi_wait */
};
MAP(mpi_event_map, struct mpi_event, uint64_t, number, number, hash_number, map_is_same_number)

struct mpi_hash {
    uint64_t hash;
    uint32_t count; /* communicators with this hash */
};
MAP(mpi_hash_map, struct mpi_hash, uint64_t, hash, count, hash_number, map_is_same_number)

struct process;

/* The chain of an address, for the calls of a program that were met before. */
enum { MPI_PLACES_KNOWN = 256 };
struct mpi_place {
    uint64_t address; /* 0: none */
    int64_t chain;
};

struct mpi_names {
    int64_t ids[MPI_FUNCTION_COUNT]; /* of the functions; 0: not interned yet */
};

struct mpi_process {
    struct process *process; /* NULL: in tests of rows; places of calls are not recorded */
    struct writer *writer;
    const struct clock_map *clock;
    struct mpi_names *names;
    int64_t global_pid;
    int64_t rank; /* in MPI_COMM_WORLD; WIRE_MPI_NO_RANK: not known */
    struct mpi_communicator_map communicators;
    struct mpi_message_map pending;
    struct mpi_event_map early;
    struct mpi_hash_map hashes;
    struct mpi_message *waiting; /* messages of unknown communicators */
    size_t waiting_count, waiting_room;
    uint64_t requests[2];        /* started, by whether their ends can be recorded */
    struct mpi_place places[MPI_PLACES_KNOWN];
};

#endif
