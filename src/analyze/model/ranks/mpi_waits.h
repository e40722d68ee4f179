/* Wait states of MPI: calls that could not go on before another rank came, and the rank that they waited for.
 *
 * A call waits from its start until the other rank enters its own operation:
 *
 *   late sender      a receive, the call that completed it, or a probe before it: until the send was started
 *   late receiver    a send, or the call that completed it: until the receive was posted, if it returned only later,
 *                    because MPI had to meet the receiver first (rendezvous)
 *   barrier, N x N   all ranks of a barrier or of an operation from all to all: until the last one entered
 *   early reduce     the root of an operation from all to one: until the first other rank entered
 *   late broadcast   others than the root of an operation from one to all: until the root entered
 *   Init/Finalize    all ranks: until the last one entered MPI_Init() or MPI_Finalize(), if nobody left before
 *
 * All but the last one are states of Scalasca. A call that waits for several (MPI_Waitall) has one wait: for the one
 * that came last. A wait that is not longer than the clocks of the two ranks may be off is none. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_MPI_WAITS_H
#define TACHO_ANALYZE_MODEL_RANKS_MPI_WAITS_H

#include "collectives.h"
#include "messages.h"

#define MPI_WAIT_STATES(X)                                                                                           \
    X(LATE_SENDER, "Late Sender")                                                                                    \
    X(LATE_RECEIVER, "Late Receiver")                                                                                \
    X(BARRIER, "Wait at Barrier")                                                                                    \
    X(ALL_TO_ALL, "Wait at N x N")                                                                                   \
    X(EARLY_REDUCE, "Early Reduce")                                                                                  \
    X(LATE_BROADCAST, "Late Broadcast") \
    X(SETUP, "Wait at Init/Finalize")

enum mpi_wait_state {
#define MPI_WAIT_STATE(name, text) MPI_WAIT_##name,
    MPI_WAIT_STATES(MPI_WAIT_STATE)
#undef MPI_WAIT_STATE
        MPI_WAIT_STATE_COUNT
};

struct mpi_wait {
    enum mpi_wait_state state;
    uint32_t call;    /* that waited, from its start on */
    int64_t until_ns; /* at most the end of the call */
    int64_t cause;    /* the thread that was waited for: packed id */
};

struct mpi_waits {
    struct mpi_wait *list; /* owned; by call, hence by thread and time; one a call at most */
    size_t count, room;
};

/* Each adds waits and returns ERR_NO_MEMORY or 0; once all are added, mpi_waits_settle() leaves one a call.
 * mpi_waits_free() is safe after an error. */
int mpi_waits_add_messages(struct mpi_waits *waits, const struct mpi_calls *calls, const struct messages *messages,
                           const struct clock_errors *errors);
int mpi_waits_add_collectives(struct mpi_waits *waits, const struct mpi_calls *calls, const struct collectives *all,
                              const struct clock_errors *errors);
int mpi_waits_add_probes(struct mpi_waits *waits, struct report *report, const struct mpi_calls *calls,
                         const struct messages *messages, const struct clock_errors *errors, struct error *err);
int mpi_waits_add_setup(struct mpi_waits *waits, const struct mpi_calls *calls, const struct clock_errors *errors);
void mpi_waits_settle(struct mpi_waits *waits);
void mpi_waits_free(struct mpi_waits *waits);

/* Adds a wait of a call until the other thread entered, if it is longer than the error. */
int mpi_waits_add(struct mpi_waits *waits, const struct mpi_calls *calls, const struct clock_errors *errors,
                  const struct mpi_wait *wait);

static inline int64_t mpi_wait_ns(const struct mpi_calls *calls, const struct mpi_wait *wait)
{
    return saturating_subtract(wait->until_ns, calls->list[wait->call].start_ns);
}

const char *mpi_wait_text(enum mpi_wait_state state);

#endif
