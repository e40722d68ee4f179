/* Reads the four tables of MPI calls into one list. */
#include "rank_calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/event_counts.h"
#include "base/array.h"
#include "clock_errors.h"
#include "report/reader/unite.h"

const char *const mpi_call_tables[] = {
    "MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS", NULL,
};

const char *mpi_call_base(struct report *report, int64_t name, size_t *length)
{
    const char *base = report_string(report, name, length);

    if (*length > 4 && memcmp(base, "MPI_", 4) == 0) {
        base += 4;
        *length -= 4;
    }
    if (*length > 2 && memcmp(base + *length - 2, "_c", 2) == 0)
        *length -= 2;
    return base;
}

int mpi_base_is(const char *base, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(base, name, length) == 0;
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static int rank_calls_read_table(struct mpi_calls *calls, const char *table, int64_t last_ns, struct error *err)
{
    enum { START, END, THREAD, NAME, CHAIN };
    static const char *const names[] = { "start", "end", "globalTid", "textId", "callchainId", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, calls->report, table, names, err);

    if (code != 0)
        return code;
    if (rows.columns.rows >= MPI_NO_CALL - calls->count ||
        array_reserve(&calls->list, &calls->room, calls->count + rows.columns.rows + 1, sizeof *calls->list) != 0) {
        row_cursor_close(&rows);
        return error_short_memory(err, "for the MPI calls");
    }
    while (row_cursor_next(&rows)) {
        int64_t start = row_int(&rows, START), end = row_int_or(&rows, END, last_ns);
        calls->list[calls->count++] = (struct mpi_call){
            .start_ns = start,
            .end_ns = end > start ? end : start,
            .thread = row_int_or(&rows, THREAD, 0),
            .name = row_int_or(&rows, NAME, -1),
            .chain = row_int_or(&rows, CHAIN, -1),
        };
    }
    row_cursor_close(&rows);
    return 0;
}

static int rank_calls_compare_calls(const void *left, const void *right)
{
    const struct mpi_call *a = left, *b = right;

    return COMPARE(a->thread, b->thread) ?: COMPARE(a->start_ns, b->start_ns) ?: COMPARE(a->end_ns, b->end_ns);
}

/* Whether all that the captured processes called is there, for those that were captured from their begin. */
static int is_unbroken(struct report *report, int *unbroken, struct error *err)
{
    struct event_counts counts = { 0 };
    const struct report_table *ranges = report_table(report, "TACHO_RANGE");
    struct merged_parts merged;
    size_t parts = report_part_count(report);
    int code = event_counts_read(&counts, report, err);

    if (code != 0 || (code = merged_parts_read(&merged, report, err)) != 0)
        return code;
    parts = merged.count ? merged.count : parts;
    merged_parts_free(&merged);
    const struct counted_source *mpi = event_counts_find(&counts, "mpi");
    *unbroken = (!mpi || !mpi->lost) && (!ranges || ranges->rows <= (parts ? parts : 1));
    return 0;
}

static int initialises(struct report *report, const struct mpi_call *call)
{
    size_t length;
    const char *base = mpi_call_base(report, call->name, &length);

    return mpi_base_is(base, length, "Init") || mpi_base_is(base, length, "Init_thread") ||
           mpi_base_is(base, length, "Session_init");
}

/* Threads of one process follow each other. */
static void spread_wholeness(struct mpi_calls *calls)
{
    for (size_t first = 0, end; first < calls->thread_count; first = end) {
        int is_whole = 0;
        for (end = first; end < calls->thread_count &&
                          global_process(calls->threads[end].id) == global_process(calls->threads[first].id);
             end++)
            is_whole |= calls->threads[end].is_whole;
        for (size_t i = first; i < end; i++)
            calls->threads[i].is_whole = is_whole;
    }
}

static int rank_calls_divide(struct mpi_calls *calls, struct error *err)
{
    int unbroken, code = is_unbroken(calls->report, &unbroken, err);

    if (code != 0)
        return code;
    for (size_t first = 0, end; first < calls->count; first = end) {
        struct mpi_thread thread = { .id = calls->list[first].thread, .first = first };
        for (end = first; end < calls->count && calls->list[end].thread == thread.id; end++)
            thread.is_whole |= unbroken && initialises(calls->report, &calls->list[end]);
        thread.end = end;
        thread.rank = mpi_rank_of(&calls->ranks, thread.id);
        if (ARRAY_PUSH(calls->threads, calls->thread_room, calls->thread_count, thread) != 0)
            return ERR_NO_MEMORY;
    }
    spread_wholeness(calls);
    return 0;
}

struct ended {
    int64_t process, end_ns;
    uint32_t call;
};

static int rank_calls_compare_ends(const void *left, const void *right)
{
    const struct ended *a = left, *b = right;

    return COMPARE(a->process, b->process) ?: COMPARE(a->end_ns, b->end_ns) ?: COMPARE(a->call, b->call);
}

static struct ended rank_calls_end_of(const struct mpi_calls *calls, size_t call)
{
    return (struct ended){ global_process(calls->list[call].thread), calls->list[call].end_ns, (uint32_t)call };
}

static int order_ends(struct mpi_calls *calls)
{
    struct ended *ended = array_alloc(calls->count + 1, sizeof *ended);

    calls->by_end = array_alloc(calls->count + 1, sizeof *calls->by_end);
    if (!ended || !calls->by_end) {
        free(ended);
        return ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < calls->count; i++)
        ended[i] = rank_calls_end_of(calls, i);
    qsort(ended, calls->count, sizeof *ended, rank_calls_compare_ends);
    for (size_t i = 0; i < calls->count; i++)
        calls->by_end[i] = ended[i].call;
    free(ended);
    return 0;
}

static int rank_calls_read_calls(struct mpi_calls *calls, struct report *report, const char *const *tables,
                                 struct error *err)
{
    struct report_span span = report_times(report);
    int code;

    *calls = (struct mpi_calls){ .report = report };
    if ((code = mpi_ranks_read(&calls->ranks, report, err)) != 0)
        return code;
    for (; *tables; tables++)
        if ((code = rank_calls_read_table(calls, *tables, span.to_ns, err)) != 0)
            return code;
    if (calls->count)
        qsort(calls->list, calls->count, sizeof *calls->list, rank_calls_compare_calls);
    return rank_calls_divide(calls, err);
}

int mpi_calls_read(struct mpi_calls *calls, struct report *report, struct error *err)
{
    int code = rank_calls_read_calls(calls, report, mpi_call_tables, err);

    return code != 0 ? code : order_ends(calls);
}

int mpi_calls_read_setup(struct mpi_calls *calls, struct report *report, struct error *err)
{
    static const char *const tables[] = { "MPI_OTHER_EVENTS", NULL };
    int code = rank_calls_read_calls(calls, report, tables, err);

    return code != 0 ? code : order_ends(calls);
}

void mpi_calls_free(struct mpi_calls *calls)
{
    mpi_ranks_free(&calls->ranks);
    free(calls->list);
    free(calls->threads);
    free(calls->by_end);
    *calls = (struct mpi_calls){ 0 };
}

/* ---- Searching -------------------------------------------------------------------------------------------------- */

/* The first thread whose id is not below this one. */
static size_t rank_calls_find_thread(const struct mpi_calls *calls, int64_t thread)
{
    return BISECT(0, calls->thread_count, i, calls->threads[i].id < thread);
}

const struct mpi_thread *mpi_calls_thread(const struct mpi_calls *calls, int64_t thread)
{
    size_t at = rank_calls_find_thread(calls, thread);

    return at < calls->thread_count && calls->threads[at].id == thread ? &calls->threads[at] : NULL;
}

int mpi_calls_is_whole(const struct mpi_calls *calls, int64_t process)
{
    size_t at = rank_calls_find_thread(calls, process); /* the bits of the thread are the lowest ones */

    return at < calls->thread_count && global_process(calls->threads[at].id) == process && calls->threads[at].is_whole;
}

uint32_t mpi_calls_at(const struct mpi_calls *calls, int64_t thread, int64_t time_ns)
{
    const struct mpi_thread *found = mpi_calls_thread(calls, thread);
    size_t after = BISECT(found ? found->first : 0, found ? found->end : 0, i, calls->list[i].start_ns <= time_ns);

    return found && after > found->first ? (uint32_t)(after - 1) : MPI_NO_CALL;
}

uint32_t mpi_calls_starting(const struct mpi_calls *calls, int64_t thread, int64_t start_ns)
{
    uint32_t call = mpi_calls_at(calls, thread, start_ns);

    return call != MPI_NO_CALL && calls->list[call].start_ns == start_ns ? call : MPI_NO_CALL;
}

uint32_t mpi_calls_ending(const struct mpi_calls *calls, int64_t process, int64_t end_ns)
{
    const struct ended wanted = { process, end_ns, MPI_NO_CALL };
    size_t after = BISECT(0, calls->count, i,
                          rank_calls_compare_ends((struct ended[]){ rank_calls_end_of(calls, calls->by_end[i]) },
                                                  &wanted) <= 0);

    if (!after || rank_calls_end_of(calls, calls->by_end[after - 1]).process != process)
        return MPI_NO_CALL;
    return calls->by_end[after - 1];
}
