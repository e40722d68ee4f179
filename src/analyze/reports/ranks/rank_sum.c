/* rank_sum: a row for each rank of a job: where it ran, for how long, and how that time was spent. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_run.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/filter.h"
#include "analyze/model/names/communication.h"
#include "analyze/model/ranks/rank_index.h"
#include "analyze/model/recorded.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/saturating.h"

enum rank_sum_figure { CUDA_TIME, KERNEL_TIME, COPY_TIME, NCCL_TIME, MPI_TIME, FIGURES };

/* The tables with the events that are summed. */
static const struct rank_sum_source {
    const char *table;
    enum rank_sum_figure figure;
    int is_on_gpu;
} rank_sum_sources[] = {
    { "CUPTI_ACTIVITY_KIND_RUNTIME", CUDA_TIME, 0 },
    { "CUPTI_ACTIVITY_KIND_KERNEL", KERNEL_TIME, 1 },
    { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", KERNEL_TIME, 1 },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", COPY_TIME, 1 },
    { "CUPTI_ACTIVITY_KIND_MEMSET", COPY_TIME, 1 },
    { "MPI_P2P_EVENTS", MPI_TIME, 0 },
    { "MPI_COLLECTIVES_EVENTS", MPI_TIME, 0 },
    { "MPI_START_WAIT_EVENTS", MPI_TIME, 0 },
    { "MPI_OTHER_EVENTS", MPI_TIME, 0 },
};

/* The sums of one rank. */
struct rank_sums {
    int64_t ns[FIGURES];
    int has[FIGURES];
    uint64_t devices; /* a bit each */
    int64_t first_ns, last_ns;
};

/* Work of the GPUs of one rank that one worker saw; overlapping pieces are one. */
struct rank_sum_work {
    int64_t start_ns, end_ns;
};
struct works {
    struct rank_sum_work *list; /* owned */
    size_t count, room;
    int is_unsorted;
};

struct rank_sum_summary {
    struct report *report;
    struct rank_index index;
    struct filter filter;
    const struct rank_sum_source *source;
    struct rank_sums *sums;                     /* owned; by worker and rank */
    struct works *works;                        /* owned; GPU work by worker and rank */
    int workers;
    int is_part;                                /* of the lifetime of processes, only a range was recorded */
    int64_t *cpu_ns, *lost, *begin_ns, *end_ns; /* owned; by rank; cpu_ns -1: unknown */
};

enum { START, END, THREAD, PROCESS, RANK, DEVICE, NAME, READ_COLUMNS };
static const char *const read_columns[READ_COLUMNS] = { "start", "end",      "globalTid", "globalPid",
                                                        "rank",  "deviceId", "shortName" };

/* ---- events ---------------------------------------------------------------------------------------------------- */

static struct rank_sums *rank_sums_of(const struct rank_sum_summary *summary, int worker, uint32_t rank)
{
    return &summary->sums[(size_t)worker * summary->index.count + rank];
}

static struct works *works_of(const struct rank_sum_summary *summary, int worker, uint32_t rank)
{
    return &summary->works[(size_t)worker * summary->index.count + rank];
}

static int rank_sum_add_work(struct works *works, int64_t start, int64_t end)
{
    struct rank_sum_work *last = works->count ? &works->list[works->count - 1] : NULL;

    if (last && start >= last->start_ns && start <= last->end_ns) {
        last->end_ns = end > last->end_ns ? end : last->end_ns;
        return 0;
    }
    works->is_unsorted |= last && start < last->start_ns;
    return ARRAY_PUSH(works->list, works->room, works->count, (struct rank_sum_work){ start, end });
}

static int is_nccl(struct report *report, int64_t name)
{
    return communication_of_kernel(report_string(report, name, NULL)) == COMMUNICATION_NCCL;
}

static int64_t rank_sum_value_or(const struct report_block *block, size_t column, size_t row, int64_t fallback)
{
    return block_is_null(block, column, row) ? fallback : block->values[column][row];
}

static int rank_sum_add_row(struct rank_sum_summary *summary, int worker, const struct report_block *block, size_t r)
{
    int64_t start = rank_sum_value_or(block, START, r, INT64_MIN), end = rank_sum_value_or(block, END, r, INT64_MIN);
    int64_t process = rank_sum_value_or(block, THREAD, r, rank_sum_value_or(block, PROCESS, r, 0));
    int64_t device = rank_sum_value_or(block, DEVICE, r, -1);
    uint32_t rank = rank_index_of(&summary->index, rank_sum_value_or(block, RANK, r, -1), process);

    if (rank == NO_RANK || start == INT64_MIN || end < start || !filter_process(&summary->filter, process, start, end))
        return 0;
    struct rank_sums *sums = rank_sums_of(summary, worker, rank);
    enum rank_sum_figure figure = summary->source->figure;
    int64_t duration = saturating_duration(start, end);
    sums->has[figure] = 1;
    sums->ns[figure] = saturating_add(sums->ns[figure], duration);
    sums->first_ns = start < sums->first_ns ? start : sums->first_ns;
    sums->last_ns = end > sums->last_ns ? end : sums->last_ns;
    if (!summary->source->is_on_gpu)
        return 0;
    if (device >= 0 && device < 64)
        sums->devices |= UINT64_C(1) << device;
    if (figure == KERNEL_TIME && !block_is_null(block, NAME, r) && is_nccl(summary->report, block->values[NAME][r])) {
        sums->has[NCCL_TIME] = 1;
        sums->ns[NCCL_TIME] = saturating_add(sums->ns[NCCL_TIME], duration);
    }
    return rank_sum_add_work(works_of(summary, worker, rank), start, end);
}

static int rank_sum_add_block(void *context, int worker, const struct report_block *block)
{
    int code;

    for (size_t r = 0; r < block->rows; r++)
        if ((code = rank_sum_add_row(context, worker, block, r)) != 0)
            return code;
    return 0;
}

static int scan_events(struct rank_sum_summary *summary, struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(rank_sum_sources); i++) {
        const struct report_table *table = report_table(summary->report, rank_sum_sources[i].table);
        int columns[READ_COLUMNS], code;
        if (!table || !table->rows)
            continue;
        for (size_t c = 0; c < READ_COLUMNS; c++)
            columns[c] = report_column(table, read_columns[c]);
        summary->source = &rank_sum_sources[i];
        if ((code = report_scan(summary->report, table, columns, READ_COLUMNS, summary->filter.span, rank_sum_add_block,
                                summary, err)) != 0)
            return code;
    }
    return 0;
}

/* ---- processes ------------------------------------------------------------------------------------------------- */

/* A process has a row when it begins and another when it ends; its CPU time is in the second. */
static int rank_sum_read_processes(struct rank_sum_summary *summary, struct error *err)
{
    static const char *const names[] = { "globalPid", "rank", "start", "end", "cpuNs", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, summary->report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        uint32_t rank = rank_index_of(&summary->index, row_int_or(&rows, 1, -1), row_int_or(&rows, 0, 0));
        if (rank == NO_RANK)
            continue;
        int64_t start = row_int_or(&rows, 2, INT64_MAX), end = row_int_or(&rows, 3, INT64_MIN);
        summary->begin_ns[rank] = start < summary->begin_ns[rank] ? start : summary->begin_ns[rank];
        summary->end_ns[rank] = end > summary->end_ns[rank] ? end : summary->end_ns[rank];
        if (row_is_null(&rows, 3) || row_is_null(&rows, 4))
            continue;
        int64_t before = summary->cpu_ns[rank] < 0 ? 0 : summary->cpu_ns[rank];
        summary->cpu_ns[rank] = saturating_add(before, row_int(&rows, 4));
    }
    row_cursor_close(&rows);
    return 0;
}

static int read_losses(struct rank_sum_summary *summary, struct error *err)
{
    static const char *const names[] = { "globalPid", "rank", "source", "fate", "count", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, summary->report, "TACHO_COUNT", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        uint32_t rank = rank_index_of(&summary->index, row_int_or(&rows, 1, -1), row_int_or(&rows, 0, 0));
        if (rank == NO_RANK || strcmp(report_string(summary->report, row_int_or(&rows, 3, 0), NULL), "lost") != 0 ||
            strcmp(report_string(summary->report, row_int_or(&rows, 2, 0), NULL), "processes") == 0)
            continue;
        summary->lost[rank] = saturating_add(summary->lost[rank], row_int_or(&rows, 4, 0));
    }
    row_cursor_close(&rows);
    return 0;
}

/* ---- idle ------------------------------------------------------------------------------------------------------ */

static int compare_works(const void *a, const void *b)
{
    const struct rank_sum_work *x = a, *y = b;

    return COMPARE(x->start_ns, y->start_ns);
}

/* All work of a rank, sorted, in the list of the first worker. */
static int join_works(struct rank_sum_summary *summary, uint32_t rank)
{
    struct works *all = works_of(summary, 0, rank);

    for (int w = 1; w < summary->workers; w++) {
        struct works *more = works_of(summary, w, rank);
        if (array_reserve(&all->list, &all->room, all->count + more->count, sizeof *all->list) != 0)
            return ERR_NO_MEMORY;
        if (more->count)
            memcpy(all->list + all->count, more->list, more->count * sizeof *all->list);
        all->is_unsorted |= more->is_unsorted || (all->count && more->count);
        all->count += more->count;
        free(more->list);
        *more = (struct works){ 0 };
    }
    if (all->is_unsorted)
        qsort(all->list, all->count, sizeof *all->list, compare_works);
    return 0;
}

/* The time between the first and the last work of a rank's GPUs in which none of them had any. -1: there is no work. */
static int64_t idle_of(const struct works *works)
{
    int64_t idle = 0, busy_until = works->count ? works->list[0].start_ns : 0;

    for (size_t i = 0; i < works->count; i++) {
        const struct rank_sum_work *work = &works->list[i];
        if (work->start_ns > busy_until)
            idle = saturating_add(idle, saturating_subtract(work->start_ns, busy_until));
        busy_until = work->end_ns > busy_until ? work->end_ns : busy_until;
    }
    return works->count ? idle : -1;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum {
    CELL_RANK,
    CELL_HOST,
    CELL_GPU,
    CELL_SPAN,
    CELL_FIGURES,
    CELL_IDLE = CELL_FIGURES + FIGURES,
    CELL_CPU,
    CELL_LOST,
    CELLS
};
static const struct table_column rank_sum_columns[CELLS] = {
    [CELL_RANK] = { "Rank", CELL_INT, UNIT_ID, 0 },
    [CELL_HOST] = { "Host", CELL_TEXT, UNIT_NONE, 0 },
    [CELL_GPU] = { "GPU", CELL_TEXT, UNIT_NONE, 0 },
    [CELL_SPAN] = { "Span", CELL_INT, UNIT_NS, 0 },
    [CELL_FIGURES + CUDA_TIME] = { "CUDA API", CELL_INT, UNIT_NS, 0 },
    [CELL_FIGURES + KERNEL_TIME] = { "Kernels", CELL_INT, UNIT_NS, 0 },
    [CELL_FIGURES + COPY_TIME] = { "Copies", CELL_INT, UNIT_NS, 0 },
    [CELL_FIGURES + NCCL_TIME] = { "NCCL", CELL_INT, UNIT_NS, 0 },
    [CELL_FIGURES + MPI_TIME] = { "MPI", CELL_INT, UNIT_NS, 0 },
    [CELL_IDLE] = { "GPU Idle", CELL_INT, UNIT_NS, 0 },
    [CELL_CPU] = { "CPU Time", CELL_INT, UNIT_NS, 0 },
    [CELL_LOST] = { "Lost", CELL_INT, UNIT_NONE, 0 },
};

static void join_sums(struct rank_sum_summary *summary, uint32_t rank)
{
    struct rank_sums *all = rank_sums_of(summary, 0, rank);

    for (int w = 1; w < summary->workers; w++) {
        const struct rank_sums *more = rank_sums_of(summary, w, rank);
        for (int i = 0; i < FIGURES; i++) {
            all->ns[i] = saturating_add(all->ns[i], more->ns[i]);
            all->has[i] |= more->has[i];
        }
        all->devices |= more->devices;
        all->first_ns = more->first_ns < all->first_ns ? more->first_ns : all->first_ns;
        all->last_ns = more->last_ns > all->last_ns ? more->last_ns : all->last_ns;
    }
}

static int rank_sum_set_devices(struct table *table, struct table_cell *cell, uint64_t devices)
{
    struct text list = { 0 };
    int code = 0;

    for (int i = 0; i < 64; i++)
        if (devices >> i & 1)
            text_addf(&list, "%s%d", list.length ? "," : "", i);
    if (list.length)
        code = cell_set_built(table, cell, &list);
    text_free(&list);
    return code;
}

/* The lifetime of the rank's processes, or the span of its events if that is unknown, or if the rest of the row is
 * about a part of it. */
static void set_span(struct table_cell *cell, const struct rank_sum_summary *summary, uint32_t rank)
{
    const struct rank_sums *sums = rank_sums_of(summary, 0, rank);
    int64_t first = summary->begin_ns[rank], last = summary->end_ns[rank];

    if (summary->filter.span || summary->is_part || first > last) {
        first = sums->first_ns;
        last = sums->last_ns;
    }
    if (first <= last)
        cell_set_int(cell, saturating_duration(first, last));
}

static int rank_sum_add_rank(struct table *table, struct rank_sum_summary *summary, uint32_t rank)
{
    struct table_cell *row = table_add_row(table);
    struct works *works = works_of(summary, 0, rank);

    if (!row || join_works(summary, rank) != 0)
        return ERR_NO_MEMORY;
    int64_t idle = idle_of(works);
    free(works->list);
    *works = (struct works){ 0 };
    join_sums(summary, rank);
    const struct rank_sums *sums = rank_sums_of(summary, 0, rank);
    if (summary->index.ranks[rank] >= 0)
        cell_set_int(&row[CELL_RANK], summary->index.ranks[rank]);
    if (cell_set_string(table, &row[CELL_HOST], summary->index.hosts[rank]) != 0 ||
        rank_sum_set_devices(table, &row[CELL_GPU], sums->devices) != 0)
        return ERR_NO_MEMORY;
    set_span(&row[CELL_SPAN], summary, rank);
    for (int i = 0; i < FIGURES; i++)
        if (sums->has[i])
            cell_set_int(&row[CELL_FIGURES + i], sums->ns[i]);
    if (idle >= 0)
        cell_set_int(&row[CELL_IDLE], idle);
    if (summary->cpu_ns[rank] >= 0)
        cell_set_int(&row[CELL_CPU], summary->cpu_ns[rank]);
    cell_set_int(&row[CELL_LOST], summary->lost[rank]);
    return 0;
}

static int rank_sum_fill(struct table *table, struct rank_sum_summary *summary)
{
    int code;

    for (uint32_t rank = 0; rank < summary->index.count; rank++)
        if ((code = rank_sum_add_rank(table, summary, rank)) != 0)
            return code;
    return 0;
}

static int allocate(struct rank_sum_summary *summary)
{
    size_t ranks = summary->index.count;

    summary->workers = report_workers(summary->report);
    summary->sums = calloc((size_t)summary->workers * ranks, sizeof *summary->sums);
    summary->works = calloc((size_t)summary->workers * ranks, sizeof *summary->works);
    summary->cpu_ns = calloc(ranks, sizeof *summary->cpu_ns);
    summary->lost = calloc(ranks, sizeof *summary->lost);
    summary->begin_ns = calloc(ranks, sizeof *summary->begin_ns);
    summary->end_ns = calloc(ranks, sizeof *summary->end_ns);
    if (!summary->sums || !summary->works || !summary->cpu_ns || !summary->lost || !summary->begin_ns ||
        !summary->end_ns)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < (size_t)summary->workers * ranks; i++) {
        summary->sums[i].first_ns = INT64_MAX;
        summary->sums[i].last_ns = INT64_MIN;
    }
    for (size_t i = 0; i < ranks; i++) {
        summary->cpu_ns[i] = -1;
        summary->begin_ns[i] = INT64_MAX;
        summary->end_ns[i] = INT64_MIN;
    }
    return 0;
}

static void rank_sum_free_summary(struct rank_sum_summary *summary)
{
    for (size_t i = 0; summary->works && i < (size_t)summary->workers * summary->index.count; i++)
        free(summary->works[i].list);
    free(summary->works);
    free(summary->sums);
    free(summary->cpu_ns);
    free(summary->lost);
    free(summary->begin_ns);
    free(summary->end_ns);
    filter_close(&summary->filter);
    rank_index_free(&summary->index);
}

static int read_is_part(struct rank_sum_summary *summary, struct error *err)
{
    struct recorded recorded;
    int code = recorded_read(&recorded, summary->report, err);

    if (code != 0)
        return code;
    summary->is_part = recorded.is_part;
    recorded_free(&recorded);
    return 0;
}

static int rank_sum_read_all(struct rank_sum_summary *summary, struct report *report,
                             const struct analysis_request *request, struct error *err)
{
    int code;

    summary->report = report;
    if ((code = rank_index_read(&summary->index, summary->report, err)) != 0)
        return code;
    if ((code = filter_open(&summary->filter, summary->report, request, err)) != 0 ||
        (code = read_is_part(summary, err)) != 0)
        return code;
    if (allocate(summary) != 0)
        return error_no_memory(err);
    if ((code = scan_events(summary, err)) != 0 || (code = rank_sum_read_processes(summary, err)) != 0)
        return code;
    return read_losses(summary, err);
}

REPORT_RUN(rank_sum, struct rank_sum_summary, rank_sum_columns, rank_sum_read_all, rank_sum_fill, rank_sum_free_summary)

static const char *const any_tables[] = { "CUPTI_ACTIVITY_KIND_RUNTIME",
                                          "CUPTI_ACTIVITY_KIND_KERNEL",
                                          "CUPTI_ACTIVITY_KIND_MEMCPY",
                                          "MPI_P2P_EVENTS",
                                          "MPI_COLLECTIVES_EVENTS",
                                          "MPI_OTHER_EVENTS",
                                          "TACHO_PROCESS",
                                          "PROCESSES",
                                          NULL };

const struct analysis analysis_rank_sum = {
    .name = "rank_sum",
    .title = "Rank Summary",
    .help =
        "A row for each rank of a job: host, GPUs, the span of its processes, the time in CUDA and MPI calls of all "
        "its threads, in kernels (NCCL's among them, and apart), copies and fills, the time between its first and "
        "its last work on GPUs in which they had none, CPU time, and events that were lost.",
    .needs = { { "ranks or processes", any_tables } },
    .is_of_one_job = 1,
    .run = rank_sum,
};
