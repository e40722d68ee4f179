/* collective_trace: a row for each instance of a collective. */
#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_run.h"
#include "analyze/registry.h"
#include "collective_reports.h"

enum { START, TIME, RANKS, BYTES, FIRST, LAST, LATENESS, ERROR, WAIT, ALG, BUS, NUMBER, NAME, COMM, CELLS };
static const struct table_column coll_trace_columns[CELLS] = {
    { "Start", CELL_INT, UNIT_TIME, 0 },       { "Duration", CELL_INT, UNIT_NS, 0 },
    { "Ranks", CELL_INT, UNIT_NONE, 0 },       { "Bytes", CELL_INT, UNIT_BYTES, 0 },
    { "First Rank", CELL_INT, UNIT_ID, 0 },    { "Last Rank", CELL_INT, UNIT_ID, 0 },
    { "Lateness", CELL_INT, UNIT_NS, 0 },      { "Error", CELL_INT, UNIT_NS, 0 },
    { "Wait Time", CELL_INT, UNIT_NS, 0 },     { "Alg (GB/s)", CELL_REAL, UNIT_NONE, 3 },
    { "Bus (GB/s)", CELL_REAL, UNIT_NONE, 3 }, { "Number", CELL_INT, UNIT_ID, 0 },
    { "Operation", CELL_TEXT, UNIT_NAME, 0 },  { "Communicator", CELL_TEXT, UNIT_NONE, 0 },
};

static void coll_trace_set_rank(struct table_cell *cell, const struct collectives *all, size_t call)
{
    if (all->calls[call].rank != COLLECTIVE_UNKNOWN)
        cell_set_int(cell, all->calls[call].rank);
}

static void set_waits(struct table_cell *cells, const struct collectives *all,
                      const struct collective_instance *instance, const struct collective_figures *figures)
{
    int64_t ranks = all->communicators[instance->communicator].size;
    double factor = collective_bus_factor(instance->kind, ranks ? ranks : (int64_t)instance->count);

    if (!figures->is_timed)
        return;
    if (figures->last != SIZE_MAX) {
        coll_trace_set_rank(&cells[FIRST], all, instance->first + figures->first);
        coll_trace_set_rank(&cells[LAST], all, instance->first + figures->last);
    }
    cell_set_int(&cells[LATENESS], figures->lateness_ns);
    cell_set_int(&cells[ERROR], figures->error_ns);
    cell_set_int(&cells[WAIT], figures->wait_ns);
    if (instance->bytes <= 0 || figures->transfer_ns <= 0)
        return;
    double bandwidth = (double)instance->bytes / (double)figures->transfer_ns;
    cell_set_real(&cells[ALG], bandwidth);
    if (factor > 0)
        cell_set_real(&cells[BUS], bandwidth * factor);
}

static int coll_trace_add_row(struct table *table, const struct collectives *all,
                              const struct collective_instance *instance, int64_t *waits)
{
    const struct collective_figures figures = collective_figures(all, instance, waits);
    struct table_cell *cells = table_add_row(table);

    if (!cells)
        return ERR_NO_MEMORY;
    cell_set_int(&cells[START], figures.start_ns);
    if (!instance->is_open)
        cell_set_int(&cells[TIME], figures.longest_ns);
    cell_set_int(&cells[RANKS], (int64_t)instance->count);
    if (instance->bytes != COLLECTIVE_UNKNOWN)
        cell_set_int(&cells[BYTES], instance->bytes);
    set_waits(cells, all, instance, &figures);
    cell_set_int(&cells[NUMBER], (int64_t)instance->sequence);
    if (cell_set_pooled(table, &cells[NAME], all->report, instance->operation) != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &cells[COMM], all->communicators[instance->communicator].label);
}

static int coll_trace_fill_table(struct table *table, const struct collective_request *request)
{
    for (size_t i = 0; i < request->all.instance_count; i++)
        if (coll_trace_add_row(table, &request->all, &request->all.instances[i], request->waits) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(START));
    return 0;
}

REPORT_RUN(collective_trace, struct collective_request, coll_trace_columns, collective_request_open,
           coll_trace_fill_table, collective_request_close)

const struct analysis analysis_collective_trace = {
    .name = "collective_trace",
    .title = "Collective Trace",
    .help = "Collectives of all ranks, a row for each instance: its bytes, the first and the last rank to enter, how "
            "much later the last one came (Lateness) and how far that may be off (Error), the time that all ranks "
            "together waited for it, and the bandwidth without waits.",
    .needs = { COLLECTIVE_NEED },
    .is_of_one_job = 1,
    .run = collective_trace,
};
