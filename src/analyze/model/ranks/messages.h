/* MPI's messages between two ranks: which receive took which send.
 *
 * A channel is a communicator, a source, a destination and a tag. MPI delivers the messages of a channel in the order
 * in which they were sent, to its receives in the order in which these were posted, also if a receive named any source
 * or any tag: the report has the ones that it got. So the n-th send of a channel belongs to its n-th receive.
 *
 * What that does not settle stays unmatched, with the reason: nothing is guessed. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_MESSAGES_H
#define TACHO_ANALYZE_MODEL_RANKS_MESSAGES_H

#include "base/intern.h"
#include "clock_errors.h"
#include "rank_calls.h"

enum { NO_MESSAGE = UINT32_MAX };

#define MESSAGE_STATES(X)                                                                                            \
    X(MATCHED, "matched")                                                                                            \
    X(UNTOLD, "communicator, rank or tag not known") /* another world, or a receive that nobody saw complete */      \
    X(ABSENT, "other rank not recorded")                                                                             \
    X(ALONE, "no counterpart")                                                                                       \
    X(DOUBTFUL, "order not certain") /* started at once, by threads at the same time, or not all was recorded */

enum message_state {
#define MESSAGE_STATE(name, text) MESSAGE_##name,
    MESSAGE_STATES(MESSAGE_STATE)
#undef MESSAGE_STATE
        MESSAGE_STATE_COUNT
};

/* What one rank knows of a message: a row of TACHO_MPI_MESSAGE. */
struct message_side {
    int64_t start_ns, end_ns;    /* of the call that started it, and of the one that completed it */
    int64_t thread, name;        /* that started it, with which call: packed id, string id */
    int64_t rank, peer, tag;     /* ranks of MPI_COMM_WORLD */
    int64_t bytes;               /* -1: not known */
    uint32_t communicator;       /* the same number on all ranks */
    uint32_t other;              /* the side of the other rank, or NO_MESSAGE */
    uint32_t started, completed; /* numbers of mpi_calls, or MPI_NO_CALL; of a blocking call both are the same */
    uint8_t is_received, state;  /* enum message_state */
    uint8_t is_open;             /* nobody saw it complete: end_ns is not known */
};

struct messages {
    struct message_side *list; /* owned */
    size_t count, room;
    size_t told;               /* of them, those in channels: by channel, sends before receives, in order */
    struct intern names;       /* of communicators, by their numbers */
    uint64_t counts[2][MESSAGE_STATE_COUNT]; /* by is_received */
};

/* `calls` and `errors` are those of the report. messages_free() is safe after an error. */
int messages_read(struct messages *messages, struct report *report, const struct mpi_calls *calls,
                  const struct clock_errors *errors, struct error *err);
void messages_free(struct messages *messages);

/* The first receive of a channel that was posted at this time or later, or NO_MESSAGE. */
struct message_channel {
    uint32_t communicator;
    int64_t source, destination, tag;
};
uint32_t messages_find_receive(const struct messages *messages, const struct message_channel *channel, int64_t from_ns);

const char *message_state_text(enum message_state state);

#endif
