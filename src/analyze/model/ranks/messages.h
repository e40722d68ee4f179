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
    X(UNTOLD, "peer not known") /* another world, or a receive that nobody saw complete */      \
    X(ABSENT, "rank not recorded")                                                                             \
    X(ALONE, "no counterpart")                                                                                       \
    X(DOUBTFUL, "order uncertain") /* started at once, by threads at the same time, or not all was recorded */

enum message_state {
#define MESSAGE_STATE(name, text) MESSAGE_##name,
    MESSAGE_STATES(MESSAGE_STATE)
#undef MESSAGE_STATE
        MESSAGE_STATE_COUNT
};

/* One rank's view of a message: a row of TACHO_MPI_MESSAGE. */
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
    uint8_t is_whole;            /* its process was recorded from MPI_Init() on */
    uint32_t part;               /* of messages_add() */
    int64_t started_end_ns;      /* of the call that started it; INT64_MAX: not known */
};

struct messages {
    struct message_side *list; /* owned */
    size_t count, room;
    uint64_t stride;
    size_t told;               /* of them, those in channels: by channel, sends before receives, in order */
    struct intern names;       /* of communicators, by their numbers */
    uint64_t counts[2][MESSAGE_STATE_COUNT]; /* by is_received */
};

/* Messages of several reports, whose times may have nothing to do with each other: each is added, as a part with a
 * number, and then all are matched. Starts from {0}, or with a stride: then only channels whose hash it divides are
 * kept. `calls` may be of the setup only. */
int messages_add(struct messages *messages, struct report *report, uint32_t part, const struct mpi_calls *calls,
                 struct error *err);
/* `calls` and `errors` are of all parts, or NULL: then it is not known whether the other rank was recorded, and times
 * of two parts are not compared. */
void messages_match(struct messages *messages, const struct mpi_calls *calls, const struct clock_errors *errors);

/* Both, for one report. messages_free() is safe after an error. */
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
