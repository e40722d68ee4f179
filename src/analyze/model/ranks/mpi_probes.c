/* Finds the waits of probes. A probe sees the first message of its channel that no receive has taken: the one that the
 * next receive of the channel takes. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "mpi_waits.h"

/* A communicator of a process, from when it was made: handles are reused. */
struct mpi_probes_communicator {
    int64_t process, handle, since_ns;
    int64_t name, members; /* number in messages.names; string id */
};

struct probing {
    struct report *report;
    const struct mpi_calls *calls;
    const struct messages *messages;
    struct mpi_probes_communicator *communicators; /* owned; by process, handle and time */
    size_t count, room;
};

static int compare_communicators(const void *left, const void *right)
{
    const struct mpi_probes_communicator *a = left, *b = right;

    return COMPARE(a->process, b->process) ?: COMPARE(a->handle, b->handle) ?: COMPARE(a->since_ns, b->since_ns);
}

static int mpi_probes_read_communicators(struct probing *probing, struct error *err)
{
    enum { PROCESS, HANDLE, SINCE, NAME, MEMBERS };
    static const char *const names[] = { "globalPid", "commHandle", "timestamp", "name", "members", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, probing->report, "MPI_COMMUNICATORS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        size_t length;
        const char *name = report_string(probing->report, row_int_or(&rows, NAME, 0), &length);
        if (row_is_null(&rows, PROCESS) || row_is_null(&rows, HANDLE) || row_is_null(&rows, NAME))
            continue;
        if (array_reserve(&probing->communicators, &probing->room, probing->count + 1,
                          sizeof *probing->communicators) != 0) {
            code = ERR_NO_MEMORY;
            break;
        }
        probing->communicators[probing->count++] = (struct mpi_probes_communicator){
            .process = global_process(row_int(&rows, PROCESS)),
            .handle = row_int(&rows, HANDLE),
            .since_ns = row_int_or(&rows, SINCE, INT64_MIN),
            .name = intern_find(&probing->messages->names, name, length),
            .members = row_int_or(&rows, MEMBERS, 0),
        };
    }
    row_cursor_close(&rows);
    if (probing->count)
        qsort(probing->communicators, probing->count, sizeof *probing->communicators, compare_communicators);
    return code;
}

/* The one that the handle named at that time, or NULL. */
static const struct mpi_probes_communicator *find_communicator(const struct probing *probing, int64_t process,
                                                               int64_t handle, int64_t time_ns)
{
    const struct mpi_probes_communicator wanted = { .process = process, .handle = handle, .since_ns = time_ns };
    size_t after = BISECT(0, probing->count, i, compare_communicators(&probing->communicators[i], &wanted) <= 0);
    const struct mpi_probes_communicator *found = after ? &probing->communicators[after - 1] : NULL;
    return found && found->process == process && found->handle == handle ? found : NULL;
}

/* The n-th of "0,2,4"; MPI_RANK_UNKNOWN if there are fewer. */
static int64_t find_member(const char *members, int64_t n)
{
    for (; n > 0 && *members; n--) {
        members += strcspn(members, ",");
        members += *members == ',';
    }
    if (n != 0 || !*members)
        return MPI_RANK_UNKNOWN;
    long long rank = strtoll(members, NULL, 10);
    return rank >= 0 ? rank : MPI_RANK_UNKNOWN;
}

enum { START, END, THREAD, NAME, COMMUNICATOR, PEER, TAG };

static int is_probe(struct report *report, int64_t name)
{
    static const char *const probes[] = { "Probe", "Mprobe", "Iprobe", "Improbe" };
    size_t length;
    const char *base = mpi_call_base(report, name, &length);

    for (size_t i = 0; i < COUNT_OF(probes); i++)
        if (mpi_base_is(base, length, probes[i]))
            return 1;
    return 0;
}

/* The send whose message the probe saw, or NULL. */
static const struct message_side *find_send(const struct probing *probing, const struct row_cursor *rows)
{
    int64_t thread = row_int_or(rows, THREAD, 0), start = row_int(rows, START);
    const struct mpi_probes_communicator *communicator = find_communicator(probing, global_process(thread),
                                                                           row_int_or(rows, COMMUNICATOR, 0), start);

    if (!communicator || communicator->name < 0)
        return NULL;
    const struct message_channel channel = {
        .communicator = (uint32_t)communicator->name,
        .source = find_member(report_string(probing->report, communicator->members, NULL), row_int(rows, PEER)),
        .destination = mpi_rank_of(&probing->calls->ranks, thread),
        .tag = row_int(rows, TAG),
    };
    uint32_t receive = messages_find_receive(probing->messages, &channel, row_int(rows, END));
    uint32_t send = receive == NO_MESSAGE ? NO_MESSAGE : probing->messages->list[receive].other;
    return send == NO_MESSAGE ? NULL : &probing->messages->list[send];
}

static int add_probe(struct mpi_waits *waits, const struct probing *probing, const struct row_cursor *rows,
                     const struct clock_errors *errors)
{
    if (row_is_null(rows, END) || row_is_null(rows, PEER) || row_is_null(rows, TAG) ||
        !is_probe(probing->report, row_int_or(rows, NAME, -1)))
        return 0;
    const struct message_side *send = find_send(probing, rows);
    struct mpi_wait wait = {
        .state = MPI_WAIT_LATE_SENDER,
        .call = mpi_calls_starting(probing->calls, row_int_or(rows, THREAD, 0), row_int(rows, START)),
    };
    if (!send || wait.call == MPI_NO_CALL)
        return 0;
    wait.until_ns = send->start_ns;
    wait.cause = send->thread;
    return mpi_waits_add(waits, probing->calls, errors, &wait);
}

int mpi_waits_add_probes(struct mpi_waits *waits, struct report *report, const struct mpi_calls *calls,
                         const struct messages *messages, const struct clock_errors *errors, struct error *err)
{
    static const char *const columns[] = { "start",      "end",        "globalTid", "textId",
                                           "commHandle", "remoteRank", "tag",       NULL };
    struct probing probing = { .report = report, .calls = calls, .messages = messages };
    struct row_cursor rows = { 0 };
    int code = mpi_probes_read_communicators(&probing, err);

    if (code != 0)
        goto done;
    if ((code = row_cursor_open(&rows, report, "MPI_P2P_EVENTS", columns, err)) != 0)
        goto done;
    while (row_cursor_next(&rows))
        if ((code = add_probe(waits, &probing, &rows, errors)) != 0)
            break;
done:
    row_cursor_close(&rows);
    free(probing.communicators);
    return code;
}
