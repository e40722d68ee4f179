/* collective_sum: the cost of collectives of all ranks, by operation and communicator: time, the share in which ranks
 * waited for the last one, bandwidth without these waits, and the rank that came last most often. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/map.h"
#include "collective_reports.h"

/* How often a rank was the last one. */
struct last_count {
    int64_t rank, times;
};

struct coll_sum_row {
    uint32_t communicator;
    int64_t operation;          /* string id */
    enum collective_kind kind;
    int64_t instances, ranks, bytes, total_ns;
    int64_t timed, timed_ns;    /* instances whose waits are known, and the time of all ranks in them */
    int64_t wait_ns;
    int64_t moved, transfer_ns; /* bytes of timed instances, and the time without waits */
    struct last_count *lasts;   /* owned */
    size_t last_count, last_room;
    size_t next;                /* the next row of the communicator: its index plus 1, or 0 */
};

struct coll_sums {
    struct coll_sum_row *list; /* owned */
    size_t count, room;
    size_t *first;             /* owned; by communicator, as `next`: a list each, since there may be very many */
};

static struct coll_sum_row *collective_sum_of(struct coll_sums *sums, struct report *report,
                                              const struct collective_instance *instance)
{
    const char *wanted = report_string(report, instance->operation, NULL);
    size_t *first = &sums->first[instance->communicator];

    for (size_t i = *first; i; i = sums->list[i - 1].next)
        if (strcmp(report_string(report, sums->list[i - 1].operation, NULL), wanted) == 0)
            return &sums->list[i - 1];
    if (array_reserve(&sums->list, &sums->room, sums->count + 1, sizeof *sums->list) != 0)
        return NULL;
    sums->list[sums->count] = (struct coll_sum_row){
        .communicator = instance->communicator, .operation = instance->operation, .kind = instance->kind, .next = *first
    };
    *first = sums->count + 1;
    return &sums->list[sums->count++];
}

static int count_last(struct coll_sum_row *sum, int64_t rank)
{
    size_t at = 0;

    while (at < sum->last_count && sum->lasts[at].rank != rank)
        at++;
    if (at == sum->last_count) {
        if (array_reserve(&sum->lasts, &sum->last_room, at + 1, sizeof *sum->lasts) != 0)
            return ERR_NO_MEMORY;
        sum->lasts[sum->last_count++] = (struct last_count){ .rank = rank };
    }
    sum->lasts[at].times++;
    return 0;
}

static int collective_sum_add_instance(struct coll_sums *sums, const struct collectives *all,
                                       const struct collective_instance *instance, int64_t *waits)
{
    const struct collective_figures figures = collective_figures(all, instance, waits);
    struct coll_sum_row *sum = collective_sum_of(sums, all->report, instance);

    if (!sum)
        return ERR_NO_MEMORY;
    int64_t bytes = instance->bytes > 0 ? instance->bytes : 0;
    sum->instances++;
    sum->ranks = (int64_t)instance->count > sum->ranks ? (int64_t)instance->count : sum->ranks;
    sum->bytes = saturating_add(sum->bytes, bytes);
    sum->total_ns = saturating_add(sum->total_ns, figures.total_ns);
    if (!figures.is_timed)
        return 0;
    sum->timed++;
    sum->timed_ns = saturating_add(sum->timed_ns, figures.total_ns);
    sum->wait_ns = saturating_add(sum->wait_ns, figures.wait_ns);
    sum->moved = saturating_add(sum->moved, bytes);
    sum->transfer_ns = saturating_add(sum->transfer_ns, figures.transfer_ns);
    return figures.last == SIZE_MAX ? 0 : count_last(sum, all->calls[instance->first + figures.last].rank);
}

enum { SHARE, TIME, INSTANCES, RANKS, BYTES, ALG, BUS, WAIT, WAIT_SHARE, LAST, TIMES_LAST, NAME, COMM, CELLS };
static const struct table_column collective_sum_columns[CELLS] = {
    { "Time", CELL_REAL, UNIT_PERCENT, 1 },      { "Total Time", CELL_INT, UNIT_NS, 0 },
    { "Instances", CELL_INT, UNIT_NONE, 0 },     { "Ranks", CELL_INT, UNIT_NONE, 0 },
    { "Data", CELL_REAL, UNIT_MEGABYTES, 3 },    { "Alg (GB/s)", CELL_REAL, UNIT_NONE, 3 },
    { "Bus (GB/s)", CELL_REAL, UNIT_NONE, 3 },   { "Wait Time", CELL_INT, UNIT_NS, 0 },
    { "Wait", CELL_REAL, UNIT_PERCENT, 1 },      { "Last Rank", CELL_INT, UNIT_ID, 0 },
    { "Times Last", CELL_INT, UNIT_NONE, 0 },    { "Operation", CELL_TEXT, UNIT_NAME, 0 },
    { "Communicator", CELL_TEXT, UNIT_NONE, 0 },
};

/* The rank that was last most often; on a tie, the lowest. */
static const struct last_count *most_often_last(const struct coll_sum_row *sum)
{
    const struct last_count *most = NULL;

    for (size_t i = 0; i < sum->last_count; i++) {
        const struct last_count *at = &sum->lasts[i];
        if (!most || at->times > most->times || (at->times == most->times && at->rank < most->rank))
            most = at;
    }
    return most;
}

static int collective_sum_add_row(struct table *table, const struct collectives *all, const struct coll_sum_row *sum,
                                  int64_t whole_ns)
{
    struct table_cell *cells = table_add_row(table);
    const struct last_count *last = most_often_last(sum);
    const struct collective_communicator *communicator = &all->communicators[sum->communicator];

    if (!cells)
        return ERR_NO_MEMORY;
    cell_set_real(&cells[SHARE], whole_ns ? 100 * (double)sum->total_ns / (double)whole_ns : 0);
    cell_set_int(&cells[TIME], sum->total_ns);
    cell_set_int(&cells[INSTANCES], sum->instances);
    cell_set_int(&cells[RANKS], sum->ranks);
    cell_set_real(&cells[BYTES], (double)sum->bytes / 1e6);
    if (sum->moved && sum->transfer_ns > 0) { /* bytes per ns */
        double bandwidth = (double)sum->moved / (double)sum->transfer_ns;
        double factor = collective_bus_factor(sum->kind, communicator->size ? communicator->size : sum->ranks);
        cell_set_real(&cells[ALG], bandwidth);
        if (factor > 0)
            cell_set_real(&cells[BUS], bandwidth * factor);
    }
    if (sum->timed) {
        cell_set_int(&cells[WAIT], sum->wait_ns);
        cell_set_real(&cells[WAIT_SHARE], sum->timed_ns > 0 ? 100 * (double)sum->wait_ns / (double)sum->timed_ns : 0);
    }
    if (last) {
        if (last->rank != COLLECTIVE_UNKNOWN)
            cell_set_int(&cells[LAST], last->rank);
        cell_set_int(&cells[TIMES_LAST], last->times);
    }
    if (cell_set_pooled(table, &cells[NAME], all->report, sum->operation) != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &cells[COMM], communicator->label);
}

static int collective_sum_fill_table(struct table *table, struct collective_request *request, struct coll_sums *sums)
{
    const struct collectives *all = &request->all;
    int64_t whole_ns = 0;

    sums->first = calloc(all->communicator_count + 1, sizeof *sums->first);
    if (!sums->first)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < all->instance_count; i++)
        if (collective_sum_add_instance(sums, all, &all->instances[i], request->waits) != 0)
            return ERR_NO_MEMORY;
    for (size_t i = 0; i < sums->count; i++)
        whole_ns = saturating_add(whole_ns, sums->list[i].total_ns);
    for (size_t i = 0; i < sums->count; i++)
        if (collective_sum_add_row(table, all, &sums->list[i], whole_ns) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(TIME), NAME, COMM));
    return 0;
}

static int collective_sum(struct report *report, const struct analysis_request *asked, struct table **out,
                          struct error *err)
{
    struct collective_request request;
    struct coll_sums sums = { 0 };
    struct table *table = table_new(collective_sum_columns, CELLS);
    int code = collective_request_open(&request, report, asked, err);

    if (code != 0)
        goto done;
    code = table ? collective_sum_fill_table(table, &request, &sums) : ERR_NO_MEMORY;
done:
    for (size_t i = 0; i < sums.count; i++)
        free(sums.list[i].lasts);
    free(sums.list);
    free(sums.first);
    collective_request_close(&request);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_collective_sum = {
    .name = "collective_sum",
    .title = "Collective Summary",
    .help = "Collectives of all ranks by operation and communicator: time of all ranks, the time in which ranks waited "
            "for the last one to enter, bandwidth without that (algorithm and bus, as nccl-tests counts them), and the "
            "rank that was last most often.",
    .needs = { COLLECTIVE_NEED },
    .is_of_one_job = 1,
    .run = collective_sum,
};
