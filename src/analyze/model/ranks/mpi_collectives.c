/* Files of nsys have neither the process nor the name of a communicator: there, the rank stands for the process, and
 * its members and how many with the same members came before for the name. Tacho names them in the same way. */
#include "mpi_collectives.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"

/* A communicator of a process, from when it was made. */
struct mpi_collectives_communicator {
    int64_t process, handle, since_ns;
    uint64_t name;                 /* hash */
    uint64_t called;               /* collectives so far */
    int64_t members, size, before; /* as in struct mpi_collective */
};

/* Communicators with the same members, of a process. */
struct same_members {
    uint64_t key, count;
};
MAP(members_map, struct same_members, uint64_t, key, count, hash_number, map_is_same_number)

struct rank_process {
    uint64_t rank; /* + 1 */
    int64_t process;
};
MAP(process_map, struct rank_process, uint64_t, rank, rank, hash_number, map_is_same_number)

struct mpi_collectives_reading {
    struct report *report;
    struct mpi_collectives_communicator *communicators; /* by process, handle and time; owned */
    size_t count, room;
    struct members_map members;
    struct process_map processes;
    int (*visit)(void *context, struct report *report, const struct mpi_collective *call);
    void *context;
};

static int compare_communicators(const void *a, const void *b)
{
    const struct mpi_collectives_communicator *x = a, *y = b;

    return COMPARE(x->process, y->process) ?: COMPARE(x->handle, y->handle) ?: COMPARE(x->since_ns, y->since_ns);
}

static int mpi_collectives_compare_times(const void *a, const void *b)
{
    const struct mpi_collectives_communicator *x = a, *y = b;

    return COMPARE(x->since_ns, y->since_ns) ?: compare_communicators(a, b);
}

/* ---- Communicators --------------------------------------------------------------------------------------------- */

static int mpi_collectives_read_processes(struct mpi_collectives_reading *reading, struct error *err)
{
    static const char *const names[] = { "globalTid", "rank", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, reading->report, "MPI_RANKS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct rank_process entry = { (uint64_t)row_int_or(&rows, 1, -1) + 1, global_process(row_int_or(&rows, 0, 0)) };
        if (!entry.rank || process_map_find(&reading->processes, entry.rank) ||
            process_map_add(&reading->processes, &entry))
            continue;
        code = ERR_NO_MEMORY;
        break;
    }
    row_cursor_close(&rows);
    return code;
}

/* How many communicators with these members the process had before. */
static int count_same(struct mpi_collectives_reading *reading, const struct mpi_collectives_communicator *made,
                      int64_t *before)
{
    size_t length;
    const char *members = report_string(reading->report, made->members, &length);
    uint64_t key = hash_number((uint64_t)made->process) ^ hash_bytes(members, length);
    struct same_members *found = members_map_find(&reading->members, key);

    if (!found && !(found = members_map_add(&reading->members, &(struct same_members){ key, 1 })))
        return ERR_NO_MEMORY;
    *before = (int64_t)found->count++ - 1;
    return 0;
}

/* Names those that have no name, and numbers those with the same members. */
static int name_communicators(struct mpi_collectives_reading *reading)
{
    if (reading->count)
        qsort(reading->communicators, reading->count, sizeof *reading->communicators, mpi_collectives_compare_times);
    for (size_t i = 0; i < reading->count; i++) {
        struct mpi_collectives_communicator *at = &reading->communicators[i];
        size_t length;
        const char *members = report_string(reading->report, at->members, &length);
        if (count_same(reading, at, &at->before) != 0)
            return ERR_NO_MEMORY;
        if (!at->name)
            at->name = hash_number(hash_bytes(members, length) + (uint64_t)at->before);
    }
    return 0;
}

enum { PROCESS, HANDLE, SINCE, NAME, MEMBERS, SIZE, RANK };

static int mpi_collectives_add_communicator(struct mpi_collectives_reading *reading, const struct row_cursor *rows)
{
    size_t length;
    const char *name = report_string(reading->report, row_int_or(rows, NAME, 0), &length);
    const struct rank_process *process = process_map_find(&reading->processes,
                                                          (uint64_t)row_int_or(rows, RANK, -1) + 1);

    if (row_is_null(rows, HANDLE) || (row_is_null(rows, PROCESS) && !process) ||
        (!length && row_is_null(rows, MEMBERS)))
        return 0;
    return ARRAY_PUSH(reading->communicators, reading->room, reading->count,
                      (struct mpi_collectives_communicator){
                          .process = row_is_null(rows, PROCESS) ? process->process
                                                                : global_process(row_int(rows, PROCESS)),
                          .handle = row_int(rows, HANDLE),
                          .since_ns = row_int_or(rows, SINCE, INT64_MIN),
                          .name = length ? hash_bytes(name, length) : 0,
                          .members = row_int_or(rows, MEMBERS, 0),
                          .size = row_int_or(rows, SIZE, 0),
                      });
}

static int mpi_collectives_read_communicators(struct mpi_collectives_reading *reading, struct error *err)
{
    static const char *const names[] = {
        "globalPid", "commHandle", "timestamp", "name", "members", "size", "rank", NULL
    };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, reading->report, "MPI_COMMUNICATORS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if ((code = mpi_collectives_add_communicator(reading, &rows)) != 0)
            break;
    row_cursor_close(&rows);
    if (code != 0)
        return code;
    if ((code = name_communicators(reading)) != 0)
        return code;
    if (reading->count)
        qsort(reading->communicators, reading->count, sizeof *reading->communicators, compare_communicators);
    return 0;
}

/* The one that the handle named at that time, or NULL. */
static struct mpi_collectives_communicator *find_communicator(const struct mpi_collectives_reading *reading,
                                                              int64_t process, int64_t handle, int64_t time_ns)
{
    const struct mpi_collectives_communicator wanted = { .process = process, .handle = handle, .since_ns = time_ns };
    size_t after = BISECT(0, reading->count, i, compare_communicators(&reading->communicators[i], &wanted) <= 0);
    struct mpi_collectives_communicator *found = after ? &reading->communicators[after - 1] : NULL;
    return found && found->process == process && found->handle == handle ? found : NULL;
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

struct mpi_collectives_ordered {
    int64_t start;
    size_t row;
};

static int compare_starts(const void *a, const void *b)
{
    const struct mpi_collectives_ordered *x = a, *y = b;

    return COMPARE(x->start, y->start) ?: COMPARE(x->row, y->row);
}

enum { START, END, THREAD, TEXT, COMMUNICATOR, REQUEST, REQUEST_END, SENT, RECEIVED, ROOT, ROW_RANK };
static const char *const mpi_collectives_call_columns[] = { "start",      "end",           "globalTid",  "textId",
                                                            "commHandle", "requestHandle", "requestEnd", "size",
                                                            "recvSize",   "rootRank",      "rank",       NULL };

static int mpi_collectives_number_call(struct mpi_collectives_reading *reading, const struct row_cursor *rows)
{
    int64_t start = row_int_or(rows, START, 0), thread = row_int_or(rows, THREAD, 0);
    struct mpi_collectives_communicator *at = row_is_null(rows, COMMUNICATOR)
                                                  ? NULL
                                                  : find_communicator(reading, global_process(thread),
                                                                      row_int(rows, COMMUNICATOR), start);

    if (!at)
        return 0;
    const struct mpi_collective call = {
        .communicator = at->name,
        .sequence = at->called++,
        .members = at->members,
        .comm_size = at->size,
        .before = at->before,
        .start_ns = start,
        .end_ns = row_int_or(rows, row_is_null(rows, REQUEST) ? END : REQUEST_END, INT64_MIN),
        .thread = thread,
        .row_rank = row_int_or(rows, ROW_RANK, -1),
        .operation = row_int_or(rows, TEXT, 0),
        .sent = row_int_or(rows, SENT, -1),
        .received = row_int_or(rows, RECEIVED, -1),
        .root = row_int_or(rows, ROOT, -1),
        .is_nonblocking = !row_is_null(rows, REQUEST),
    };
    return reading->visit(reading->context, reading->report, &call);
}

/* Rows of a table are in no certain order; calls are counted in the order in which they began. */
static int mpi_collectives_number_calls(struct mpi_collectives_reading *reading, struct error *err)
{
    struct row_cursor rows;
    int code = row_cursor_open(&rows, reading->report, "MPI_COLLECTIVES_EVENTS", mpi_collectives_call_columns, err);

    if (code != 0)
        return code;
    size_t count = rows.columns.rows;
    struct mpi_collectives_ordered *order = array_alloc(count + 1, sizeof *order);
    if (!order) {
        code = ERR_NO_MEMORY;
        goto close_rows;
    }
    for (size_t i = 0; row_cursor_next(&rows); i++)
        order[i] = (struct mpi_collectives_ordered){ row_int_or(&rows, START, 0), rows.row };
    qsort(order, count, sizeof *order, compare_starts);
    for (size_t i = 0; i < count; i++) {
        rows.row = order[i].row;
        if ((code = mpi_collectives_number_call(reading, &rows)) != 0)
            break;
    }
    free(order);
close_rows:
    row_cursor_close(&rows);
    return code;
}

int mpi_collectives_walk(struct report *report,
                         int (*visit)(void *context, struct report *report, const struct mpi_collective *call),
                         void *context, struct error *err)
{
    struct mpi_collectives_reading reading = { .report = report, .visit = visit, .context = context };
    int code;

    if ((code = mpi_collectives_read_processes(&reading, err)) != 0)
        goto done;
    if ((code = mpi_collectives_read_communicators(&reading, err)) != 0)
        goto done;
    code = mpi_collectives_number_calls(&reading, err);
done:
    free(reading.communicators);
    members_map_free(&reading.members);
    process_map_free(&reading.processes);
    return code == ERR_NO_MEMORY ? error_no_memory(err) : code;
}
