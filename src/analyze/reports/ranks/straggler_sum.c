/* straggler_sum: the ranks that the others wait for, why, where, and what that costs. */
#include "analyze/engine/cell_text.h"
#include "analyze/registry.h"
#include "analyze/stragglers/stragglers.h"
#include "collective_reports.h"

enum { RANK, HOST, DEVICE, TIMES, WAIT, LATENESS, CAUSE, WHERE, GAIN, SHARED_BY, CELLS };
static const struct table_column straggler_sum_columns[CELLS] = {
    { "Rank", CELL_INT, UNIT_ID, 0 },
    { "Host", CELL_TEXT, UNIT_NONE, 0 },
    { "Device", CELL_INT, UNIT_ID, 0 },
    { "Times Last", CELL_INT, UNIT_NONE, 0 },
    { "Caused Wait", CELL_INT, UNIT_NS, 0 },
    { "Typical Lateness", CELL_INT, UNIT_NS, 0 },
    { "Cause", CELL_TEXT, UNIT_NONE, 0 },
    { "Where", CELL_TEXT, UNIT_NONE, 0 },
    { "Could Gain a Step", CELL_INT, UNIT_NS, 0 },
    { "Ranks on Device", CELL_INT, UNIT_NONE, 0 },
};

static int straggler_sum_set_text(struct table *table, struct table_cell *cell, const char *text)
{
    return *text ? cell_set_string(table, cell, text) : 0;
}

static int straggler_sum_add_row(struct table *table, const struct straggler *straggler)
{
    struct table_cell *cells = table_add_row(table);

    if (!cells)
        return ERR_NO_MEMORY;
    cell_set_int(&cells[RANK], straggler->rank);
    if (straggler->device != STRAGGLER_NO_DEVICE)
        cell_set_int(&cells[DEVICE], straggler->device);
    if (straggler->device_ranks)
        cell_set_int(&cells[SHARED_BY], straggler->device_ranks);
    cell_set_int(&cells[TIMES], straggler->times_last);
    cell_set_int(&cells[WAIT], straggler->caused_wait_ns);
    cell_set_int(&cells[LATENESS], straggler->lateness_ns);
    cell_set_int(&cells[GAIN], straggler->gain_ns);
    if (straggler_sum_set_text(table, &cells[HOST], straggler->host) != 0 ||
        straggler_sum_set_text(table, &cells[CAUSE], straggler->cause) != 0)
        return ERR_NO_MEMORY;
    return straggler_sum_set_text(table, &cells[WHERE], straggler->where);
}

static int straggler_sum(struct report *report, const struct analysis_request *asked, struct table **out,
                         struct error *err)
{
    struct filter filter = { 0 };
    struct stragglers found = { 0 };
    struct table *table = table_new(straggler_sum_columns, CELLS);
    int code;

    if ((code = filter_open(&filter, report, asked, err)) != 0)
        goto done;
    if ((code = stragglers_find(&found, report, &filter, err)) != 0)
        goto done;
    code = table ? 0 : ERR_NO_MEMORY;
    for (size_t i = 0; table && i < found.count; i++)
        if ((code = straggler_sum_add_row(table, &found.list[i])) != 0)
            break;
done:
    stragglers_free(&found);
    filter_close(&filter);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_straggler_sum = {
    .name = "straggler_sum",
    .title = "Straggler Summary",
    .help = "Ranks that the others wait for again and again in synchronising collectives. A rank that is late because "
            "it waited for another one is followed to that one. The cause is what the rank's time since the collective "
            "before has more of than that of the median rank. The gain is the time by which all would be done earlier "
            "in each step if the rank came with the last of the others. Ranks on Device is set if ranks share the GPU: "
            "what one loses to the others there, or on a CPU, is not its own time.",
    .needs = { COLLECTIVE_NEED },
    .overlap = "ranks that are late together share what they cost",
    .is_of_one_job = 1,
    .run = straggler_sum,
};
