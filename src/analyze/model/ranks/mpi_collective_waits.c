/* Finds the waits of collectives: those of ranks that entered before the rank that the operation needs. */
#include "collectives.h"
#include "mpi_waits.h"

/* The call that waited: itself, or the one that completed its request. */
static uint32_t waiting_call(const struct mpi_calls *calls, const struct collective_call *call)
{
    if (!call->is_nonblocking)
        return mpi_calls_starting(calls, call->thread, call->enter_ns);
    return call->leave_ns == COLLECTIVE_NEVER_LEFT
               ? MPI_NO_CALL
               : mpi_calls_ending(calls, global_process(call->thread), call->leave_ns);
}

struct entering {
    struct mpi_waits *waits;
    const struct mpi_calls *calls;
    const struct clock_errors *errors;
    const struct collective_call *first; /* of the instance */
    size_t count;
};

static int mpi_coll_waits_add_wait(const struct entering *entering, enum mpi_wait_state state, size_t waiting,
                                   size_t cause)
{
    const struct mpi_wait wait = {
        .state = state,
        .call = waiting_call(entering->calls, &entering->first[waiting]),
        .until_ns = entering->first[cause].enter_ns,
        .cause = entering->first[cause].thread,
    };

    return wait.call == MPI_NO_CALL ? 0 : mpi_waits_add(entering->waits, entering->calls, entering->errors, &wait);
}

/* All wait for the last one, or for the root. */
static int add_waits_for(const struct entering *entering, enum mpi_wait_state state, size_t cause)
{
    for (size_t i = 0; i < entering->count; i++)
        if (i != cause && mpi_coll_waits_add_wait(entering, state, i, cause) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static size_t mpi_coll_waits_find_last(const struct entering *entering)
{
    size_t last = 0;

    for (size_t i = 1; i < entering->count; i++)
        if (entering->first[i].enter_ns > entering->first[last].enter_ns)
            last = i;
    return last;
}

/* The first of the others. */
static size_t find_first_but(const struct entering *entering, size_t root)
{
    size_t first = root == 0;

    for (size_t i = first + 1; i < entering->count; i++)
        if (i != root && entering->first[i].enter_ns < entering->first[first].enter_ns)
            first = i;
    return first;
}

/* The index of the root's call; count: it is not among them. */
static size_t find_root(const struct collectives *all, const struct collective_instance *instance)
{
    const struct collective_communicator *communicator = &all->communicators[instance->communicator];
    const struct collective_call *calls = all->calls + instance->first;
    size_t at = 0;

    if (instance->root < 0 || instance->root >= communicator->size || !communicator->members)
        return instance->count;
    while (at < instance->count && calls[at].rank != communicator->members[instance->root])
        at++;
    return at;
}

/* With an intercommunicator an operation goes from one group to the other: more ranks than one of them has. */
static int mpi_coll_waits_is_usable(const struct collectives *all, const struct collective_instance *instance)
{
    int64_t size = all->communicators[instance->communicator].size;

    return instance->count > 1 && !instance->has_several && (size <= 0 || instance->count <= (uint64_t)size);
}

static int mpi_coll_waits_add_instance(struct entering *entering, const struct collectives *all,
                                       const struct collective_instance *instance)
{
    size_t root = find_root(all, instance);

    entering->first = all->calls + instance->first;
    entering->count = instance->count;
    if (collective_synchronises(instance->kind))
        return add_waits_for(entering, instance->kind == COLLECTIVE_BARRIER ? MPI_WAIT_BARRIER : MPI_WAIT_ALL_TO_ALL,
                             mpi_coll_waits_find_last(entering));
    if (root < instance->count && collective_sends_from_root(instance->kind))
        return add_waits_for(entering, MPI_WAIT_LATE_BROADCAST, root);
    if (root < instance->count && collective_sends_to_root(instance->kind))
        return mpi_coll_waits_add_wait(entering, MPI_WAIT_EARLY_REDUCE, root, find_first_but(entering, root));
    return 0;
}

int mpi_waits_add_collectives(struct mpi_waits *waits, const struct mpi_calls *calls, const struct collectives *all,
                              const struct clock_errors *errors)
{
    struct entering entering = { .waits = waits, .calls = calls, .errors = errors };

    for (size_t i = 0; i < all->instance_count; i++)
        if (mpi_coll_waits_is_usable(all, &all->instances[i]) &&
            mpi_coll_waits_add_instance(&entering, all, &all->instances[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}
