/* The rule straggler: a rank that the others wait for in collectives (stragglers.h). */
#include "analyze/engine/cell_text.h"
#include "analyze/registry.h"
#include "analyze/stragglers/stragglers.h"
#include "base/human.h"
#include "rule.h"

enum { LEAST_PERCENT = 2 };

struct straggler_search {
    struct rule_search base;
    struct stragglers found;
};

static void straggler_search_free(void *context)
{
    struct straggler_search *search = context;

    stragglers_free(&search->found);
}

static int straggler_read_all(void *context, struct error *err)
{
    struct straggler_search *search = context;

    return stragglers_find(&search->found, search->base.report, &search->base.filter, err);
}

enum {
    IMPACT,
    RANK,
    HOST,
    TIMES,
    INSTANCES,
    LATE_STEPS,
    STEPS,
    LATENESS,
    GAIN,
    STEP,
    CAUSE,
    WHERE,
    DEVICE,
    SHARED_BY,
    CELLS
};
static const struct table_column straggler_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },
    { "Rank", CELL_INT, UNIT_ID, 0 },
    { "Host", CELL_TEXT, UNIT_NONE, 0 },
    { "Times Last", CELL_INT, UNIT_NONE, 0 },
    { "Collectives", CELL_INT, UNIT_NONE, 0 },
    { "Late Steps", CELL_INT, UNIT_NONE, 0 },
    { "Steps", CELL_INT, UNIT_NONE, 0 },
    { "Typical Lateness", CELL_INT, UNIT_NS, 0 },
    { "Could Gain a Step", CELL_INT, UNIT_NS, 0 },
    { "Step", CELL_INT, UNIT_NS, 0 },
    { "Cause", CELL_TEXT, UNIT_NONE, 0 },
    { "Where", CELL_TEXT, UNIT_NONE, 0 },
    { "Device", CELL_INT, UNIT_ID, 0 },
    { "Ranks on Device", CELL_INT, UNIT_NONE, 0 },
};

static int straggler_set_text(struct table *table, struct table_cell *cell, const char *text)
{
    return *text ? cell_set_string(table, cell, text) : 0;
}

static int straggler_add_row(struct table *table, const struct straggler *straggler)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], straggler->all_gain_ns);
    cell_set_int(&row[RANK], straggler->rank);
    cell_set_int(&row[TIMES], straggler->times_last);
    cell_set_int(&row[INSTANCES], straggler->of_instances);
    cell_set_int(&row[LATE_STEPS], straggler->late_steps);
    cell_set_int(&row[STEPS], straggler->of_steps);
    cell_set_int(&row[LATENESS], straggler->lateness_ns);
    cell_set_int(&row[GAIN], straggler->gain_ns);
    cell_set_int(&row[STEP], straggler->step_ns);
    if (straggler->device != STRAGGLER_NO_DEVICE)
        cell_set_int(&row[DEVICE], straggler->device);
    if (straggler->device_ranks)
        cell_set_int(&row[SHARED_BY], straggler->device_ranks);
    int failed = straggler_set_text(table, &row[HOST], straggler->host);
    failed |= straggler_set_text(table, &row[CAUSE], straggler->cause);
    failed |= straggler_set_text(table, &row[WHERE], straggler->where);
    return failed ? ERR_NO_MEMORY : 0;
}

/* The threshold is a share of a step: a short capture is mostly start-up, which is no part of the job's steps. */
static int straggler_is_enough(const struct straggler_search *search, const struct straggler *straggler)
{
    return (double)straggler->gain_ns * 100 >= (double)straggler->step_ns * (double)search->base.percent;
}

static int straggler_fill(void *context, struct table *table, struct error *err)
{
    struct straggler_search *search = context;

    for (size_t i = 0; i < search->found.count; i++)
        if (straggler_is_enough(search, &search->found.list[i]) &&
            straggler_add_row(table, &search->found.list[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int straggler(struct report *report, const struct analysis_request *request, struct table **out,
                     struct error *err)
{
    static const struct rule_steps steps = { straggler_columns,    CELLS,
                                             LEAST_PERCENT,        "the collectives",
                                             straggler_read_all,   straggler_fill,
                                             straggler_search_free };
    struct straggler_search search = { .base.report = report };

    return rule_run(&steps, &search.base, request, out, err);
}

/* "rank 1 on node7 is late: 3.93 ms in each of 200 steps; compute in slow_part (solver.c:36); without it a step of the
 * job takes about 3.71 ms less of 4.90 ms" */
static void straggler_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    text_addf(out, "rank %lld", (long long)row[RANK].integer);
    rule_add_text(out, " on ", &row[HOST]);
    if (row[SHARED_BY].kind == CELL_INT)
        text_addf(out, " (one of %lld ranks on GPU %lld)", (long long)row[SHARED_BY].integer,
                  (long long)row[DEVICE].integer);
    text_add(out, " is late: ");
    human_time(out, row[LATENESS].integer);
    text_add(out, " in ");
    if (row[LATE_STEPS].integer < row[STEPS].integer)
        text_addf(out, "%lld of ", (long long)row[LATE_STEPS].integer);
    else
        text_add(out, "each of ");
    text_addf(out, "%lld steps", (long long)row[STEPS].integer);
    rule_add_text(out, "; ", &row[CAUSE]);
    if (row[CAUSE].kind == CELL_TEXT)
        rule_add_text(out, " in ", &row[WHERE]);
    text_add(out, "; without it a step of the job takes about ");
    human_time(out, row[GAIN].integer);
    text_add(out, " less of ");
    human_time(out, row[STEP].integer);
}

static const char *const of_ranks[] = { "MPI_COLLECTIVES_EVENTS", "TACHO_CLOCK_OFFSET", NULL }; /* the latter in sets */
const struct analysis rule_straggler = {
    .name = "straggler",
    .title = "Stragglers",
    .usage = RULE_OPTIONS "[:threshold=<percent>]",
    .help = "Ranks that the others wait for again and again in synchronising collectives, followed to the rank that "
            "waited for nobody, with what its time has more of than that of the median rank. A rank is a finding if "
            "a step of the job would take at least threshold (2) percent less. straggler_sum of "
            "'tacho stats' has the same ranks.",
    .needs = { { "collectives of MPI, NCCL or PyTorch",
                 TABLES("MPI_COLLECTIVES_EVENTS", "TACHO_TORCH_OP", "CUPTI_ACTIVITY_KIND_KERNEL") },
               { "reports of several ranks", of_ranks } },
    .is_of_one_job = 1,
    .run = straggler,
    .rule = ANALYSIS_RULE(.finding = straggler_say, .scope = RULE_OF_RUN,
                          .advice = "Compare the rank with another one ('tacho stats --filter-rank'): the same code "
                                    "that takes longer points to its host (clocks, other programs, a slow disk), more "
                                    "of it to an uneven distribution of the work.",
                          .praise = "No rank held the others up."),
};
