/* Adds up how long kernels ran in each bin of time on each rank; for jobs without kernels, how long ranks were in MPI
 * or NCCL.
 *
 * Every worker has a grid of its own. The runs of a chunk are united first; runs of different chunks of a rank that
 * overlap are added, and the share is at most 100 %. */
#include "rank_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "counter_points.h"
#include "event_sources.h"

enum { MOST_SHOWN_RANKS = 64, MOST_SHOWN_EVENTS = 20000000, BINS = 1024, MOST_TABLES = 5 };

/* The work of ranks, from the first of these that the report has. */
static const struct rank_work {
    const char *label;
    const char *process; /* column with packed ids */
    const char *tables[MOST_TABLES];
} works[] = {
    { "Kernels", "globalPid", { "CUPTI_ACTIVITY_KIND_KERNEL" } },
    { "MPI", "globalTid", { "MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS" } },
    { "NCCL", "globalTid", { "TACHO_NCCL_OP" } },
};

struct rank_map_run {
    int64_t start_ns, end_ns;
};

struct grid_worker {
    float *busy;               /* owned; ns, by place and bin */
    struct rank_map_run *runs; /* owned */
    size_t room;
};

struct grid {
    struct view *view;
    const struct rank_work *work;
    struct keys places;          /* host and rank */
    int64_t from_ns;
    double bin_ns;
    struct grid_worker *workers; /* owned */
    size_t worker_count;
};

/* ---- adding up ------------------------------------------------------------------------------------------------- */

static int rank_map_by_start(const void *a, const void *b)
{
    const struct rank_map_run *x = a, *y = b;

    return COMPARE(x->start_ns, y->start_ns);
}

static void rank_map_add_run(const struct grid *grid, float *busy, struct rank_map_run run)
{
    double from = (double)(run.start_ns - grid->from_ns) / grid->bin_ns,
           to = (double)(run.end_ns - grid->from_ns) / grid->bin_ns;

    from = from < 0 ? 0 : from;
    to = to > BINS ? BINS : to;
    for (int bin = (int)from; bin < BINS && bin < to; bin++) {
        double first = from > bin ? from : bin, last = to < bin + 1 ? to : bin + 1;
        busy[bin] += (float)(last - first);
    }
}

/* Adds the union of the runs. They are in order of their start, but for few. */
static void rank_map_add_runs(const struct grid *grid, float *busy, struct rank_map_run *runs, size_t count)
{
    int is_sorted = 1;

    for (size_t i = 1; i < count; i++)
        is_sorted &= runs[i - 1].start_ns <= runs[i].start_ns;
    if (!is_sorted)
        qsort(runs, count, sizeof *runs, rank_map_by_start);
    for (size_t i = 0; i < count;) {
        struct rank_map_run run = runs[i++];
        while (i < count && runs[i].start_ns <= run.end_ns) {
            run.end_ns = runs[i].end_ns > run.end_ns ? runs[i].end_ns : run.end_ns;
            i++;
        }
        rank_map_add_run(grid, busy, run);
    }
}

/* The bins of the rank of a process; NULL: it has none. */
static float *bins_of(const struct grid *grid, const struct grid_worker *worker, int64_t process)
{
    struct rank_place place = job_rows_of_process(&grid->view->ranks, process);
    uint32_t number = place.rank < 0 ? NO_KEY : keys_find(&grid->places, (int64_t[]){ place.host, place.rank });

    return number == NO_KEY ? NULL : worker->busy + (size_t)number * BINS;
}

enum { START, END, PROCESS, COLUMNS };

static int rank_map_is_usable(const struct report_block *block, size_t row)
{
    return !block_is_null(block, START, row) && !block_is_null(block, END, row) &&
           !block_is_null(block, PROCESS, row) && block->values[START][row] >= -VIEW_FURTHEST &&
           block->values[END][row] <= VIEW_FURTHEST && block->values[START][row] <= block->values[END][row];
}

static int rank_map_visit(void *context, int number, const struct report_block *block)
{
    struct grid *grid = context;
    struct grid_worker *worker = &grid->workers[number];
    size_t count = 0;
    int64_t process = -1;

    if (array_reserve(&worker->runs, &worker->room, block->rows, sizeof *worker->runs) != 0)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row <= block->rows; row++) {
        if (row < block->rows && !rank_map_is_usable(block, row))
            continue;
        int64_t next = row < block->rows ? global_process(block->values[PROCESS][row]) : -1;
        if (next != process || row == block->rows) {
            float *busy = count ? bins_of(grid, worker, process) : NULL;
            if (busy)
                rank_map_add_runs(grid, busy, worker->runs, count);
            count = 0;
            process = next;
        }
        if (row < block->rows)
            worker->runs[count++] = (struct rank_map_run){ block->values[START][row], block->values[END][row] };
    }
    return 0;
}

static int scan_tables(struct grid *grid, struct error *err)
{
    struct report *report = grid->view->report;
    int code;

    for (size_t i = 0; i < MOST_TABLES && grid->work->tables[i]; i++) {
        const struct report_table *table = report_table(report, grid->work->tables[i]);
        if (!table || !table->rows)
            continue;
        int columns[COLUMNS] = { report_column(table, "start"), report_column(table, "end"),
                                 report_column(table, grid->work->process) };
        if (columns[START] < 0 || columns[END] < 0 || columns[PROCESS] < 0)
            continue;
        if ((code = report_scan(report, table, columns, COLUMNS, NULL, rank_map_visit, grid, err)) != 0)
            return code;
    }
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static int rank_map_add_points(const struct grid *grid, uint32_t number, struct view_points *points)
{
    for (int bin = 0; bin <= BINS; bin++) { /* the last point ends the last bin */
        double share = 0;
        for (size_t w = 0; w < grid->worker_count && bin < BINS; w++)
            share += grid->workers[w].busy[(size_t)number * BINS + (size_t)bin];
        if (points_add(points, grid->from_ns + (int64_t)(grid->bin_ns * bin), share > 1 ? 100 : share * 100) != 0)
            return ERR_NO_MEMORY;
    }
    points->unit = "%";
    return points_arrange(points, 0);
}

static int rank_map_add_rank(struct grid *grid, uint32_t number)
{
    const int64_t *place = keys_get(&grid->places, number);
    struct view *view = grid->view;
    int64_t key[KEY_PARTS] = { ROW_RANK_MAP, place[0], place[1], 0, 0, view_own_name(view, grid->work->label) };
    struct view_leaf leaf = { .key = keys_add(&view->row_keys, key) };

    if (leaf.key == NO_KEY || rank_map_add_points(grid, number, &leaf.points) != 0 || view_add_leaf(view, &leaf) != 0) {
        points_free(&leaf.points);
        return ERR_NO_MEMORY;
    }
    return 0;
}

static int open_grid(struct grid *grid)
{
    const struct process_rank_map *map = &grid->view->ranks.processes.map;

    for (const struct process_rank *at = process_rank_map_next(map, NULL); at; at = process_rank_map_next(map, at)) {
        struct rank_place place = job_rows_of_process(&grid->view->ranks, (int64_t)(at->process - 1));
        if (place.rank >= 0 && keys_add(&grid->places, (int64_t[]){ place.host, place.rank }) == NO_KEY)
            return ERR_NO_MEMORY;
    }
    grid->worker_count = (size_t)report_workers(grid->view->report);
    grid->workers = calloc(grid->worker_count + 1, sizeof *grid->workers);
    for (size_t i = 0; grid->workers && i < grid->worker_count; i++)
        if (!(grid->workers[i].busy = calloc(grid->places.count + 1, BINS * sizeof *grid->workers[i].busy)))
            return ERR_NO_MEMORY;
    return grid->workers ? 0 : ERR_NO_MEMORY;
}

static void free_grid(struct grid *grid)
{
    for (size_t i = 0; grid->workers && i < grid->worker_count; i++) {
        free(grid->workers[i].busy);
        free(grid->workers[i].runs);
    }
    free(grid->workers);
    keys_free(&grid->places);
}

static const struct rank_work *rank_map_find_work(const struct report *report)
{
    for (size_t i = 0; i < COUNT_OF(works); i++)
        for (size_t t = 0; t < MOST_TABLES && works[i].tables[t]; t++)
            if (report_rows(report, works[i].tables[t]))
                return &works[i];
    return NULL;
}

static uint64_t rank_map_count_events(const struct view *view)
{
    uint64_t events = 0;

    for (size_t f = 0; f < view_family_count; f++)
        for (size_t s = 0; s < view_families[f].count; s++)
            events += report_rows(view->report, view_families[f].sources[s].table);
    return events;
}

int rank_map_is_needed(const struct view *view, int is_wanted)
{
    int is_large = view->ranks.rank_count > MOST_SHOWN_RANKS && rank_map_count_events(view) > MOST_SHOWN_EVENTS;

    return (is_large || (is_wanted && view->ranks.rank_count)) && rank_map_find_work(view->report);
}

/* The mean of the ranks of a host. All have the same bins. */
static int add_mean(struct view *view, struct view_row *host)
{
    int ranks = 0;

    for (struct view_row *row = host; row < view->rows + host->behind; row++) {
        if (row->type != ROW_RANK_MAP)
            continue;
        ranks++;
        for (uint32_t i = 0; i < row->points.count; i++)
            if (ranks == 1 && points_add(&host->points, row->points.time_ns[i], row->points.value[i]) != 0)
                return ERR_NO_MEMORY;
            else if (ranks > 1 && i < host->points.count)
                host->points.value[i] += row->points.value[i];
    }
    for (uint32_t i = 0; i < host->points.count; i++)
        host->points.value[i] /= ranks;
    return points_arrange(&host->points, 0);
}

int rank_map_means(struct view *view)
{
    for (size_t i = 0; i < view->row_count; i++)
        if (view->rows[i].type == ROW_HOST && add_mean(view, &view->rows[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

int rank_map_read(struct view *view, struct error *err)
{
    struct report_span span = report_times(view->report);
    struct grid grid = {
        .view = view, .work = rank_map_find_work(view->report), .places.width = 2, .from_ns = span.from_ns
    };
    int code;

    grid.bin_ns = ((double)span.to_ns - (double)span.from_ns) / BINS;
    if (!grid.work || grid.bin_ns <= 0 || span.from_ns < -VIEW_FURTHEST || span.to_ns > VIEW_FURTHEST)
        return error_set(err, ERR_NO_DATA, "no table has the work of ranks");
    if ((code = open_grid(&grid)) != 0 || (code = scan_tables(&grid, err)) != 0)
        goto free_grid;
    for (uint32_t i = 0; i < grid.places.count; i++)
        if ((code = rank_map_add_rank(&grid, i)) != 0)
            goto free_grid;
    view->is_map = 1;
    view->event_count = rank_map_count_events(view);
free_grid:
    free_grid(&grid);
    return code == ERR_NO_MEMORY ? error_short_memory(err, "for the map of the ranks") : code;
}
