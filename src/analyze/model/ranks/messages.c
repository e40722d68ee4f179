/* Reads both sides of messages, and joins them channel by channel. */
#include "messages.h"

#include <stdlib.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/hash.h"

enum { NO_COMMUNICATOR = UINT32_MAX };

const char *message_state_text(enum message_state state)
{
    static const char *const texts[] = {
#define MESSAGE_STATE(name, text) text,
        MESSAGE_STATES(MESSAGE_STATE)
#undef MESSAGE_STATE
    };
    return texts[state];
}

static int64_t messages_source_of(const struct message_side *side)
{
    return side->is_received ? side->peer : side->rank;
}

static int64_t destination_of(const struct message_side *side)
{
    return side->is_received ? side->rank : side->peer;
}

/* A receive that nobody saw complete does not know what it got. */
static int can_match(const struct message_side *side)
{
    return side->communicator != NO_COMMUNICATOR && side->rank >= 0 && side->peer >= 0 && side->tag >= 0 &&
           !(side->is_received && side->is_open);
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

enum { START, END, THREAD, NAME, RANK, IS_RECEIVED, PEER, TAG, SIZE, COMMUNICATOR };

/* Equal texts may have several ids in a report. */
static int number_communicator(struct messages *messages, struct report *report, const struct row_cursor *rows,
                               uint32_t *number)
{
    size_t length;

    *number = NO_COMMUNICATOR;
    if (row_is_null(rows, COMMUNICATOR))
        return 0;
    const char *name = report_string(report, row_int(rows, COMMUNICATOR), &length);
    int64_t added = intern_add(&messages->names, name, length);
    if (added < 0)
        return ERR_NO_MEMORY;
    *number = (uint32_t)added;
    return 0;
}

static void messages_find_calls(struct message_side *side, const struct mpi_calls *calls)
{
    side->started = mpi_calls_starting(calls, side->thread, side->start_ns);
    side->completed = MPI_NO_CALL;
    side->started_end_ns = side->started == MPI_NO_CALL ? INT64_MAX : calls->list[side->started].end_ns;
    side->is_whole = (uint8_t)mpi_calls_is_whole(calls, global_process(side->thread));
    if (side->is_open)
        return;
    if (side->started_end_ns == side->end_ns)
        side->completed = side->started;
    else
        side->completed = mpi_calls_ending(calls, global_process(side->thread), side->end_ns);
}

static int messages_is_kept(const struct messages *messages, const struct message_side *side)
{
    uint64_t hash = hash_number(hash_number((uint64_t)messages_source_of(side)) ^ (uint64_t)destination_of(side) << 24 ^
                                (uint64_t)side->tag << 48 ^ side->communicator);

    return messages->stride < 2 || !can_match(side) || hash % messages->stride == 0;
}

static int messages_read_rows(struct messages *messages, struct row_cursor *rows, struct report *report, uint32_t part,
                              const struct mpi_calls *calls)
{
    while (row_cursor_next(rows)) {
        struct message_side side = {
            .start_ns = row_int(rows, START),
            .end_ns = row_int_or(rows, END, INT64_MIN),
            .is_open = (uint8_t)row_is_null(rows, END),
            .thread = row_int_or(rows, THREAD, 0),
            .name = row_int_or(rows, NAME, -1),
            .rank = row_int_or(rows, RANK, MPI_RANK_UNKNOWN),
            .peer = row_int_or(rows, PEER, MPI_RANK_UNKNOWN),
            .tag = row_int_or(rows, TAG, -1),
            .bytes = row_int_or(rows, SIZE, -1),
            .is_received = row_int_or(rows, IS_RECEIVED, 0) != 0,
            .other = NO_MESSAGE,
            .state = MESSAGE_UNTOLD,
            .part = part,
        };
        if (number_communicator(messages, report, rows, &side.communicator) != 0)
            return ERR_NO_MEMORY;
        if (!messages_is_kept(messages, &side))
            continue;
        if (messages->count >= NO_MESSAGE - 1 ||
            array_reserve(&messages->list, &messages->room, messages->count + 1, sizeof *messages->list) != 0)
            return ERR_NO_MEMORY;
        messages_find_calls(&side, calls);
        messages->list[messages->count++] = side;
    }
    return 0;
}

/* ---- Channels --------------------------------------------------------------------------------------------------- */

static int compare_channels(const struct message_side *a, const struct message_side *b)
{
    int order = COMPARE(a->communicator, b->communicator) ?: COMPARE(messages_source_of(a), messages_source_of(b));

    return order ?: COMPARE(destination_of(a), destination_of(b)) ?: COMPARE(a->tag, b->tag);
}

/* The sides of a message with a known channel follow each other: first all sends, then all receives, each in order. */
static int compare_sides(const void *left, const void *right)
{
    const struct message_side *a = left, *b = right;
    int order = compare_channels(a, b) ?: COMPARE(a->is_received, b->is_received);

    return order ?: COMPARE(a->start_ns, b->start_ns) ?: COMPARE(a->thread, b->thread) ?: COMPARE(a->end_ns, b->end_ns);
}

struct messages_matching {
    struct messages *messages;
    const struct mpi_calls *calls;
    const struct clock_errors *errors;
    struct message_side *sends, *receives; /* of the channel */
    size_t send_count, receive_count;
    size_t told;                           /* of all messages; those from here on are in no channel */
};

static void set_states(struct message_side *sides, size_t count, enum message_state state)
{
    for (size_t i = 0; i < count; i++)
        sides[i].state = (uint8_t)state;
}

static int messages_is_recorded(const struct mpi_calls *calls, int64_t rank)
{
    for (size_t i = 0; calls && i < calls->thread_count; i++)
        if (calls->threads[i].rank == rank)
            return 1;
    return !calls;
}

static int is_of_one_process(const struct message_side *sides, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (global_process(sides[i].thread) != global_process(sides[0].thread) || sides[i].part != sides[0].part)
            return 0;
    return 1;
}

/* A receive that nobody saw complete may have taken a message, and one with any source or any tag one of any channel.
 */
static int has_open_receive(const struct messages_matching *matching)
{
    const struct messages *messages = matching->messages;
    const struct message_side *wanted = matching->receives;

    for (size_t i = messages->told; i < messages->count; i++) {
        const struct message_side *at = &messages->list[i];
        if (at->is_received && at->is_open && at->rank == wanted->rank &&
            (at->communicator == wanted->communicator || at->communicator == NO_COMMUNICATOR) &&
            (at->peer < 0 || at->peer == wanted->peer) && (at->tag < 0 || at->tag == wanted->tag))
            return 1;
    }
    return 0;
}

/* Whether counting from the first on both sides can be wrong. */
static int messages_is_doubtful(const struct messages_matching *matching)
{
    size_t count = matching->send_count < matching->receive_count ? matching->send_count : matching->receive_count;
    int whole = matching->sends->is_whole && matching->receives->is_whole;
    int64_t error = !matching->errors
                        ? INT64_MAX
                        : clock_errors_of(matching->errors, matching->sends->thread, matching->receives->thread);

    if (!is_of_one_process(matching->sends, matching->send_count) ||
        !is_of_one_process(matching->receives, matching->receive_count))
        return 1;
    if (matching->send_count != matching->receive_count && (!whole || has_open_receive(matching)))
        return 1;
    for (size_t i = 0; i < count; i++) {
        const struct message_side *send = &matching->sends[i], *receive = &matching->receives[i];
        if (send->bytes >= 0 && receive->bytes >= 0 && send->bytes != receive->bytes)
            return 1;
        if (!whole && saturating_add(receive->end_ns, error) < send->start_ns)
            return 1;
    }
    return 0;
}

/* Two that were started at once, or by two threads at the same time, may be in either order. */
static int may_swap(const struct message_side *first, const struct message_side *second)
{
    return first->start_ns == second->start_ns ||
           (first->thread != second->thread && first->started_end_ns > second->start_ns);
}

static void mark_swaps(struct message_side *sides, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (may_swap(&sides[i], &sides[i + 1]))
            sides[i].state = sides[i + 1].state = MESSAGE_DOUBTFUL;
}

static void messages_join(const struct messages_matching *matching)
{
    struct message_side *list = matching->messages->list;

    for (size_t i = 0; i < matching->send_count && i < matching->receive_count; i++) {
        struct message_side *send = &matching->sends[i], *receive = &matching->receives[i];
        if (send->state == MESSAGE_DOUBTFUL || receive->state == MESSAGE_DOUBTFUL) {
            send->state = receive->state = MESSAGE_DOUBTFUL;
            continue;
        }
        send->state = receive->state = MESSAGE_MATCHED;
        send->other = (uint32_t)(receive - list);
        receive->other = (uint32_t)(send - list);
    }
}

static void match_channel(const struct messages_matching *matching)
{
    struct message_side *sends = matching->sends, *receives = matching->receives;

    if (!matching->send_count || !matching->receive_count) {
        const struct message_side *side = matching->send_count ? sends : receives;
        enum message_state state = messages_is_recorded(matching->calls, side->peer) ? MESSAGE_ALONE : MESSAGE_ABSENT;
        set_states(sends, matching->send_count, state);
        set_states(receives, matching->receive_count, state);
        return;
    }
    int doubtful = messages_is_doubtful(matching);
    set_states(sends, matching->send_count, doubtful ? MESSAGE_DOUBTFUL : MESSAGE_ALONE);
    set_states(receives, matching->receive_count, doubtful ? MESSAGE_DOUBTFUL : MESSAGE_ALONE);
    if (doubtful)
        return;
    mark_swaps(sends, matching->send_count);
    mark_swaps(receives, matching->receive_count);
    messages_join(matching);
}

/* Those that cannot be matched are moved to the end. */
static size_t put_told_first(struct messages *messages)
{
    size_t told = 0;

    for (size_t i = 0; i < messages->count; i++) {
        struct message_side *at = &messages->list[i];
        if (!can_match(at))
            continue;
        struct message_side swapped = messages->list[told];
        messages->list[told++] = *at;
        *at = swapped;
    }
    return told;
}

void messages_match(struct messages *messages, const struct mpi_calls *calls, const struct clock_errors *errors)
{
    size_t told = messages->told = put_told_first(messages);

    if (told)
        qsort(messages->list, told, sizeof *messages->list, compare_sides);
    for (size_t first = 0, received, end; first < told; first = end) {
        for (received = first; received < told && !messages->list[received].is_received &&
                               compare_channels(&messages->list[received], &messages->list[first]) == 0;
             received++)
            ;
        for (end = received; end < told && messages->list[end].is_received &&
                             compare_channels(&messages->list[end], &messages->list[first]) == 0;
             end++)
            ;
        match_channel(&(struct messages_matching){
            .messages = messages,
            .calls = calls,
            .errors = errors,
            .sends = messages->list + first,
            .receives = messages->list + received,
            .send_count = received - first,
            .receive_count = end - received,
        });
    }
    for (size_t i = 0; i < messages->count; i++)
        messages->counts[messages->list[i].is_received][messages->list[i].state]++;
}

uint32_t messages_find_receive(const struct messages *messages, const struct message_channel *channel, int64_t from_ns)
{
    const struct message_side wanted = { .communicator = channel->communicator,
                                         .rank = channel->destination,
                                         .peer = channel->source,
                                         .tag = channel->tag,
                                         .is_received = 1,
                                         .start_ns = from_ns,
                                         .thread = INT64_MIN,
                                         .end_ns = INT64_MIN };
    size_t first = BISECT(0, messages->told, i, compare_sides(&messages->list[i], &wanted) < 0);
    const struct message_side *found = first < messages->told ? &messages->list[first] : NULL;
    return found && found->is_received && compare_channels(found, &wanted) == 0 ? (uint32_t)first : NO_MESSAGE;
}

int messages_add(struct messages *messages, struct report *report, uint32_t part, const struct mpi_calls *calls,
                 struct error *err)
{
    static const char *const columns[] = { "start", "end", "globalTid", "textId",       "rank", "isReceived",
                                           "peer",  "tag", "size",      "communicator", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_MPI_MESSAGE", columns, err);

    if (code != 0)
        return code;
    code = messages_read_rows(messages, &rows, report, part, calls);
    row_cursor_close(&rows);
    return code;
}

int messages_read(struct messages *messages, struct report *report, const struct mpi_calls *calls,
                  const struct clock_errors *errors, struct error *err)
{
    int code;

    *messages = (struct messages){ 0 };
    if ((code = messages_add(messages, report, 0, calls, err)) != 0)
        return code;
    messages_match(messages, calls, errors);
    return 0;
}

void messages_free(struct messages *messages)
{
    free(messages->list);
    intern_free(&messages->names);
    *messages = (struct messages){ 0 };
}
