/* Finds the synchronising collectives of MPI that reports have in common (mpi_collectives.h numbers them). */
#include "set_collectives.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/ranks/collective_kinds.h"
#include "analyze/model/ranks/mpi_collectives.h"
#include "base/array.h"
#include "base/hash.h"

/* More are not read: the fit takes some thousand of each host. */
#define MOST_ENTRIES 4000000

/* A call, before instances are known. */
struct set_collectives_call {
    uint64_t instance;
    struct clock_entry entry;
};

struct set_collectives_reading {
    uint32_t part;
    uint64_t job;                       /* hash of its name: communicators of two jobs have the same names */
    struct set_collectives_call *calls; /* owned; calls of all members */
    size_t call_count, call_room;
    uint64_t stride;                    /* instances whose number it divides are kept */
    int64_t operation;                  /* string id in the part; 0: none */
    int synchronises;                   /* whether it does */
};

/* Most calls are of the function of the one before. */
static int synchronises(struct set_collectives_reading *reading, struct report *report, int64_t operation)
{
    if (operation != reading->operation) {
        reading->operation = operation;
        reading->synchronises = collective_synchronises(collective_kind_of(report_string(report, operation, NULL)));
    }
    return reading->synchronises;
}

/* Keeps the call if it synchronises. */
static int set_collectives_add_call(void *context, struct report *report, const struct mpi_collective *call)
{
    struct set_collectives_reading *reading = context;
    uint64_t instance = hash_number(call->communicator ^ hash_number(call->sequence) ^ reading->job);

    if (call->end_ns == INT64_MIN || call->is_nonblocking || instance % reading->stride ||
        !synchronises(reading, report, call->operation))
        return 0;
    return ARRAY_PUSH(reading->calls, reading->call_room, reading->call_count,
                      (struct set_collectives_call){ instance, { reading->part, call->start_ns, call->end_ns } });
}

static int set_collectives_compare_calls(const void *a, const void *b)
{
    const struct set_collectives_call *x = a, *y = b;

    return COMPARE(x->instance, y->instance) ?: COMPARE(x->entry.part, y->entry.part);
}

/* Sorted calls become instances; those of a single part say nothing. */
static int set_collectives_divide(struct set_collectives *collectives, const struct set_collectives_call *calls,
                                  size_t count)
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

static uint64_t set_collectives_count_rows(const struct set_member *members, size_t count)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < count; i++)
        rows += report_rows(members[i].report, "MPI_COLLECTIVES_EVENTS");
    return rows;
}

int set_collectives_read(struct set_collectives *collectives, const struct set_member *members, size_t count,
                         struct error *err)
{
    struct set_collectives_reading reading = { .stride = set_collectives_count_rows(members, count) / MOST_ENTRIES +
                                                         1 };
    int code = 0;

    *collectives = (struct set_collectives){ 0 };
    for (reading.part = 0; reading.part < count; reading.part++) {
        const char *job = members[reading.part].job;
        reading.job = job ? hash_bytes(job, strlen(job)) : 0;
        reading.operation = 0;
        if ((code = mpi_collectives_walk(members[reading.part].report, set_collectives_add_call, &reading, err)) != 0)
            goto free_lists;
    }
    if (reading.call_count)
        qsort(reading.calls, reading.call_count, sizeof *reading.calls, set_collectives_compare_calls);
    if (set_collectives_divide(collectives, reading.calls, reading.call_count) != 0)
        code = error_no_memory(err);
free_lists:
    free(reading.calls);
    return code;
}

void set_collectives_free(struct set_collectives *collectives)
{
    free(collectives->entries);
    free(collectives->instance_first);
}
