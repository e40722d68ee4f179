/* Finds the waits of messages, and keeps of each call the one that ended last. See mpi_waits.h for the rules. */
#include "mpi_waits.h"

#include <stdlib.h>

#include "base/array.h"

const char *mpi_wait_text(enum mpi_wait_state state)
{
    static const char *const texts[] = {
#define MPI_WAIT_STATE(name, text) text,
        MPI_WAIT_STATES(MPI_WAIT_STATE)
#undef MPI_WAIT_STATE
    };
    return texts[state];
}

int mpi_waits_add(struct mpi_waits *waits, const struct mpi_calls *calls, const struct clock_errors *errors,
                  const struct mpi_wait *wait)
{
    const struct mpi_call *call = &calls->list[wait->call];
    struct mpi_wait added = *wait;

    if (added.until_ns > call->end_ns)
        added.until_ns = call->end_ns;
    if (call->thread == wait->cause || mpi_wait_ns(calls, &added) <= clock_errors_of(errors, call->thread, wait->cause))
        return 0;
    return ARRAY_PUSH(waits->list, waits->room, waits->count, added);
}

/* A buffered send never waits for the receiver. */
static int is_buffered(const struct mpi_calls *calls, int64_t name)
{
    static const char *const buffered[] = { "Bsend", "Ibsend", "Bsend_init" };
    size_t length;
    const char *base = mpi_call_base(calls->report, name, &length);

    for (size_t i = 0; i < COUNT_OF(buffered); i++)
        if (mpi_base_is(base, length, buffered[i]))
            return 1;
    return 0;
}

/* Whether the send certainly returned after the receive was posted. */
static int met_receiver(const struct mpi_calls *calls, const struct clock_errors *errors,
                        const struct message_side *send, const struct message_side *receive)
{
    int64_t error = clock_errors_of(errors, send->thread, receive->thread);

    return saturating_add(receive->start_ns, error) <= calls->list[send->completed].end_ns &&
           !is_buffered(calls, send->name);
}

int mpi_waits_add_messages(struct mpi_waits *waits, const struct mpi_calls *calls, const struct messages *messages,
                           const struct clock_errors *errors)
{
    for (size_t i = 0; i < messages->count; i++) {
        const struct message_side *side = &messages->list[i];
        if (side->other == NO_MESSAGE || side->completed == MPI_NO_CALL)
            continue;
        const struct message_side *other = &messages->list[side->other];
        if (!side->is_received && !met_receiver(calls, errors, side, other))
            continue;
        const struct mpi_wait wait = {
            .state = side->is_received ? MPI_WAIT_LATE_SENDER : MPI_WAIT_LATE_RECEIVER,
            .call = side->completed,
            .until_ns = other->start_ns,
            .cause = other->thread,
        };
        if (mpi_waits_add(waits, calls, errors, &wait) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int mpi_waits_compare_waits(const void *left, const void *right)
{
    const struct mpi_wait *a = left, *b = right;
    int order = COMPARE(a->call, b->call) ?: COMPARE(b->until_ns, a->until_ns);

    return order ?: COMPARE(a->state, b->state) ?: COMPARE(a->cause, b->cause);
}

void mpi_waits_settle(struct mpi_waits *waits)
{
    size_t kept = 0;

    if (waits->count)
        qsort(waits->list, waits->count, sizeof *waits->list, mpi_waits_compare_waits);
    for (size_t i = 0; i < waits->count; i++)
        if (!kept || waits->list[kept - 1].call != waits->list[i].call)
            waits->list[kept++] = waits->list[i];
    waits->count = kept;
}

void mpi_waits_free(struct mpi_waits *waits)
{
    free(waits->list);
    *waits = (struct mpi_waits){ 0 };
}
