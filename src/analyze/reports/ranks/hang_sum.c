/* hang_sum: the last collective of each communicator, and where its ranks are: inside, never come, or with another
 * operation or size. For jobs that hang: a rank that was ended inside a call has a row without an end. */
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/ranks/rank_lists.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "base/map.h"
#include "collective_reports.h"

enum { SHOWN_RUNS = 8 };

/* A call other than these collectives that a rank never left. */
struct open_call {
    uint64_t rank;     /* rank + 1 */
    int64_t operation; /* string id */
};
MAP(open_map, struct open_call, uint64_t, rank, rank, hash_number, map_is_same_number)

struct hangs {
    struct report *report;
    const struct collectives *all;
    struct open_map open;
    int64_t *ranks; /* owned; room for a list of ranks */
    struct text text;
};

static int read_open(struct hangs *hangs, const char *table, struct error *err)
{
    static const char *const names[] = { "globalTid", "textId", "incomplete", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, hangs->report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t rank = collectives_rank(hangs->all, row_int_or(&rows, 0, 0));
        struct open_call entry = { (uint64_t)rank + 1, row_int_or(&rows, 1, 0) };
        if (!row_int_or(&rows, 2, 0) || rank == COLLECTIVE_UNKNOWN || open_map_find(&hangs->open, entry.rank) ||
            open_map_add(&hangs->open, &entry))
            continue;
        code = ERR_NO_MEMORY;
        break;
    }
    row_cursor_close(&rows);
    return code;
}

static int read_all_open(struct hangs *hangs, struct error *err)
{
    static const char *const tables[] = { "MPI_P2P_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS",
                                          "MPI_COLLECTIVES_EVENTS" };

    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        int code = read_open(hangs, tables[i], err);
        if (code != 0)
            return code;
    }
    return 0;
}

/* ---- Where the ranks of an instance are ------------------------------------------------------------------------ */

static const struct collective_call *hang_sum_call_of(const struct hangs *hangs,
                                                      const struct collective_instance *instance, int64_t rank)
{
    const struct collective_call *calls = hangs->all->calls + instance->first;

    for (size_t i = 0; i < instance->count; i++)
        if (calls[i].rank == rank)
            return &calls[i];
    return NULL;
}

enum hang_sum_place { INSIDE, LEFT, ABSENT, UNKNOWN };

static enum hang_sum_place hang_sum_place_of(const struct hangs *hangs, const struct collective_instance *instance,
                                             int64_t rank)
{
    const struct collective_call *call = hang_sum_call_of(hangs, instance, rank);

    if (call)
        return call->leave_ns == COLLECTIVE_NEVER_LEFT ? INSIDE : LEFT;
    return collectives_rank_is_whole(hangs->all, rank) ? ABSENT : UNKNOWN;
}

/* Ranks of the communicator, or those that are known to be in it. */
static size_t member_count(const struct hangs *hangs, const struct collective_instance *instance)
{
    const struct collective_communicator *communicator = &hangs->all->communicators[instance->communicator];

    return communicator->members ? (size_t)communicator->size : instance->count;
}

static int64_t hang_sum_member(const struct hangs *hangs, const struct collective_instance *instance, size_t index)
{
    const struct collective_communicator *communicator = &hangs->all->communicators[instance->communicator];

    return communicator->members ? communicator->members[index] : hangs->all->calls[instance->first + index].rank;
}

static size_t ranks_at(struct hangs *hangs, const struct collective_instance *instance, enum hang_sum_place place)
{
    size_t count = 0, members = member_count(hangs, instance);

    for (size_t i = 0; i < members; i++) {
        int64_t rank = hang_sum_member(hangs, instance, i);
        if (hang_sum_place_of(hangs, instance, rank) == place)
            hangs->ranks[count++] = rank;
    }
    return count;
}

/* Ranks that left it and whose later calls are unknown, because their reports end before their programs. */
static size_t ranks_cut_behind(struct hangs *hangs, const struct collective_instance *instance)
{
    size_t left = ranks_at(hangs, instance, LEFT), count = 0;

    for (size_t i = 0; i < left; i++)
        if (!collectives_rank_is_whole(hangs->all, hangs->ranks[i]))
            hangs->ranks[count++] = hangs->ranks[i];
    return count;
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

enum {
    STATE,
    ABSENT_RANKS,
    INSIDE_RANKS,
    OTHER,
    WAS_IN,
    LEFT_RANKS,
    UNKNOWN_RANKS,
    SINCE,
    NUMBER,
    BYTES,
    NAME,
    COMM,
    CELLS
};
static const struct table_column hang_sum_columns[CELLS] = {
    { "State", CELL_TEXT, UNIT_NONE, 0 },         { "Never Came", CELL_TEXT, UNIT_NONE, 0 },
    { "Inside", CELL_TEXT, UNIT_NONE, 0 },        { "Brought Another", CELL_TEXT, UNIT_NONE, 0 },
    { "Absent Are In", CELL_TEXT, UNIT_NONE, 0 }, { "Left", CELL_TEXT, UNIT_NONE, 0 },
    { "Unknown", CELL_TEXT, UNIT_NONE, 0 },       { "Since", CELL_INT, UNIT_TIME, 0 },
    { "Number", CELL_INT, UNIT_ID, 0 },           { "Bytes", CELL_INT, UNIT_BYTES, 0 },
    { "Operation", CELL_TEXT, UNIT_NAME, 0 },     { "Communicator", CELL_TEXT, UNIT_NONE, 0 },
};

static int hang_sum_set_ranks(struct table *table, struct table_cell *cell, struct hangs *hangs, size_t count)
{
    text_clear(&hangs->text);
    rank_list_add(&hangs->text, hangs->ranks, count, SHOWN_RUNS);
    return count ? cell_set_built(table, cell, &hangs->text) : 0;
}

static const char *operation_of(const struct hangs *hangs, int64_t operation)
{
    return report_string(hangs->report, operation, NULL);
}

/* "rank 1: MPI_Bcast" for those that called another operation, "rank 1: 128 B" for another size. */
static int set_others(struct table *table, struct table_cell *cell, struct hangs *hangs,
                      const struct collective_instance *instance)
{
    const struct collective_call *calls = hangs->all->calls + instance->first;
    int64_t bytes = collective_usual_bytes(hangs->all, instance);

    text_clear(&hangs->text);
    for (size_t i = 0; i < instance->count; i++) {
        int is_another = strcmp(operation_of(hangs, calls[i].operation), operation_of(hangs, instance->operation)) != 0;
        int has_size = collective_has_one_size(instance->kind) && calls[i].bytes != COLLECTIVE_UNKNOWN;
        if (!is_another && !(has_size && calls[i].bytes != bytes))
            continue;
        text_addf(&hangs->text, "%srank %lld: ", hangs->text.length ? ", " : "", (long long)calls[i].rank);
        if (is_another)
            text_add(&hangs->text, operation_of(hangs, calls[i].operation));
        else
            human_bytes(&hangs->text, (uint64_t)calls[i].bytes);
    }
    return hangs->text.length ? cell_set_built(table, cell, &hangs->text) : 0;
}

/* "rank 1: MPI_Recv", "rank 1: no MPI call". */
static int set_was_in(struct table *table, struct table_cell *cell, struct hangs *hangs, size_t count)
{
    text_clear(&hangs->text);
    for (size_t i = 0; i < count && i < SHOWN_RUNS; i++) {
        const struct open_call *open = open_map_find(&hangs->open, (uint64_t)hangs->ranks[i] + 1);
        text_addf(&hangs->text, "%srank %lld: %s", i ? ", " : "", (long long)hangs->ranks[i],
                  open ? operation_of(hangs, open->operation) : "no call of MPI");
    }
    const struct report_table *ranks = report_table(hangs->report, "MPI_RANKS");
    return count && ranks && ranks->rows ? cell_set_built(table, cell, &hangs->text) : 0;
}

static const char *hang_sum_state_of(const struct collective_instance *instance, size_t inside, size_t absent,
                                     size_t unknown, int is_mixed)
{
    if (is_mixed)
        return "mismatch";
    if (absent)
        return "hang";
    if (inside)
        return "incomplete";
    return unknown ? "unknown" : "complete";
}

static int hang_sum_add_row(struct table *table, struct hangs *hangs, const struct collective_instance *instance)
{
    struct table_cell *cells = table_add_row(table);
    const struct collective_call *calls = hangs->all->calls + instance->first;
    int64_t since_ns = calls[0].enter_ns;
    size_t inside, absent, unknown;
    int failed = 0;

    if (!cells)
        return ERR_NO_MEMORY;
    for (size_t i = 1; i < instance->count; i++)
        since_ns = calls[i].enter_ns < since_ns ? calls[i].enter_ns : since_ns;
    inside = ranks_at(hangs, instance, INSIDE);
    failed |= hang_sum_set_ranks(table, &cells[INSIDE_RANKS], hangs, inside);
    failed |= hang_sum_set_ranks(table, &cells[LEFT_RANKS], hangs, ranks_at(hangs, instance, LEFT));
    unknown = ranks_at(hangs, instance, UNKNOWN);
    if (!unknown && !inside)
        unknown = ranks_cut_behind(hangs, instance);
    failed |= hang_sum_set_ranks(table, &cells[UNKNOWN_RANKS], hangs, unknown);
    absent = ranks_at(hangs, instance, ABSENT);
    failed |= hang_sum_set_ranks(table, &cells[ABSENT_RANKS], hangs, absent);
    failed |= set_was_in(table, &cells[WAS_IN], hangs, absent);
    failed |= set_others(table, &cells[OTHER], hangs, instance);
    cell_set_int(&cells[SINCE], since_ns);
    cell_set_int(&cells[NUMBER], (int64_t)instance->sequence);
    if (instance->bytes != COLLECTIVE_UNKNOWN)
        cell_set_int(&cells[BYTES], instance->bytes);
    int is_mixed = cells[OTHER].kind != CELL_NONE;
    failed |= cell_set_string(table, &cells[STATE], hang_sum_state_of(instance, inside, absent, unknown, is_mixed));
    failed |= cell_set_pooled(table, &cells[NAME], hangs->report, instance->operation);
    failed |= cell_set_string(table, &cells[COMM], hangs->all->communicators[instance->communicator].label);
    return failed ? ERR_NO_MEMORY : 0;
}

/* Collectives that hang come first, then by time. */
static int hang_sum_order_of(const struct table_cell *state)
{
    static const char *const states[] = { "hang", "mismatch", "incomplete", "unknown" };

    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (state->text.length == strlen(states[i]) && memcmp(state->text.bytes, states[i], state->text.length) == 0)
            return (int)i;
    return 9;
}

static int hang_sum_compare(const struct table_cell *a, const struct table_cell *b, void *context)
{
    return COMPARE(hang_sum_order_of(&a[STATE]), hang_sum_order_of(&b[STATE]))
               ?: COMPARE(a[SINCE].integer, b[SINCE].integer);
}

static size_t most_members(const struct collectives *all)
{
    size_t most = collectives_most_calls(all);

    for (size_t i = 0; i < all->communicator_count; i++)
        if (all->communicators[i].members && (size_t)all->communicators[i].size > most)
            most = (size_t)all->communicators[i].size;
    return most;
}

static int hang_sum_fill_table(struct table *table, struct hangs *hangs, struct error *err)
{
    const struct collectives *all = hangs->all;
    int code = read_all_open(hangs, err);

    if (code != 0)
        return code;
    hangs->ranks = array_alloc(most_members(all) + 1, sizeof *hangs->ranks);
    if (!hangs->ranks)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < all->instance_count; i++) {
        int is_last = i + 1 == all->instance_count ||
                      all->instances[i + 1].communicator != all->instances[i].communicator;
        if (is_last && hang_sum_add_row(table, hangs, &all->instances[i]) != 0)
            return ERR_NO_MEMORY;
    }
    table_sort(table, hang_sum_compare, NULL);
    return 0;
}

static int hang_sum(struct report *report, const struct analysis_request *asked, struct table **out, struct error *err)
{
    struct collective_request request;
    struct hangs hangs = { .report = report, .all = &request.all };
    struct table *table = table_new(hang_sum_columns, CELLS);
    int code = collective_request_open(&request, report, asked, err);

    if (code != 0)
        goto done;
    code = table ? hang_sum_fill_table(table, &hangs, err) : ERR_NO_MEMORY;
done:
    open_map_free(&hangs.open);
    text_free(&hangs.text);
    free(hangs.ranks);
    collective_request_close(&request);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_hang_sum = {
    .name = "hang_sum",
    .title = "Last Collective of Each Communicator",
    .help = "For jobs that hang or were killed: the last collective of each communicator, the ranks that are inside, "
            "those that never came and the call of MPI that they are in instead, and those that brought another "
            "operation or size. Unknown are ranks that were not recorded, or whose report ends before their program.",
    .needs = { COLLECTIVE_NEED },
    .is_of_one_job = 1,
    .run = hang_sum,
};
