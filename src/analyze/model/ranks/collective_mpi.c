/* Collectives of MPI. */
#include <string.h>

#include "base/text.h"
#include "collectives_state.h"
#include "mpi_collectives.h"
#include "rank_lists.h"

enum { SHOWN_RUNS = 4 };

/* "ranks 0-3", and "ranks 0-3 (2)" for the second communicator of these. */
static int coll_mpi_describe(struct collectives *all, struct collective_communicator *communicator,
                             const struct mpi_collective *call)
{
    struct arena *arena = &all->state->arena;
    const char *members = report_string(all->report, call->members, NULL);
    size_t count = rank_list_read(members, NULL, 0);
    int64_t *ranks = count ? arena_alloc(arena, count * sizeof *ranks) : NULL;
    struct text label = { 0 };

    if (count && !ranks)
        return ERR_NO_MEMORY;
    rank_list_read(members, ranks, count);
    communicator->size = count ? (int64_t)count : call->comm_size;
    communicator->members = ranks;
    if (count) {
        text_add(&label, count > 1 ? "ranks " : "rank ");
        rank_list_add(&label, ranks, count, SHOWN_RUNS);
    } else {
        text_addf(&label, "%lld ranks", (long long)call->comm_size);
    }
    if (call->before > 0)
        text_addf(&label, " (%lld)", (long long)call->before + 1);
    communicator->label = arena_copy(arena, text_string(&label), label.length);
    int failed = text_failed(&label) || !communicator->label;
    text_free(&label);
    return failed ? ERR_NO_MEMORY : 0;
}

static int coll_mpi_add_call(void *context, struct report *report, const struct mpi_collective *call)
{
    struct collectives *all = context;
    int is_new;
    struct collective_communicator *communicator = collectives_communicator(all, call->communicator, &is_new);

    if (!communicator || (is_new && coll_mpi_describe(all, communicator, call) != 0))
        return ERR_NO_MEMORY;
    const struct collective_call added = {
        .sequence = call->sequence,
        .thread = call->thread,
        .enter_ns = call->start_ns,
        .leave_ns = call->end_ns == INT64_MIN ? COLLECTIVE_NEVER_LEFT : call->end_ns,
        .bytes = call->sent > call->received ? call->sent : call->received,
        .root = call->root,
        .operation = call->operation,
        .is_nonblocking = call->is_nonblocking,
    };
    return collectives_add(all, communicator, &added, call->row_rank);
}

static int read_mpi(struct collectives *all, struct error *err)
{
    return mpi_collectives_walk(all->report, coll_mpi_add_call, all, err);
}

const struct collective_source collective_source_mpi = { "MPI_COLLECTIVES_EVENTS", read_mpi };
