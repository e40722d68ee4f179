/* Finds out which MPI the process uses: see mpi_library.h. */
#include "mpi_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>

#include "agent/core/agent.h"
#include "agent/core/elf_lookup.h"
#include "agent/core/libc_loader.h"
#include "agent/core/source.h"

static const struct mpi_flavour flavours[] = {
    [WIRE_MPI_UNKNOWN] = { .handle_bytes = 8, .status_bytes = MPI_STATUS_MAX },
    [WIRE_MPI_OPEN_MPI] = { .handle_bytes = 8,
                            .status_bytes = 24,
                            .source_at = 0,
                            .tag_at = 4,
                            .bytes_at = 16,
                            .cancelled_at = 12,
                            .proc_null = -2,
                            .root = -4,
                            .in_place = 1,
                            .status_ignore = 0 },
    [WIRE_MPI_MPICH] = { .handle_bytes = 4,
                         .status_bytes = 20,
                         .source_at = 8,
                         .tag_at = 12,
                         .bytes_at = 0,
                         .counts_halves = 1,
                         .cancelled_at = 4,
                         .mixes_up_both = 1,
                         .proc_null = -1,
                         .root = -3,
                         .in_place = -1,
                         .status_ignore = 1,
                         .world = 0x44000000,
                         .null_comm = 0x04000000,
                         .null_type = 0x0c000000,
                         .byte = 0x4c00010d },
    [WIRE_MPI_ABI] = { .handle_bytes = 8,
                       .status_bytes = 32,
                       .source_at = 0,
                       .tag_at = 4,
                       .bytes_at = MPI_BY_CALL,
                       .cancelled_at = MPI_BY_CALL,
                       .mixes_up_both = 1, /* MPICH's; nothing says whose it is */
                       .proc_null = -3,
                       .root = -4,
                       .in_place = 1,
                       .status_ignore = 0,
                       .world = 0x101,
                       .null_comm = 0x100,
                       .null_type = 0x200,
                       .byte = 0x247 },
};

struct mpi_library mpi = { .known = MPI_KNOWS_NONE };

#define PROFILING(function) (MPI_FUNCTION_COUNT + MPI_FUNCTION_##function) /* the stub of PMPI_<function> */
static const uint16_t numbers[MPI_LOCAL_COUNT] = {
    [MPI_LOCAL_Type_size_x] = PROFILING(Type_size_x),
    [MPI_LOCAL_Type_size] = PROFILING(Type_size),
    [MPI_LOCAL_Comm_size] = PROFILING(Comm_size),
    [MPI_LOCAL_Comm_rank] = PROFILING(Comm_rank),
    [MPI_LOCAL_Comm_test_inter] = PROFILING(Comm_test_inter),
    [MPI_LOCAL_Comm_remote_size] = PROFILING(Comm_remote_size),
    [MPI_LOCAL_Comm_group] = PROFILING(Comm_group),
    [MPI_LOCAL_Comm_remote_group] = PROFILING(Comm_remote_group),
    [MPI_LOCAL_Group_translate_ranks] = PROFILING(Group_translate_ranks),
    [MPI_LOCAL_Group_free] = PROFILING(Group_free),
    [MPI_LOCAL_Initialized] = PROFILING(Initialized),
    [MPI_LOCAL_Finalized] = PROFILING(Finalized),
    [MPI_LOCAL_Get_elements_x] = PROFILING(Get_elements_x),
    [MPI_LOCAL_Topo_test] = PROFILING(Topo_test),
    [MPI_LOCAL_Cartdim_get] = PROFILING(Cartdim_get),
    [MPI_LOCAL_Graph_neighbors_count] = PROFILING(Graph_neighbors_count),
    [MPI_LOCAL_Dist_graph_neighbors_count] = PROFILING(Dist_graph_neighbors_count),
    [MPI_LOCAL_Group_from_session_pset] = PROFILING(Group_from_session_pset),
    [MPI_LOCAL_Test_cancelled] = PROFILING(Test_cancelled),
};

static const struct link_map *object_of(const void *address)
{
    Dl_info info;
    if (!loader.dladdr(address, &info))
        return NULL;
    const struct link_map *object = library_objects();
    while (object && object->l_addr != (uintptr_t)info.dli_fbase)
        object = object->l_next;
    return object;
}

int mpi_local(enum mpi_local local, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    int saved = errno;
    int result = mpi.calls[local] ? mpi.calls[local](a, b, c, d, e) : -1;
    errno = saved;
    return result;
}

/* A variable of the library, as a reference binds: the program, which is the first object, may have a copy of it. */
static uint64_t mpi_library_find_variable(const struct link_map *library, const char *name)
{
    const struct link_map *program = library_objects();
    void *found = program ? library_symbol_of(program, name) : NULL;
    return (uint64_t)(uintptr_t)(found || !library ? found : library_symbol_of(library, name));
}

static uint32_t mpi_library_find_kind(const struct link_map *object)
{
    if (object && library_defines(object, "ompi_mpi_comm_world"))
        return WIRE_MPI_OPEN_MPI;
    int (*abi_version)(int *major, int *minor) = (int (*)(int *, int *))(
        object ? library_symbol_of(object, "PMPI_Abi_get_version") : NULL);
    int major = 0, minor = 0;
    if (abi_version && abi_version(&major, &minor) == 0 && major >= 1)
        return WIRE_MPI_ABI;
    /* MPICH and its kin agree on handles since 2014. */
    return object && (library_defines(object, "MPIR_F_TRUE") || library_defines(object, "MPIR_Err_create_code") ||
                      library_defines(object, "MPI_F_STATUS_IGNORE"))
               ? WIRE_MPI_MPICH
               : WIRE_MPI_UNKNOWN;
}

/* The user's choice counts only if nothing is found: handles of another width would crash the program. */
static uint32_t choose_kind(const struct link_map *object)
{
    uint32_t found = mpi_library_find_kind(object), chosen = wire_mpi(agent.arena)->chosen;
    return found == WIRE_MPI_UNKNOWN && chosen < WIRE_MPI_FLAVOUR_COUNT ? chosen : found;
}

static void mpi_library_find_calls(uint32_t library)
{
    const struct word_object *object = agent_word_object(WIRE_SOURCE_MPI);
    for (uint32_t i = 0; i < MPI_LOCAL_COUNT; i++)
        mpi.calls[i] = object ? (mpi_local_call *)object->real(numbers[i], library) : NULL;
    const struct link_map *file = object_of((const void *)(uintptr_t)mpi.calls[MPI_LOCAL_Comm_size]);
    mpi.kind = choose_kind(file);
    mpi.flavour = flavours[mpi.kind];
    if (mpi.kind == WIRE_MPI_OPEN_MPI) {
        mpi.flavour.world = mpi_library_find_variable(file, "ompi_mpi_comm_world");
        mpi.flavour.null_comm = mpi_library_find_variable(file, "ompi_mpi_comm_null");
        mpi.flavour.null_type = mpi_library_find_variable(file, "ompi_mpi_datatype_null");
        mpi.flavour.byte = mpi_library_find_variable(file, "ompi_mpi_byte");
    }
    mpi.known = mpi.kind == WIRE_MPI_UNKNOWN ? MPI_KNOWS_NONE : library;
}

/* Whether MPI_COMM_WORLD may be used. */
static int has_world(void)
{
    int initialized = 0, finalized = 1;
    return MPI_LOCAL(Initialized, &initialized) == 0 && initialized && MPI_LOCAL(Finalized, &finalized) == 0 &&
           !finalized && mpi.flavour.world;
}

static void mpi_library_find_in(uint64_t session, uint32_t library)
{
    mpi_library_find_calls(library);
    if (mpi.kind == WIRE_MPI_UNKNOWN)
        return;
    uint64_t group = 0;
    mpi.has_world = (uint32_t)has_world();
    if (!mpi.has_world && !session)
        return;
    if (mpi.has_world ? MPI_LOCAL(Comm_group, mpi.flavour.world, &group) != 0
                      : MPI_LOCAL(Group_from_session_pset, session, "mpi://WORLD", &group) != 0)
        group = 0;
    mpi.world_group = group;
    atomic_store_explicit(&mpi.is_ready, 1, memory_order_release);
}

void mpi_library_find(uint64_t session, uint32_t library)
{
    int saved = errno;
    if (!atomic_load_explicit(&mpi.is_ready, memory_order_acquire))
        mpi_library_find_in(session, library);
    errno = saved;
}

void mpi_library_end(void)
{
    int saved = errno;
    if (atomic_exchange(&mpi.is_ready, 0) && mpi.world_group)
        MPI_LOCAL(Group_free, &mpi.world_group);
    mpi.world_group = 0;
    errno = saved;
}

uint64_t mpi_status_bytes(const void *status)
{
    const struct mpi_flavour *flavour = &mpi.flavour;
    uint64_t bytes = 0;
    if (flavour->bytes_at != MPI_BY_CALL) {
        memcpy(&bytes, (const char *)status + flavour->bytes_at, sizeof bytes);
        return flavour->counts_halves ? (uint64_t)(uint32_t)bytes | bytes >> 33 << 32 : bytes;
    }
    return MPI_LOCAL(Get_elements_x, status, flavour->byte, &bytes) == 0 && (int64_t)bytes >= 0 ? bytes
                                                                                                : WIRE_MPI_NO_SIZE;
}

int mpi_status_is_cancelled(const void *status)
{
    int32_t flag = 0;
    if (mpi.flavour.cancelled_at != MPI_BY_CALL)
        return mpi_status_int(status, mpi.flavour.cancelled_at) & 1;
    return MPI_LOCAL(Test_cancelled, status, &flag) == 0 && flag;
}

uint64_t mpi_type_bytes(uint64_t type)
{
    int64_t bytes = 0;
    int32_t few = 0;
    if (!type || type == mpi.flavour.null_type)
        return 0;
    if (mpi.flavour.handle_bytes == 4 && type >> 26 == 0x13) /* MPICH: the handle of a basic type has its size */
        return type >> 8 & 0xff;
    if (mpi.calls[MPI_LOCAL_Type_size_x])
        return MPI_LOCAL(Type_size_x, type, &bytes) == 0 && bytes > 0 ? (uint64_t)bytes : 0;
    return MPI_LOCAL(Type_size, type, &few) == 0 && few > 0 ? (uint64_t)few : 0;
}
