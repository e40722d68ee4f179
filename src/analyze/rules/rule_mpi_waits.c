/* The rule mpi_waits: a rank of MPI that the others wait for, because it has more to do (mpi_blame.h). Ranks that come
 * late at collectives again and again are the rule straggler's, which also says why. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/ranks/rank_lists.h"
#include "analyze/registry.h"
#include "analyze/stragglers/mpi_blame.h"
#include "analyze/stragglers/stragglers.h"
#include "base/array.h"
#include "base/human.h"
#include "rule.h"

#define LEAST_NS INT64_C(1000000)
enum { LEAST_PERCENT = 5 };

struct mpi_waits_search {
    struct rule_search base;
    struct mpi_blame blame;
    struct stragglers stragglers;
};

static void mpi_waits_search_free(void *context)
{
    struct mpi_waits_search *search = context;

    mpi_blame_free(&search->blame);
    stragglers_free(&search->stragglers);
}

static int mpi_waits_read_all(void *context, struct error *err)
{
    struct mpi_waits_search *search = context;

    return mpi_blame_read(&search->blame, search->base.report, &search->base.filter, err);
}

/* ---- The table -------------------------------------------------------------------------------------------------- */

enum { IMPACT, RANK, WAITING, TOTAL, SHARE, COUNT, STATE, CALL, WHERE, RANKS, CELLS };
static const struct table_column mpi_waits_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },        { "Rank", CELL_INT, UNIT_ID, 0 },
    { "Waiting", CELL_TEXT, UNIT_NONE, 0 },    { "Total Time", CELL_INT, UNIT_NS, 0 },
    { "Time", CELL_REAL, UNIT_PERCENT, 1 },    { "Count", CELL_INT, UNIT_NONE, 0 },
    { "Wait State", CELL_TEXT, UNIT_NONE, 0 }, { "Name", CELL_TEXT, UNIT_NAME, 0 },
    { "Where", CELL_TEXT, UNIT_NONE, 0 },      { "Ranks", CELL_INT, UNIT_NONE, 0 },
};

static int mpi_waits_compare_ranks(const void *a, const void *b)
{
    return COMPARE(*(const int64_t *)a, *(const int64_t *)b);
}

/* The ranks that wait for one. */
static int mpi_waits_set_ranks(const struct mpi_blame *blame, struct table *table, struct table_cell *cell,
                               uint32_t root)
{
    int64_t *ranks = array_alloc(blame->numbers.count + 1, sizeof *ranks);
    struct text text = { 0 };
    size_t count = 0;

    if (!ranks)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < blame->numbers.count; i++)
        if (mpi_blame_waits_for(blame, i, root))
            ranks[count++] = blame->ranks[i].rank;
    qsort(ranks, count, sizeof *ranks, mpi_waits_compare_ranks);
    rank_list_add(&text, ranks, count, 0);
    int code = cell_set_built(table, cell, &text);
    text_free(&text);
    free(ranks);
    return code;
}

static int mpi_waits_set_site(struct table *table, struct table_cell *row, const struct mpi_blame_site *site)
{
    cell_set_int(&row[COUNT], site->sum.count);
    if (site->cause != MPI_RANK_UNKNOWN)
        cell_set_int(&row[RANK], site->cause);
    if (site->state != MPI_BLAME_NO_STATE &&
        cell_set_string(table, &row[STATE], mpi_wait_text((enum mpi_wait_state)site->state)) != 0)
        return ERR_NO_MEMORY;
    if (site->place && cell_set_text(table, &row[WHERE], site->place->bytes, site->place->length) != 0)
        return ERR_NO_MEMORY;
    return site->call ? cell_set_text(table, &row[CALL], site->call->bytes, site->call->length) : 0;
}

static int mpi_waits_add_row(const struct mpi_waits_search *search, struct table *table,
                             const struct mpi_blamed *blamed)
{
    const struct mpi_blame *blame = &search->blame;
    const struct mpi_blame_site site = mpi_blame_longest(blame, blamed->root);
    struct table_cell *row = table_add_row(table);
    double wall = (double)saturating_duration(search->base.time.from_ns, search->base.time.to_ns);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], blamed->impact_ns);
    cell_set_int(&row[TOTAL], blamed->total_ns);
    cell_set_real(&row[SHARE], wall > 0 ? 100.0 * (double)blamed->total_ns / wall / (double)blamed->waiting : 0);
    if (!blame->is_alone)
        cell_set_int(&row[RANKS], (int64_t)blame->numbers.count);
    if (mpi_waits_set_site(table, row, &site) != 0)
        return ERR_NO_MEMORY;
    return mpi_waits_set_ranks(blame, table, &row[WAITING], blamed->root);
}

/* Whether the rule straggler reports the rank, with a gain that is not smaller: it also knows what that rank did. */
static int is_straggler(const struct mpi_waits_search *search, const struct mpi_blamed *blamed)
{
    for (size_t i = 0; i < search->stragglers.count; i++)
        if (search->stragglers.list[i].rank == search->blame.ranks[blamed->root].rank &&
            search->stragglers.list[i].all_gain_ns >= blamed->impact_ns)
            return 1;
    return 0;
}

static int mpi_waits_is_enough(const struct mpi_waits_search *search, const struct mpi_blamed *blamed)
{
    return blamed->impact_ns >= LEAST_NS && rule_is_enough(&search->base, blamed->impact_ns);
}

/* Reads stragglers only if a rank may be one. */
static int find_stragglers(struct mpi_waits_search *search, struct error *err)
{
    for (uint32_t i = 0; i < search->blame.numbers.count && !search->blame.is_alone; i++) {
        const struct mpi_blamed blamed = mpi_blame_of(&search->blame, i);
        if (mpi_waits_is_enough(search, &blamed))
            return stragglers_find(&search->stragglers, search->base.report, &search->base.filter, err);
    }
    return 0;
}

static int mpi_waits_fill(void *context, struct table *table, struct error *err)
{
    struct mpi_waits_search *search = context;
    int code;

    if ((code = find_stragglers(search, err)) != 0)
        return code;
    for (uint32_t i = 0; i < search->blame.numbers.count; i++) {
        const struct mpi_blamed blamed = mpi_blame_of(&search->blame, i);
        if (mpi_waits_is_enough(search, &blamed) && !is_straggler(search, &blamed) &&
            mpi_waits_add_row(search, table, &blamed) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int mpi_waits(struct report *report, const struct analysis_request *request, struct table **out,
                     struct error *err)
{
    static const struct rule_steps steps = { mpi_waits_columns,  CELLS,          LEAST_PERCENT,        "the waits",
                                             mpi_waits_read_all, mpi_waits_fill, mpi_waits_search_free };
    struct mpi_waits_search search = { .base.report = report };

    return rule_run(&steps, &search.base, request, out, err);
}

/* ---- Words ------------------------------------------------------------------------------------------------------ */

/* "ranks 0,2-4 waited 1.60 s (54.2 % of the time)" */
static void mpi_waits_add_who(struct text *out, const struct table_cell *row, const char *did)
{
    const struct table_cell *who = &row[WAITING];
    int are_several = memchr(who->text.bytes, ',', who->text.length) || memchr(who->text.bytes, '-', who->text.length);

    rule_add_text(out, are_several ? "ranks " : "rank ", who);
    text_add(out, did);
    human_time(out, row[TOTAL].integer);
    text_addf(out, " (%.1f %% of the time)", row[SHARE].real);
}

static void mpi_waits_add_place(struct text *out, const struct table_cell *row)
{
    rule_add_text(out, " in ", &row[CALL]);
    rule_add_text(out, ", called by ", &row[WHERE]);
}

/* "MPI rank 0 spent 1.60 s (54.2 % of the time) in MPI_Recv, called by main (ring.c:9), on messages from rank 1; the
 * reports of all ranks say who was late" */
static void mpi_waits_say_of_one(struct text *out, const struct table_cell *row)
{
    text_add(out, "MPI ");
    mpi_waits_add_who(out, row, " spent ");
    mpi_waits_add_place(out, row);
    if (row[RANK].kind == CELL_INT)
        text_addf(out, ", on messages from rank %lld", (long long)row[RANK].integer);
    text_add(out, "; the reports of all ranks say who was late");
}

/* "MPI rank 1 is waited for: rank 0 waited 1.60 s (54.2 % of the time), most of it in MPI_Recv, called by main
 * (ring.c:9); with its work spread over the 2 ranks the job takes about 800 ms less" */
static void mpi_waits_say_of_job(struct text *out, const struct table_cell *row)
{
    text_addf(out, "MPI rank %lld is waited for: ", (long long)row[RANK].integer);
    mpi_waits_add_who(out, row, " waited ");
    text_add(out, ", most of it");
    mpi_waits_add_place(out, row);
    text_addf(out, "; with its work spread over the %lld ranks the job takes about ", (long long)row[RANKS].integer);
    human_time(out, row[IMPACT].integer);
    text_add(out, " less");
}

/* Whether the row is of a report of one rank. */
static int mpi_waits_is_alone(const struct table_cell *row)
{
    return row[RANKS].kind != CELL_INT;
}

static void mpi_waits_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    (mpi_waits_is_alone(row) ? mpi_waits_say_of_one : mpi_waits_say_of_job)(out, row);
}

static const char *mpi_waits_advise(const struct table *table, size_t at)
{
    return mpi_waits_is_alone(table_row(table, at))
               ? "Record all ranks into one folder (tacho profile -o run/) and run 'tacho summary run/'."
               : "Give that rank less work, or let it send before it computes what the others do not need. 'tacho "
                 "stats "
                 "--filter-rank' compares what it does with another rank.";
}

const struct analysis rule_mpi_waits = {
    .name = "mpi_waits",
    .title = "MPI Waits",
    .usage = RULE_OPTIONS "[:threshold=<percent>]",
    .help = "A rank that other ranks of an MPI job wait for, directly or through a rank that waits itself, with the "
            "call and the line at which they wait most, and the wall time that evenly spread work would save. It is a "
            "finding if that is at least threshold (5) percent of the capture. Waits for ranks that start later do not "
            "count. In the report of one rank of several: the time of its calls that receive, or synchronise. "
            "mpi_wait_sum of 'tacho stats' has all waits.",
    .needs = { { "MPI communication data", TABLES("MPI_RANKS") },
               { "MPI messages or collectives", TABLES("TACHO_MPI_MESSAGE", "MPI_COLLECTIVES_EVENTS") } },
    .is_of_one_job = 1,
    .run = mpi_waits,
    .rule = ANALYSIS_RULE(.finding = mpi_waits_say, .advise = mpi_waits_advise, .scope = RULE_OF_RUN,
                          .advice = "Give the rank that is waited for less work.",
                          .praise = "No rank of the MPI job is waited for."),
};
