/* mpi_event_sum, mpi_msg_size_sum and mpi_event_trace: calls of MPI, by name or one by one,
 * and the bytes they moved. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/order.h"
#include "analyze/engine/report_run.h"
#include "analyze/model/filter.h"
#include "analyze/model/ranks/mpi_ranks.h"
#include "analyze/registry.h"
#include "analyze/reports/event_sum.h"

enum mpi_source { P2P, COLLECTIVES, START_WAIT, OTHER, SOURCES };
static const char *const mpi_reports_tables[SOURCES + 1] = {
    [P2P] = "MPI_P2P_EVENTS",
    [COLLECTIVES] = "MPI_COLLECTIVES_EVENTS",
    [START_WAIT] = "MPI_START_WAIT_EVENTS",
    [OTHER] = "MPI_OTHER_EVENTS",
};

static void mpi_reports_label(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    const char *source = mpi_reports_tables[event_kind(group)];

    texts[0] = (struct summary_text){ source, strlen(source) };
    texts[1].bytes = report_string(context, group->key.part[KEY_NAME], &texts[1].length);
}

static const struct summary_shape times_shape = { "Instances", { "Source", "Name" }, mpi_reports_label, 0, NULL };
static const struct summary_shape sizes_shape = { "Count", { "Source", "Name" }, mpi_reports_label, 1, NULL };

static int mpi_event_sum(struct report *report, const struct analysis_request *request, struct table **out,
                         struct error *err)
{
    struct event_source sources[SOURCES] = { 0 };

    for (int i = 0; i < SOURCES; i++)
        sources[i] = (struct event_source){ .table = mpi_reports_tables[i], .kind = i, .name = "textId" };
    struct event_summary summary = {
        .sources = sources, .source_count = SOURCES, .shape = &times_shape, .context = report
    };
    return event_summarize(report, request, &summary, out, err);
}

enum { START, END, THREAD, NAME, TAG, PEER, ROOT, SIZE, RECEIVED, COLUMNS };
static const char *const mpi_reports_column_names[COLUMNS] = {
    "start", "end", "globalTid", "textId", "tag", "remoteRank", "rootRank", "size", "recvSize",
};

struct mpi_trace {
    struct report *report;
    struct filter filter;
    struct report_columns events[SOURCES];
    struct mpi_ranks ranks;
    int64_t *starts; /* owned; start times of all tables, one after another */
    uint32_t *order; /* owned */
    size_t count;
};

static int mpi_reports_read_tables(struct mpi_trace *trace, struct error *err)
{
    int code = mpi_ranks_read(&trace->ranks, trace->report, err);

    if (code != 0)
        return code;
    for (int i = 0; i < SOURCES; i++) {
        struct report_columns *events = &trace->events[i];
        if ((code = columns_read(trace->report, mpi_reports_tables[i], mpi_reports_column_names, COLUMNS, events,
                                 err)) != 0)
            return code;
        if (!events->values)
            continue;
        columns_fill_nulls(events, THREAD, 0);
        columns_fill_nulls(events, NAME, -1);
    }
    return 0;
}

/* Puts the rows that count in order of time. All tables share one numbering of rows. */
static int mpi_reports_sort_rows(struct mpi_trace *trace, struct error *err)
{
    size_t total = 0;

    for (int i = 0; i < SOURCES; i++)
        total += trace->events[i].rows;
    trace->starts = malloc((total + 1) * sizeof *trace->starts);
    trace->order = malloc((total + 1) * sizeof *trace->order);
    if (!trace->starts || !trace->order || total >= UINT32_MAX)
        return error_short_memory(err, "for the MPI calls");
    total = 0;
    for (int i = 0; i < SOURCES; i++)
        for (size_t row = 0; row < trace->events[i].rows; row++, total++) {
            int64_t *const *values = trace->events[i].values;
            trace->starts[total] = values[START][row];
            int64_t end = columns_is_null(&trace->events[i], END, row) ? values[START][row] : values[END][row];
            if (filter_thread(&trace->filter, values[THREAD][row], values[START][row], end))
                trace->order[trace->count++] = (uint32_t)total;
        }
    return order_by_time(trace->order, trace->count, trace->starts) ? error_no_memory(err) : 0;
}

enum { AT, UNTIL, TIME, EVENT, PID, TID, CELL_TAG, RANK, CELL_PEER, CELL_ROOT, CELL_SIZE, SENT, CELL_RECEIVED, CELLS };
static const struct table_column mpi_reports_trace_columns[CELLS] = {
    { "Start", CELL_INT, UNIT_TIME, 0 },
    { "End", CELL_INT, UNIT_TIME, 0 },
    { "Duration", CELL_INT, UNIT_NS, 0 },
    { "Event", CELL_TEXT, UNIT_NAME, 0 },
    { "Pid", CELL_INT, UNIT_ID, 0 },
    { "Tid", CELL_INT, UNIT_ID, 0 },
    { "Tag", CELL_INT, UNIT_ID, 0 },
    { "Rank", CELL_INT, UNIT_ID, 0 },
    { "PeerRank", CELL_INT, UNIT_ID, 0 },
    { "RootRank", CELL_INT, UNIT_ID, 0 },
    { "Size", CELL_REAL, UNIT_MEGABYTES, 3 },
    { "CollSendSize", CELL_REAL, UNIT_MEGABYTES, 3 },
    { "CollRecvSize", CELL_REAL, UNIT_MEGABYTES, 3 },
};

static void mpi_reports_set_number(struct table_cell *cell, const struct report_columns *columns, int column,
                                   size_t row)
{
    if (!columns_is_null(columns, column, row))
        cell_set_int(cell, columns->values[column][row]);
}

static void mpi_reports_set_size(struct table_cell *cell, const struct report_columns *columns, int column, size_t row)
{
    if (!columns_is_null(columns, column, row))
        cell_set_real(cell, (double)columns->values[column][row] / 1e6);
}

static int mpi_reports_add_row(const struct mpi_trace *trace, struct table *table, int source, size_t row)
{
    const struct report_columns *columns = &trace->events[source];
    int64_t start = columns->values[START][row],
            end = columns_is_null(columns, END, row) ? start : columns->values[END][row];
    int64_t thread = columns->values[THREAD][row], rank = mpi_rank_of(&trace->ranks, thread);
    struct table_cell *cells = table_add_row(table);

    if (!cells)
        return ERR_NO_MEMORY;
    cell_set_int(&cells[AT], start);
    cell_set_int(&cells[UNTIL], end);
    cell_set_int(&cells[TIME], saturating_duration(start, end));
    cell_set_int(&cells[PID], global_pid_number(thread));
    cell_set_int(&cells[TID], global_tid_number(thread));
    mpi_reports_set_number(&cells[CELL_TAG], columns, TAG, row);
    if (rank != MPI_RANK_UNKNOWN)
        cell_set_int(&cells[RANK], rank);
    mpi_reports_set_number(&cells[CELL_PEER], columns, PEER, row);
    mpi_reports_set_number(&cells[CELL_ROOT], columns, ROOT, row);
    mpi_reports_set_size(&cells[source == COLLECTIVES ? SENT : CELL_SIZE], columns, SIZE, row);
    mpi_reports_set_size(&cells[CELL_RECEIVED], columns, RECEIVED, row);
    return cell_set_pooled(table, &cells[EVENT], trace->report, columns->values[NAME][row]);
}

static int mpi_reports_fill_table(struct table *table, const struct mpi_trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        size_t row = trace->order[i];
        int source = 0;
        for (; row >= trace->events[source].rows; source++)
            row -= trace->events[source].rows;
        if (mpi_reports_add_row(trace, table, source, row) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static void mpi_reports_trace_free(struct mpi_trace *trace)
{
    filter_close(&trace->filter);
    for (int i = 0; i < SOURCES; i++)
        report_columns_free(&trace->events[i]);
    mpi_ranks_free(&trace->ranks);
    free(trace->starts);
    free(trace->order);
}

static int mpi_reports_read_all(struct mpi_trace *trace, struct report *report, const struct analysis_request *request,
                                struct error *err)
{
    int code;

    trace->report = report;
    if ((code = filter_open(&trace->filter, report, request, err)) != 0 ||
        (code = mpi_reports_read_tables(trace, err)) != 0)
        return code;
    return mpi_reports_sort_rows(trace, err);
}

REPORT_RUN(mpi_event_trace, struct mpi_trace, mpi_reports_trace_columns, mpi_reports_read_all, mpi_reports_fill_table,
           mpi_reports_trace_free)

const struct analysis analysis_mpi_event_sum = {
    .name = "mpi_event_sum",
    .title = "MPI Event Summary",
    .help = "MPI time by function, with the kind of the call.",
    .needs = { { "MPI event data", mpi_reports_tables } },
    .run = mpi_event_sum,
    .divides = &times_shape,
};

const struct analysis analysis_mpi_event_trace = {
    .name = "mpi_event_trace",
    .title = "MPI Event Trace",
    .help = "All MPI calls by start time, with their ranks and sizes.",
    .needs = { { "MPI event data", mpi_reports_tables } },
    .run = mpi_event_trace,
};

const struct analysis analysis_mpi_msg_size_sum = {
    .name = "mpi_msg_size_sum",
    .title = "MPI Message Size Summary",
    .help = "Sizes of MPI messages by function.",
    .needs = { { "MPI message data", TABLES("MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS") } },
    EVENT_SUM(&sizes_shape, { .table = "MPI_P2P_EVENTS", .kind = P2P, .name = "textId", .value = "size" },
              { .table = "MPI_COLLECTIVES_EVENTS", .kind = COLLECTIVES, .name = "textId", .value = "size" }),
};
