/* mpi_wait_sum: how long MPI calls waited for another rank, by kind of wait, call and line of the program, with the
 * ranks that waited and the one that they waited for.
 *
 * Waits are first summed by all of these, and by both ranks (a pair). Rows are these sums, or totals over ranks. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/report_options.h"
#include "analyze/engine/report_run.h"
#include "analyze/model/filter.h"
#include "analyze/model/ranks/mpi_job.h"
#include "analyze/model/ranks/rank_lists.h"
#include "analyze/registry.h"
#include "base/array.h"

enum { KEY_STATE, KEY_NAME, KEY_SITE, KEY_SITE_PARTS, KEY_RANK = KEY_SITE_PARTS, KEY_CAUSE, KEY_PARTS };

struct pair_sum {
    const int64_t *key; /* in mpi_wait_row.keys; set once all keys are added */
    int64_t total_ns, longest_ns, count;
};

struct mpi_wait_row {
    struct report *report;
    struct filter filter;
    struct mpi_job job;
    struct intern names;    /* names of calls: equal texts may have several ids */
    struct keys keys;       /* KEY_PARTS wide */
    struct pair_sum *pairs; /* owned; by key */
    size_t pair_room;
    int64_t ranks_ns;       /* time of all ranks */
    int by_pair;
};

static void wait_sum_free(struct mpi_wait_row *sum)
{
    filter_close(&sum->filter);
    mpi_job_close(&sum->job);
    intern_free(&sum->names);
    keys_free(&sum->keys);
    free(sum->pairs);
}

/* ---- Adding ----------------------------------------------------------------------------------------------------- */

static int mpi_wait_sum_add_wait(struct mpi_wait_row *sum, const struct mpi_wait *wait)
{
    const struct mpi_call *call = &sum->job.calls.list[wait->call];
    int64_t time_ns = mpi_wait_ns(&sum->job.calls, wait), key[KEY_PARTS] = { 0 };
    size_t length;
    const char *name = report_string(sum->report, call->name, &length);

    if (!filter_thread(&sum->filter, call->thread, call->start_ns, call->end_ns))
        return 0;
    key[KEY_STATE] = wait->state;
    key[KEY_SITE] = mpi_job_site(&sum->job, call);
    key[KEY_RANK] = mpi_job_rank(&sum->job, call->thread);
    key[KEY_CAUSE] = mpi_job_rank(&sum->job, wait->cause);
    if ((key[KEY_NAME] = intern_add(&sum->names, name, length)) < 0)
        return ERR_NO_MEMORY;
    uint32_t number = keys_add(&sum->keys, key);
    if (number == NO_KEY || array_reserve_zeroed(&sum->pairs, &sum->pair_room, number + 1u, sizeof *sum->pairs) != 0)
        return ERR_NO_MEMORY;
    struct pair_sum *pair = &sum->pairs[number];
    pair->total_ns = saturating_add(pair->total_ns, time_ns);
    pair->longest_ns = time_ns > pair->longest_ns ? time_ns : pair->longest_ns;
    pair->count++;
    return 0;
}

/* From the first call of each process to the end of its last one, as far as the filter lets it pass. */
static int64_t time_of_ranks(const struct mpi_wait_row *sum)
{
    const struct mpi_calls *calls = &sum->job.calls;
    int64_t total = 0;

    for (size_t first = 0, end; first < calls->thread_count; first = end) {
        int64_t process = global_process(calls->threads[first].id), from = INT64_MAX, to = INT64_MIN;
        for (end = first; end < calls->thread_count && global_process(calls->threads[end].id) == process; end++)
            for (size_t i = calls->threads[end].first; i < calls->threads[end].end; i++) {
                const struct mpi_call *call = &calls->list[i];
                if (!filter_thread(&sum->filter, call->thread, call->start_ns, call->end_ns))
                    continue;
                from = call->start_ns < from ? call->start_ns : from;
                to = call->end_ns > to ? call->end_ns : to;
            }
        total = from <= to ? saturating_add(total, saturating_duration(from, to)) : total;
    }
    return total;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

enum { SHARE, TOTAL, COUNT, MEAN, MOST, STATE, CALL, WHERE, RANKS, CAUSE, ITS_SHARE, CELLS };

static int mpi_wait_sum_compare_pairs(const void *left, const void *right)
{
    const struct pair_sum *a = left, *b = right;

    for (int i = 0; i < KEY_PARTS; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return 0;
}

static int is_of_site(const struct mpi_wait_row *sum, const struct pair_sum *a, const struct pair_sum *b)
{
    for (int i = 0; i < (sum->by_pair ? KEY_PARTS : KEY_SITE_PARTS); i++)
        if (a->key[i] != b->key[i])
            return 0;
    return 1;
}

/* Pairs are by rank. */
static int mpi_wait_sum_set_ranks(struct table *table, struct table_cell *cell, const struct pair_sum *pairs,
                                  size_t count)
{
    int64_t *ranks = array_alloc(count + 1, sizeof *ranks);
    struct text text = { 0 };
    size_t rank_count = 0;

    if (!ranks)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (!rank_count || ranks[rank_count - 1] != pairs[i].key[KEY_RANK])
            ranks[rank_count++] = pairs[i].key[KEY_RANK];
    rank_list_add(&text, ranks, rank_count, 0);
    int code = cell_set_built(table, cell, &text);
    text_free(&text);
    free(ranks);
    return code;
}

struct mpi_wait_sum_cause {
    int64_t rank, total_ns;
};

static int compare_causes(const void *left, const void *right)
{
    const struct mpi_wait_sum_cause *a = left, *b = right;

    return COMPARE(a->rank, b->rank);
}

/* The rank that the others waited for the longest, and how long. */
static int find_cause(const struct pair_sum *pairs, size_t count, struct mpi_wait_sum_cause *most)
{
    struct mpi_wait_sum_cause *causes = array_alloc(count + 1, sizeof *causes);

    if (!causes)
        return ERR_NO_MEMORY;
    *most = (struct mpi_wait_sum_cause){ MPI_RANK_UNKNOWN, -1 };
    for (size_t i = 0; i < count; i++)
        causes[i] = (struct mpi_wait_sum_cause){ pairs[i].key[KEY_CAUSE], pairs[i].total_ns };
    qsort(causes, count, sizeof *causes, compare_causes);
    for (size_t first = 0, end; first < count; first = end) {
        struct mpi_wait_sum_cause sum = { causes[first].rank, 0 };
        for (end = first; end < count && causes[end].rank == sum.rank; end++)
            sum.total_ns = saturating_add(sum.total_ns, causes[end].total_ns);
        if (sum.total_ns > most->total_ns)
            *most = sum;
    }
    free(causes);
    return 0;
}

static int mpi_wait_sum_set_texts(struct mpi_wait_row *sum, struct table *table, struct table_cell *cells,
                                  const int64_t *key)
{
    const struct intern_string *name = &sum->names.strings[key[KEY_NAME]];
    int code;

    if ((code = cell_set_string(table, &cells[STATE], mpi_wait_text((enum mpi_wait_state)key[KEY_STATE]))) != 0)
        return code;
    if ((code = cell_set_text(table, &cells[CALL], name->bytes, name->length)) != 0 || key[KEY_SITE] == MPI_NO_SITE)
        return code;
    const struct intern_string *site = &sum->job.sites.texts.strings[key[KEY_SITE]];
    return cell_set_text(table, &cells[WHERE], site->bytes, site->length);
}

static int mpi_wait_sum_add_row(struct mpi_wait_row *sum, struct table *table, const struct pair_sum *pairs,
                                size_t count)
{
    struct table_cell *cells = table_add_row(table);
    int64_t total = 0, longest = 0, waits = 0;
    struct mpi_wait_sum_cause cause;

    if (!cells || find_cause(pairs, count, &cause) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        total = saturating_add(total, pairs[i].total_ns);
        longest = pairs[i].longest_ns > longest ? pairs[i].longest_ns : longest;
        waits += pairs[i].count;
    }
    cell_set_real(&cells[SHARE], sum->ranks_ns > 0 ? 100.0 * (double)total / (double)sum->ranks_ns : 0);
    cell_set_int(&cells[TOTAL], total);
    cell_set_int(&cells[COUNT], waits);
    cell_set_real(&cells[MEAN], (double)total / (double)waits);
    cell_set_int(&cells[MOST], longest);
    if (cause.rank != MPI_RANK_UNKNOWN)
        cell_set_int(&cells[CAUSE], cause.rank);
    cell_set_real(&cells[ITS_SHARE], total > 0 ? 100.0 * (double)cause.total_ns / (double)total : 0);
    if (mpi_wait_sum_set_texts(sum, table, cells, pairs->key) != 0)
        return ERR_NO_MEMORY;
    return mpi_wait_sum_set_ranks(table, &cells[RANKS], pairs, count);
}

/* Messages that are missing above, by reason. */
static int add_unmatched(const struct mpi_wait_row *sum, struct table *table)
{
    for (int received = 0; received < 2; received++)
        for (int state = MESSAGE_MATCHED + 1; state < MESSAGE_STATE_COUNT; state++) {
            uint64_t count = sum->job.messages.counts[received][state];
            struct table_cell *cells = count ? table_add_row(table) : NULL;
            struct text text = { 0 };
            if (!count)
                continue;
            if (!cells)
                return ERR_NO_MEMORY;
            cell_set_int(&cells[COUNT], (int64_t)count);
            text_addf(&text, "(unmatched %s: %s)", received ? "receives" : "sends",
                      message_state_text((enum message_state)state));
            int code = cell_set_built(table, &cells[STATE], &text);
            text_free(&text);
            if (code != 0)
                return code;
        }
    return 0;
}

static int mpi_wait_sum_fill_table(struct table *table, struct mpi_wait_row *sum)
{
    size_t count = sum->keys.count;

    sum->ranks_ns = time_of_ranks(sum);
    for (size_t i = 0; i < count; i++)
        sum->pairs[i].key = keys_get(&sum->keys, (uint32_t)i);
    if (count)
        qsort(sum->pairs, count, sizeof *sum->pairs, mpi_wait_sum_compare_pairs);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && is_of_site(sum, &sum->pairs[first], &sum->pairs[end]); end++)
            ;
        if (mpi_wait_sum_add_row(sum, table, &sum->pairs[first], end - first) != 0)
            return ERR_NO_MEMORY;
    }
    table_sort_by(table, BY(DOWN(TOTAL), STATE, CALL, WHERE, RANKS));
    return add_unmatched(sum, table);
}

static int mpi_wait_sum_read_waits(struct mpi_wait_row *sum, struct report *report,
                                   const struct analysis_request *request, struct error *err)
{
    int code;

    sum->report = report;
    sum->by_pair = option_given(request, "pairs");
    sum->keys.width = KEY_PARTS;
    if ((code = filter_open(&sum->filter, sum->report, request, err)) != 0)
        return code;
    if ((code = mpi_job_open(&sum->job, sum->report, err)) != 0)
        return code;
    for (size_t i = 0; i < sum->job.waits.count; i++)
        if (mpi_wait_sum_add_wait(sum, &sum->job.waits.list[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static const struct table_column mpi_wait_sum_columns[CELLS] = {
    [SHARE] = { "Time", CELL_REAL, UNIT_PERCENT, 1 },
    [TOTAL] = { "Total Time", CELL_INT, UNIT_NS, 0 },
    [COUNT] = { "Count", CELL_INT, UNIT_NONE, 0 },
    [MEAN] = { "Avg", CELL_REAL, UNIT_NS, 1 },
    [MOST] = { "Max", CELL_INT, UNIT_NS, 0 },
    [STATE] = { "Wait State", CELL_TEXT, UNIT_NONE, 0 },
    [CALL] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
    [WHERE] = { "Where", CELL_TEXT, UNIT_NONE, 0 },
    [RANKS] = { "Waiting", CELL_TEXT, UNIT_NONE, 0 },
    [CAUSE] = { "Waits For", CELL_INT, UNIT_ID, 0 },
    [ITS_SHARE] = { "Its Share", CELL_REAL, UNIT_PERCENT, 1 },
};
REPORT_RUN(mpi_wait_sum, struct mpi_wait_row, mpi_wait_sum_columns, mpi_wait_sum_read_waits, mpi_wait_sum_fill_table,
           wait_sum_free)

const struct analysis analysis_mpi_wait_sum = {
    .name = "mpi_wait_sum",
    .title = "MPI Wait State Summary",
    .usage = "[:pairs]",
    .help =
        "Time that MPI calls waited for other ranks: late senders and receivers, waits at barriers and at "
        "operations from all to all, early reduces, late broadcasts, waits for ranks that start or end later; by "
        "call and line of the program. Time (%) is "
        "of the time of all ranks. Waiting are the ranks that waited, Waits For is the rank that most of the time was "
        "waited for. With pairs, a row for each rank that waited and rank that it waited for. Messages that could "
        "not be matched are counted in the last rows.",
    .needs = { { "MPI communication data", TABLES("TACHO_MPI_MESSAGE", "MPI_COLLECTIVES_EVENTS") } },
    .is_of_one_job = 1,
    .run = mpi_wait_sum,
};
