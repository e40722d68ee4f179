/* rank_step_sum: the same step on all ranks: how long it took on the fastest, the median and the slowest of them. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/ranks/rank_index.h"
#include "analyze/model/torch/steps_read.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/saturating.h"

/* A step of a rank. */
struct rank_step {
    int64_t number, duration_ns, start_ns;
    uint32_t rank; /* in the index */
};

struct rank_step_sum_summary {
    struct report *report;
    struct rank_index index;
    struct steps found;     /* owned, unless the request brought its own */
    const struct steps *steps;
    struct rank_step *list; /* owned; by number, then by duration */
    size_t count;
    int by_rank;            /* a row for each rank */
};

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int by_rank_and_start(const void *a, const void *b)
{
    const struct rank_step *x = a, *y = b;

    return COMPARE(x->number, y->number) ?: COMPARE(x->rank, y->rank) ?: COMPARE(x->start_ns, y->start_ns);
}

static int by_duration(const void *a, const void *b)
{
    const struct rank_step *x = a, *y = b;

    return COMPARE(x->number, y->number) ?: COMPARE(x->duration_ns, y->duration_ns) ?: COMPARE(x->rank, y->rank);
}

/* A number that a rank has twice, in several processes, counts once: the first of them. */
static void drop_repeated(struct rank_step_sum_summary *summary)
{
    size_t kept = 0;

    if (summary->count)
        qsort(summary->list, summary->count, sizeof *summary->list, by_rank_and_start);
    for (size_t i = 0; i < summary->count; i++) {
        const struct rank_step *at = &summary->list[i];
        if (!kept || at->number != summary->list[kept - 1].number || at->rank != summary->list[kept - 1].rank)
            summary->list[kept++] = *at;
    }
    summary->count = kept;
}

static int take_steps(struct rank_step_sum_summary *summary, const struct analysis_request *request)
{
    summary->list = array_alloc(summary->steps->count + 1, sizeof *summary->list);
    if (!summary->list)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < summary->steps->count; i++) {
        const struct step *step = &summary->steps->list[i];
        uint32_t rank = rank_index_of(&summary->index, -1, step->process);
        if (step->is_chosen && rank != NO_RANK && span_overlaps(request->span, step->start_ns, step->end_ns))
            summary->list[summary->count++] = (struct rank_step){ step->number,
                                                                  saturating_duration(step->start_ns, step->end_ns),
                                                                  step->start_ns, rank };
    }
    drop_repeated(summary);
    if (summary->count)
        qsort(summary->list, summary->count, sizeof *summary->list, by_duration);
    return 0;
}

static int rank_step_sum_read_all(struct rank_step_sum_summary *summary, const struct analysis_request *request,
                                  struct error *err)
{
    const struct steps_request automatic = { .may_guess = 1 };
    const struct steps *given = request->filter ? request->filter->steps : NULL;
    int code;

    summary->steps = given ? given : &summary->found;
    summary->by_rank = option_given(request, "ranks");
    if (!given && (code = steps_read(&summary->found, summary->report, &automatic, err)) != 0)
        return code;
    if ((code = rank_index_read(&summary->index, summary->report, err)) != 0)
        return code;
    return take_steps(summary, request);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { STEP, RANKS, LEAST, MEDIAN, GREATEST, SPREAD, SLOWEST, SLOWEST_HOST, CELLS };
static const struct table_column rank_step_sum_columns[CELLS] = {
    { "Step", CELL_INT, UNIT_ID, 0 },         { "Ranks", CELL_INT, UNIT_NONE, 0 }, { "Min", CELL_INT, UNIT_NS, 0 },
    { "Med", CELL_REAL, UNIT_NS, 1 },         { "Max", CELL_INT, UNIT_NS, 0 },     { "Spread", CELL_INT, UNIT_NS, 0 },
    { "Slowest Rank", CELL_INT, UNIT_ID, 0 }, { "Host", CELL_TEXT, UNIT_NONE, 0 },
};

enum { OWN_STEP, OWN_RANK, OWN_HOST, OWN_TIME, OWN_OVER, OWN_PLACE, OWN_CELLS };
static const struct table_column own_columns[OWN_CELLS] = {
    { "Step", CELL_INT, UNIT_ID, 0 }, { "Rank", CELL_INT, UNIT_ID, 0 },         { "Host", CELL_TEXT, UNIT_NONE, 0 },
    { "Time", CELL_INT, UNIT_NS, 0 }, { "Over Median", CELL_REAL, UNIT_NS, 1 }, { "Place", CELL_INT, UNIT_NONE, 0 },
};

static double rank_step_sum_median_of(const struct rank_step *steps, size_t count)
{
    return ((double)steps[(count - 1) / 2].duration_ns + (double)steps[count / 2].duration_ns) / 2;
}

static void rank_step_sum_set_rank(struct table_cell *cell, const struct rank_step_sum_summary *summary, uint32_t rank)
{
    if (summary->index.ranks[rank] >= 0)
        cell_set_int(cell, summary->index.ranks[rank]);
}

static int rank_step_sum_add_step(struct table *table, const struct rank_step_sum_summary *summary,
                                  const struct rank_step *steps, size_t count)
{
    const struct rank_step *slowest = &steps[count - 1];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[STEP], steps->number);
    cell_set_int(&row[RANKS], (int64_t)count);
    cell_set_int(&row[LEAST], steps->duration_ns);
    cell_set_real(&row[MEDIAN], rank_step_sum_median_of(steps, count));
    cell_set_int(&row[GREATEST], slowest->duration_ns);
    cell_set_int(&row[SPREAD], saturating_subtract(slowest->duration_ns, steps->duration_ns));
    rank_step_sum_set_rank(&row[SLOWEST], summary, slowest->rank);
    return cell_set_string(table, &row[SLOWEST_HOST], summary->index.hosts[slowest->rank]);
}

/* The fastest rank first. */
static int add_ranks(struct table *table, const struct rank_step_sum_summary *summary, const struct rank_step *steps,
                     size_t count)
{
    double median = rank_step_sum_median_of(steps, count);

    for (size_t i = 0; i < count; i++) {
        struct table_cell *row = table_add_row(table);
        if (!row)
            return ERR_NO_MEMORY;
        cell_set_int(&row[OWN_STEP], steps[i].number);
        rank_step_sum_set_rank(&row[OWN_RANK], summary, steps[i].rank);
        if (cell_set_string(table, &row[OWN_HOST], summary->index.hosts[steps[i].rank]) != 0)
            return ERR_NO_MEMORY;
        cell_set_int(&row[OWN_TIME], steps[i].duration_ns);
        cell_set_real(&row[OWN_OVER], (double)steps[i].duration_ns - median);
        cell_set_int(&row[OWN_PLACE], (int64_t)i + 1);
    }
    return 0;
}

static int rank_step_sum_fill(struct table *table, const struct rank_step_sum_summary *summary)
{
    int code;

    for (size_t first = 0, end; first < summary->count; first = end) {
        for (end = first; end < summary->count && summary->list[end].number == summary->list[first].number;)
            end++;
        code = (summary->by_rank ? add_ranks : rank_step_sum_add_step)(table, summary, summary->list + first,
                                                                       end - first);
        if (code != 0)
            return code;
    }
    return 0;
}

static int rank_step_sum(struct report *report, const struct analysis_request *request, struct table **out,
                         struct error *err)
{
    struct rank_step_sum_summary summary = { .report = report };
    struct table *table = option_given(request, "ranks") ? table_new(own_columns, OWN_CELLS)
                                                         : table_new(rank_step_sum_columns, CELLS);
    int code = table ? rank_step_sum_read_all(&summary, request, err) : ERR_NO_MEMORY;

    if (code != 0)
        goto free_all;
    code = rank_step_sum_fill(table, &summary);
free_all:
    steps_free(&summary.found);
    rank_index_free(&summary.index);
    free(summary.list);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_rank_step_sum = {
    .name = "rank_step_sum",
    .title = "Steps of All Ranks",
    .usage = "[:ranks]",
    .help = "For each step (step_sum), how long it took on the fastest, the median and the slowest rank, and which one "
            "that was. With 'ranks', a row for each step and rank, with its time over the median of all ranks. Steps "
            "of the ranks are matched by their numbers. Where ranks wait for each other in every step, all of them "
            "take as long as the slowest: collective_sum tells who was late.",
    .needs = { { "steps", steps_tables } },
    .overlap = "the same steps of several ranks run at the same time",
    .is_of_one_job = 1,
    .run = rank_step_sum,
};
