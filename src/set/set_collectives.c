/* Finds the instances of MPI's collectives. All ranks of a communicator call its collectives in the same order, so an
 * instance is the communicator, whose name is the same on all ranks, and how many it called before. */
#include "set_collectives.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/hash.h"

/* More are not read: the fit takes some thousand of each host. */
#define MOST_ENTRIES 4000000

/* Nobody leaves these before everybody has entered. */
static const char *const synchronising[] = {
    "MPI_Barrier",   "MPI_Allreduce", "MPI_Allgather",      "MPI_Allgatherv",           "MPI_Alltoall",
    "MPI_Alltoallv", "MPI_Alltoallw", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
};

/* A communicator of a process, from when it was made. */
struct communicator {
    int64_t process, handle, since_ns;
    uint64_t name;   /* hash */
    uint64_t called; /* collectives so far */
};

/* A call, before instances are known. */
struct call {
    uint64_t instance;
    struct clock_entry entry;
};

struct reading {
    const struct set_member *member;
    uint32_t part;
    struct communicator *communicators; /* of this member, by process, handle and time; owned, as all below */
    size_t communicator_count, communicator_room;
    struct call *calls;                 /* of all members */
    size_t call_count, call_room;
    uint64_t stride;                    /* of instances, those whose number it divides are kept */
};

static int compare_communicators(const void *a, const void *b)
{
    const struct communicator *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->handle != y->handle)
        return x->handle < y->handle ? -1 : 1;
    return x->since_ns < y->since_ns ? -1 : x->since_ns > y->since_ns;
}

static int read_communicators(struct reading *reading, struct error *err)
{
    static const char *const names[] = { "globalPid", "commHandle", "timestamp", "name", NULL };
    struct report *report = reading->member->report;
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "MPI_COMMUNICATORS", names, err);

    reading->communicator_count = 0;
    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        size_t length;
        const char *name = report_string(report, row_int_or(&rows, 3, 0), &length);
        if (row_is_null(&rows, 0) || row_is_null(&rows, 1) || !length)
            continue;
        if (array_reserve(&reading->communicators, &reading->communicator_room, reading->communicator_count + 1,
                          sizeof *reading->communicators) != 0) {
            code = error_set(err, ERR_NO_MEMORY, "out of memory");
            break;
        }
        reading->communicators[reading->communicator_count++] = (struct communicator){
            .process = global_process(row_int(&rows, 0)),
            .handle = row_int(&rows, 1),
            .since_ns = row_int_or(&rows, 2, INT64_MIN),
            .name = hash_bytes(name, length),
        };
    }
    row_cursor_close(&rows);
    if (reading->communicator_count)
        qsort(reading->communicators, reading->communicator_count, sizeof *reading->communicators,
              compare_communicators);
    return code;
}

/* The one that the handle named at that time, or NULL. */
static struct communicator *find_communicator(const struct reading *reading, int64_t process, int64_t handle,
                                              int64_t time_ns)
{
    const struct communicator wanted = { .process = process, .handle = handle, .since_ns = time_ns };
    size_t low = 0, high = reading->communicator_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_communicators(&reading->communicators[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct communicator *found = low ? &reading->communicators[low - 1] : NULL;
    return found && found->process == process && found->handle == handle ? found : NULL;
}

static int is_synchronising(const char *name)
{
    for (size_t i = 0; i < sizeof synchronising / sizeof *synchronising; i++)
        if (strcmp(name, synchronising[i]) == 0)
            return 1;
    return 0;
}

struct ordered {
    int64_t start;
    size_t row;
};

static int compare_starts(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

enum { START, END, THREAD, NAME, COMMUNICATOR, REQUEST };

/* Numbers the call, and keeps it if it synchronises. */
static int add_call(struct reading *reading, const struct row_cursor *rows)
{
    struct report *report = reading->member->report;
    int64_t start = row_int_or(rows, START, 0);
    struct communicator *at = find_communicator(reading, global_process(row_int_or(rows, THREAD, 0)),
                                                row_int_or(rows, COMMUNICATOR, 0), start);

    if (!at)
        return 0;
    uint64_t instance = hash_number(at->name ^ hash_number(at->called++));
    if (row_is_null(rows, END) || !row_is_null(rows, REQUEST) || instance % reading->stride ||
        !is_synchronising(report_string(report, row_int_or(rows, NAME, 0), NULL)))
        return 0;
    if (array_reserve(&reading->calls, &reading->call_room, reading->call_count + 1, sizeof *reading->calls) != 0)
        return ERR_NO_MEMORY;
    reading->calls[reading->call_count++] = (struct call){ instance, { reading->part, start, row_int(rows, END) } };
    return 0;
}

/* Rows of a table are in no certain order; calls are counted in the order in which they began. */
static int add_calls(struct reading *reading, struct row_cursor *rows)
{
    struct ordered *order = array_alloc(rows->columns.rows + 1, sizeof *order);
    int code = 0;

    if (!order)
        return ERR_NO_MEMORY;
    for (size_t i = 0; row_cursor_next(rows); i++)
        order[i] = (struct ordered){ row_int_or(rows, START, 0), rows->row };
    qsort(order, rows->columns.rows, sizeof *order, compare_starts);
    for (size_t i = 0; i < rows->columns.rows; i++) {
        rows->row = order[i].row;
        if ((code = add_call(reading, rows)) != 0)
            break;
    }
    free(order);
    return code;
}

static int read_calls(struct reading *reading, struct error *err)
{
    static const char *const names[] = { "start", "end", "globalTid", "textId", "commHandle", "requestHandle", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, reading->member->report, "MPI_COLLECTIVES_EVENTS", names, err);

    if (code != 0)
        return code;
    if ((code = add_calls(reading, &rows)) != 0)
        error_set(err, code, "out of memory");
    row_cursor_close(&rows);
    return code;
}

static int compare_calls(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->instance != y->instance)
        return x->instance < y->instance ? -1 : 1;
    return x->entry.part < y->entry.part ? -1 : x->entry.part > y->entry.part;
}

/* Sorted calls become instances; those of a single part say nothing. */
static int divide(struct set_collectives *collectives, const struct call *calls, size_t count)
{
    collectives->entries = array_alloc(count + 1, sizeof *collectives->entries);
    collectives->instance_first = array_alloc(count + 1, sizeof *collectives->instance_first);
    if (!collectives->entries || !collectives->instance_first)
        return ERR_NO_MEMORY;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && calls[end].instance == calls[first].instance;)
            end++;
        if (calls[first].entry.part == calls[end - 1].entry.part)
            continue;
        collectives->instance_first[collectives->instance_count++] = collectives->entry_count;
        for (size_t i = first; i < end; i++)
            collectives->entries[collectives->entry_count++] = calls[i].entry;
    }
    collectives->instance_first[collectives->instance_count] = collectives->entry_count;
    return 0;
}

static uint64_t count_rows(const struct set_member *members, size_t count)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < count; i++) {
        const struct report_table *table = report_table(members[i].report, "MPI_COLLECTIVES_EVENTS");
        rows += table ? table->rows : 0;
    }
    return rows;
}

static int read_members(struct reading *reading, const struct set_member *members, size_t count, struct error *err)
{
    int code;

    for (size_t i = 0; i < count; i++) {
        reading->member = &members[i];
        reading->part = (uint32_t)i;
        if ((code = read_communicators(reading, err)) != 0)
            return code;
        if ((code = read_calls(reading, err)) != 0)
            return code;
    }
    return 0;
}

int set_collectives_read(struct set_collectives *collectives, const struct set_member *members, size_t count,
                         struct error *err)
{
    struct reading reading = { .stride = count_rows(members, count) / MOST_ENTRIES + 1 };
    int code;

    *collectives = (struct set_collectives){ 0 };
    if ((code = read_members(&reading, members, count, err)) != 0)
        goto free_lists;
    if (reading.call_count)
        qsort(reading.calls, reading.call_count, sizeof *reading.calls, compare_calls);
    if ((code = divide(collectives, reading.calls, reading.call_count)) != 0)
        error_set(err, code, "out of memory");
free_lists:
    free(reading.communicators);
    free(reading.calls);
    return code;
}

void set_collectives_free(struct set_collectives *collectives)
{
    free(collectives->entries);
    free(collectives->instance_first);
}
