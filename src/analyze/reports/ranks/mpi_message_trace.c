/* mpi_message_trace: every message that was matched between two ranks, in the order in which they were sent; or those
 * that one rank sent, or another received. */
#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/filter.h"
#include "analyze/model/ranks/mpi_job.h"
#include "analyze/registry.h"

enum { SENT, RECEIVED, DURATION, RANK, PEER, TAG, BYTES, SEND_CALL, POSTED, RECEIVE_CALL, CELLS };

static int message_trace_add_message(struct table *table, const struct mpi_job *job, const struct message_side *send)
{
    const struct message_side *receive = &job->messages.list[send->other];
    struct table_cell *cells = table_add_row(table);

    if (!cells)
        return ERR_NO_MEMORY;
    cell_set_int(&cells[SENT], send->start_ns);
    cell_set_int(&cells[POSTED], receive->start_ns);
    cell_set_int(&cells[RECEIVED], receive->end_ns);
    cell_set_int(&cells[DURATION], saturating_duration(send->start_ns, receive->end_ns));
    cell_set_int(&cells[RANK], send->rank);
    cell_set_int(&cells[PEER], receive->rank);
    cell_set_int(&cells[TAG], send->tag);
    if (receive->bytes >= 0 || send->bytes >= 0)
        cell_set_int(&cells[BYTES], send->bytes >= 0 ? send->bytes : receive->bytes);
    if (cell_set_pooled(table, &cells[SEND_CALL], job->report, send->name) != 0)
        return ERR_NO_MEMORY;
    return cell_set_pooled(table, &cells[RECEIVE_CALL], job->report, receive->name);
}

static int message_trace_passes(const struct filter *filter, const struct message_side *side)
{
    return filter_thread(filter, side->thread, side->start_ns, side->is_open ? side->start_ns : side->end_ns);
}

enum { ANY_RANK = -1 };

/* The ranks that are asked for. */
struct ends {
    int64_t rank, peer;
};

static int are_meant(const struct ends *ends, const struct message_side *send, const struct message_side *receive)
{
    return (ends->rank == ANY_RANK || send->rank == ends->rank) &&
           (ends->peer == ANY_RANK || receive->rank == ends->peer);
}

static int message_trace_fill_table(struct table *table, const struct mpi_job *job, const struct filter *filter,
                                    const struct ends *ends)
{
    for (size_t i = 0; i < job->messages.count; i++) {
        const struct message_side *side = &job->messages.list[i];
        if (side->is_received || side->other == NO_MESSAGE ||
            !are_meant(ends, side, &job->messages.list[side->other]) ||
            (!message_trace_passes(filter, side) && !message_trace_passes(filter, &job->messages.list[side->other])))
            continue;
        if (message_trace_add_message(table, job, side) != 0)
            return ERR_NO_MEMORY;
    }
    table_sort_by(table, BY(SENT, RANK, PEER, POSTED));
    return 0;
}

static int mpi_message_trace(struct report *report, const struct analysis_request *request, struct table **out,
                             struct error *err)
{
    static const struct table_column columns[CELLS] = {
        [SENT] = { "Sent", CELL_INT, UNIT_TIME, 0 },       [RECEIVED] = { "Received", CELL_INT, UNIT_TIME, 0 },
        [DURATION] = { "Duration", CELL_INT, UNIT_NS, 0 }, [RANK] = { "Rank", CELL_INT, UNIT_ID, 0 },
        [PEER] = { "PeerRank", CELL_INT, UNIT_ID, 0 },     [TAG] = { "Tag", CELL_INT, UNIT_ID, 0 },
        [BYTES] = { "Size", CELL_INT, UNIT_BYTES, 0 },     [SEND_CALL] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
        [POSTED] = { "Posted", CELL_INT, UNIT_TIME, 0 },   [RECEIVE_CALL] = { "Received By", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, CELLS);
    struct filter filter = { 0 };
    struct mpi_job job = { 0 };
    struct ends ends;
    int code;

    if ((code = option_number(request, "rank", ANY_RANK, 0, INT32_MAX, &ends.rank, err)) != 0 ||
        (code = option_number(request, "peer", ANY_RANK, 0, INT32_MAX, &ends.peer, err)) != 0)
        goto done;
    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto done;
    if ((code = mpi_job_open(&job, report, err)) != 0)
        goto done;
    code = table ? message_trace_fill_table(table, &job, &filter, &ends) : ERR_NO_MEMORY;
done:
    mpi_job_close(&job);
    filter_close(&filter);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_mpi_message_trace = {
    .name = "mpi_message_trace",
    .title = "MPI Message Trace",
    .usage = "[:rank=<rank>][:peer=<rank>]",
    .help =
        "All point-to-point messages whose send and receive were both recorded, in the order of the sends: when the "
        "send started, when the receive was posted, and when it was complete. Ranks are those of MPI_COMM_WORLD. "
        "mpi_wait_sum counts the messages that could not be matched. With rank, only messages that this rank sent; "
        "with "
        "peer, only those that this rank received.",
    .needs = { { "MPI message data", TABLES("TACHO_MPI_MESSAGE") } },
    .is_of_one_job = 1,
    .run = mpi_message_trace,
};
