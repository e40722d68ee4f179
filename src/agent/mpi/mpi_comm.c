/* The table of communicators. A handle has a place among WAYS entries; the key of an entry is set by one thread, which
 * then describes the communicator and publishes its number. A thread that finds a key without a number asks MPI itself,
 * and its records do not name the communicator. If all places are taken, so do those of every thread. */
#include "mpi_comm.h"

#include <errno.h>
#include <stdatomic.h>

#include "agent/core/agent.h"
#include "mpi_library.h"

#define SETS 256u
#define WAYS 8u

struct mpi_comm_entry {
    _Atomic uint64_t handle; /* 0: free */
    _Atomic uint32_t number; /* 0: being described */
    int32_t size, rank;
    uint32_t is_inter;
};
static struct mpi_comm_entry entries[SETS * WAYS];
static _Atomic uint32_t last_number;

static struct mpi_comm_entry *mpi_comm_set_of(uint64_t handle)
{
    return &entries[(handle * 0x9e3779b97f4a7c15u >> 56) % SETS * WAYS];
}

static struct mpi_comm mpi_comm_ask(uint64_t handle)
{
    struct mpi_comm comm = { .rank = -1 };
    int inter = 0;
    if (MPI_LOCAL(Comm_test_inter, handle, &inter) != 0 || MPI_LOCAL(Comm_rank, handle, &comm.rank) != 0)
        return comm;
    comm.is_inter = inter != 0;
    if (inter ? MPI_LOCAL(Comm_remote_size, handle, &comm.size) != 0 : MPI_LOCAL(Comm_size, handle, &comm.size) != 0)
        comm.size = 0;
    return comm;
}

/* ---- Describing one -------------------------------------------------------------------------------------------- */

#define RANKS 32 /* members in one note */
#define HEAD 5   /* words before them */

static void tell_members(uint64_t head[HEAD + RANKS / 2], uint16_t which, uint64_t group, int32_t size)
{
    int32_t local[RANKS], world[RANKS];
    for (int32_t first = 0; first < size || first == 0; first += RANKS) {
        int32_t count = size - first < RANKS ? size - first : RANKS;
        for (int32_t i = 0; i < count; i++)
            local[i] = first + i;
        if (count <= 0 || !group || !mpi.world_group ||
            MPI_LOCAL(Group_translate_ranks, group, count, local, mpi.world_group, world) != 0)
            count = 0;
        for (int32_t i = 0; i < RANKS; i++)
            world[i] = i < count && world[i] >= 0 ? world[i] : -1;
        head[4] = (uint64_t)first;
        memcpy(head + HEAD, world, sizeof world);
        emit_note(WIRE_MPI_COMMUNICATOR, which, head, HEAD + (uint32_t)(count + 1) / 2, NULL);
        if (count == 0)
            return;
    }
}

enum { REMOTE = 1, INTER = 2 };

static void tell_group(uint64_t head[HEAD + RANKS / 2], uint64_t handle, int which, int32_t size, int32_t rank)
{
    uint64_t group = 0;
    if ((which & REMOTE ? MPI_LOCAL(Comm_remote_group, handle, &group) : MPI_LOCAL(Comm_group, handle, &group)) != 0)
        group = 0;
    head[3] = wire_mpi_pair(size, rank);
    tell_members(head, (uint16_t)which, group, size);
    if (group)
        MPI_LOCAL(Group_free, &group);
}

static void mpi_comm_describe(uint64_t handle, uint32_t parent, const struct mpi_comm *comm)
{
    uint64_t head[HEAD + RANKS / 2] = { comm->number, handle, parent };
    int32_t local_size = comm->size;
    if (comm->is_inter && MPI_LOCAL(Comm_size, handle, &local_size) != 0)
        local_size = 0;
    tell_group(head, handle, comm->is_inter ? INTER : 0, local_size, comm->rank);
    if (comm->is_inter)
        tell_group(head, handle, INTER | REMOTE, comm->size, comm->rank);
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

static struct mpi_comm_entry *mpi_comm_take(struct mpi_comm_entry *set, uint64_t handle)
{
    for (uint32_t i = 0; i < WAYS; i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&set[i].handle, &none, handle))
            return &set[i];
    }
    return NULL;
}

static __attribute__((noinline)) struct mpi_comm mpi_comm_add(struct mpi_comm_entry *set, uint64_t handle,
                                                              uint32_t parent)
{
    int saved = errno;
    struct mpi_comm comm = mpi_comm_ask(handle);
    struct mpi_comm_entry *entry = mpi_comm_take(set, handle);
    if (!entry) {
        errno = saved;
        return comm;
    }
    comm.number = atomic_fetch_add(&last_number, 1) + 1;
    entry->size = comm.size;
    entry->rank = comm.rank;
    entry->is_inter = comm.is_inter;
    mpi_comm_describe(handle, parent, &comm);
    atomic_store_explicit(&entry->number, comm.number, memory_order_release);
    errno = saved;
    return comm;
}

struct mpi_comm mpi_comm_of(uint64_t handle, uint32_t parent)
{
    struct mpi_comm_entry *set = mpi_comm_set_of(handle);
    if (!handle || handle == mpi.flavour.null_comm)
        return (struct mpi_comm){ .rank = -1 };
    for (uint32_t i = 0; i < WAYS; i++) {
        if (atomic_load_explicit(&set[i].handle, memory_order_relaxed) != handle)
            continue;
        uint32_t number = atomic_load_explicit(&set[i].number, memory_order_acquire);
        if (!number)
            return mpi_comm_ask(handle);
        return (struct mpi_comm){ number, set[i].size, set[i].rank, set[i].is_inter };
    }
    return mpi_comm_add(set, handle, parent);
}

void mpi_comm_forget(uint64_t handle)
{
    struct mpi_comm_entry *set = mpi_comm_set_of(handle);
    for (uint32_t i = 0; handle && i < WAYS; i++) {
        uint64_t number = atomic_load(&set[i].number);
        if (atomic_load(&set[i].handle) != handle || !number)
            continue;
        emit_note(WIRE_MPI_COMMUNICATOR_FREED, 0, &number, 1, NULL);
        atomic_store(&set[i].number, 0);
        atomic_store(&set[i].handle, 0);
    }
}

void mpi_comm_forget_all(void)
{
    for (uint32_t i = 0; i < SETS * WAYS; i++) {
        atomic_store(&entries[i].number, 0);
        atomic_store(&entries[i].handle, 0);
    }
}

/* ---- Topologies ------------------------------------------------------------------------------------------------ */

/* The numbers of the kinds differ between MPIs. A question that does not suit the kind would call an error handler. */
void mpi_comm_degrees(uint64_t handle, int32_t rank, int32_t *in, int32_t *out)
{
    static const int32_t kinds[WIRE_MPI_FLAVOUR_COUNT][3] = {
        [WIRE_MPI_OPEN_MPI] = { 1, 2, 3 }, [WIRE_MPI_MPICH] = { 2, 1, 3 }, [WIRE_MPI_ABI] = { 211, 212, 213 }
    };
    const int32_t *of = kinds[mpi.kind]; /* Cartesian, graph, distributed graph */
    int32_t kind = -1, count = 0, weighted;
    *in = *out = 0;
    if (!of[0] || MPI_LOCAL(Topo_test, handle, &kind) != 0)
        return;
    if (kind == of[0] && MPI_LOCAL(Cartdim_get, handle, &count) == 0)
        *in = *out = 2 * count;
    else if (kind == of[1] && MPI_LOCAL(Graph_neighbors_count, handle, rank, &count) == 0)
        *in = *out = count;
    else if (kind == of[2] && MPI_LOCAL(Dist_graph_neighbors_count, handle, in, out, &weighted) != 0)
        *in = *out = 0;
}
