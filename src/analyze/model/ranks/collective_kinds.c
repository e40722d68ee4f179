/* Names are compared in lower case, without prefixes of their library and without underscores. */
#include "collective_kinds.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"

enum { LONGEST = 40 };

static const struct {
    const char *name;
    enum collective_kind kind;
} coll_kinds[] = {
    { "barrier", COLLECTIVE_BARRIER },
    { "monitoredbarrier", COLLECTIVE_BARRIER },
    { "allreduce", COLLECTIVE_ALLREDUCE },
    { "allreducecoalesced", COLLECTIVE_ALLREDUCE },
    { "sparseallreduce", COLLECTIVE_ALLREDUCE },
    { "allgather", COLLECTIVE_ALLGATHER },
    { "allgatherv", COLLECTIVE_ALLGATHER },
    { "allgatherbase", COLLECTIVE_ALLGATHER },
    { "allgathercoalesced", COLLECTIVE_ALLGATHER },
    { "allgatherintotensorcoalesced", COLLECTIVE_ALLGATHER },
    { "reducescatter", COLLECTIVE_REDUCE_SCATTER },
    { "reducescatterblock", COLLECTIVE_REDUCE_SCATTER },
    { "reducescatterbase", COLLECTIVE_REDUCE_SCATTER },
    { "reducescattertensorcoalesced", COLLECTIVE_REDUCE_SCATTER },
    { "alltoall", COLLECTIVE_ALLTOALL },
    { "alltoallv", COLLECTIVE_ALLTOALL },
    { "alltoallw", COLLECTIVE_ALLTOALL },
    { "alltoallbase", COLLECTIVE_ALLTOALL },
    { "bcast", COLLECTIVE_BROADCAST },
    { "broadcast", COLLECTIVE_BROADCAST },
    { "scatter", COLLECTIVE_SCATTER },
    { "scatterv", COLLECTIVE_SCATTER },
    { "reduce", COLLECTIVE_REDUCE },
    { "gather", COLLECTIVE_GATHER },
    { "gatherv", COLLECTIVE_GATHER },
    { "scan", COLLECTIVE_SCAN },
    { "exscan", COLLECTIVE_SCAN },
};

static const struct {
    const char *text;
    int is_kernel; /* the operation ends at the next underscore */
} prefixes[] = {
    { "MPI_", 0 },    { "ncclDevKernel_", 1 }, { "ncclKernel_", 1 }, { "ncclSymDevKernel_", 1 },
    { "gloo:", 0 },   { "nccl:", 0 },          { "mpi:", 0 },        { "ucc:", 0 },
    { "c10d::_", 0 }, { "c10d::", 0 },         { "nccl", 0 },
};

static enum collective_kind coll_kinds_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(coll_kinds); i++)
        if (strcmp(coll_kinds[i].name, name) == 0)
            return coll_kinds[i].kind;
    return COLLECTIVE_OTHER;
}

enum collective_kind collective_kind_of(const char *name)
{
    char plain[LONGEST];
    size_t length = 0, prefix = 0;
    int is_kernel = 0;

    for (size_t i = 0; i < COUNT_OF(prefixes) && !prefix; i++)
        if (strncmp(name, prefixes[i].text, strlen(prefixes[i].text)) == 0) {
            prefix = strlen(prefixes[i].text);
            is_kernel = prefixes[i].is_kernel;
        }
    int is_mpi = strncmp(name, "MPI_", 4) == 0;
    size_t end = strlen(name);
    if (is_mpi && end > 2 && strcmp(name + end - 2, "_c") == 0)
        end -= 2;
    for (size_t i = prefix; i < end && !(is_kernel && (name[i] == '_' || name[i] == '(')); i++) {
        if (length + 1 >= LONGEST)
            return COLLECTIVE_OTHER;
        if (name[i] != '_')
            plain[length++] = (char)tolower((unsigned char)name[i]);
    }
    plain[length] = 0;
    enum collective_kind kind = coll_kinds_find(plain);
    return kind == COLLECTIVE_OTHER && is_mpi && plain[0] == 'i' ? coll_kinds_find(plain + 1) : kind;
}

int collective_synchronises(enum collective_kind kind)
{
    return kind >= COLLECTIVE_BARRIER && kind <= COLLECTIVE_ALLTOALL;
}

int collective_sends_from_root(enum collective_kind kind)
{
    return kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_SCATTER;
}

int collective_sends_to_root(enum collective_kind kind)
{
    return kind == COLLECTIVE_REDUCE || kind == COLLECTIVE_GATHER;
}

int collective_has_one_size(enum collective_kind kind)
{
    return kind == COLLECTIVE_ALLREDUCE || kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE ||
           kind == COLLECTIVE_SCAN;
}

double collective_bus_factor(enum collective_kind kind, int64_t ranks)
{
    double n = (double)ranks;

    switch (kind) {
    case COLLECTIVE_ALLREDUCE: return ranks > 0 ? 2 * (n - 1) / n : 0;
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALLTOALL:
    case COLLECTIVE_GATHER:
    case COLLECTIVE_SCATTER: return ranks > 0 ? (n - 1) / n : 0;
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE: return 1;
    default: return 0;
    }
}
