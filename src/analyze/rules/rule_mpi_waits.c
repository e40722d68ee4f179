/* The rule mpi_waits: a rank of MPI that the others wait for, because it has more to do.
 *
 * mpi_waits.h knows which call waited for which rank. A rank that waits for one that waits itself, for as long at
 * least, waits for the rank that this one waits for. So each rank has at most one that it waits for most. If all that
 * work were spread evenly, each rank would take the mean: what all ranks wait for the one, less what that one waits
 * itself, by the number of ranks. That is wall time: it is not a sum over ranks.
 *
 * Ranks that come late at collectives again and again are the rule straggler's, which also says why.
 *
 * The report of one rank alone does not say when the others came. Its blocking calls are known, and of messages the
 * rank that sends them: then at most their time is due to that rank. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/ranks/collective_kinds.h"
#include "analyze/model/ranks/mpi_job.h"
#include "analyze/model/ranks/rank_lists.h"
#include "analyze/registry.h"
#include "analyze/stragglers/stragglers.h"
#include "base/array.h"
#include "base/human.h"
#include "rule.h"

#define LEAST_NS INT64_C(1000000)
enum { LEAST_PERCENT = 5 };

/* Keys of waits: who waited, for whom, how, in which call, where. */
enum { KEY_RANK, KEY_CAUSE, KEY_PAIR, KEY_STATE = KEY_PAIR, KEY_NAME, KEY_SITE, KEY_PARTS };
/* Keys of their sums over all ranks that wait for one: its number, and as above. */
enum { SITE_ROOT, SITE_CAUSE, SITE_STATE, SITE_NAME, SITE_PLACE, SITE_PARTS };
enum { NO_STATE = -1, NO_NUMBER = UINT32_MAX };

struct rank_wait {
    int64_t total_ns, count;
};

/* What a rank waited, and for whom it waited most; after mpi_blame_ranks() also for whom in the end. */
struct rank_blame {
    int64_t rank, waited_ns;
    uint32_t most; /* number of that rank; NO_NUMBER: it waited for none */
    int64_t most_ns;
    uint32_t root; /* whom it waits for in the end; NO_NUMBER: none */
};

struct mpi_waits_search {
    struct rule_search base;
    struct mpi_job job;
    struct intern names;         /* of calls */
    struct keys waits, pairs;    /* KEY_PARTS wide; KEY_PAIR wide */
    struct rank_wait *sums;      /* owned; by key of waits */
    size_t sum_room;
    struct keys sites;           /* SITE_PARTS wide */
    struct rank_wait *site_sums; /* owned; by key of sites */
    size_t site_room;
    int64_t *pair_ns;            /* owned; by key of pairs */
    size_t pair_room;
    struct keys numbers;         /* of ranks; they index ranks */
    struct rank_blame *ranks;    /* owned */
    size_t rank_room;
    int64_t world_size;
    struct stragglers stragglers;
    int is_alone; /* the report has one rank of several */
};

static void mpi_waits_search_free(void *context)
{
    struct mpi_waits_search *search = context;

    mpi_job_close(&search->job);
    stragglers_free(&search->stragglers);
    intern_free(&search->names);
    keys_free(&search->waits);
    keys_free(&search->pairs);
    keys_free(&search->numbers);
    keys_free(&search->sites);
    free(search->sums);
    free(search->site_sums);
    free(search->pair_ns);
    free(search->ranks);
}

/* ---- Waits ------------------------------------------------------------------------------------------------------ */

static uint32_t rank_number(struct mpi_waits_search *search, int64_t rank)
{
    uint32_t number = keys_add(&search->numbers, &rank);

    if (number == NO_KEY ||
        array_reserve_zeroed(&search->ranks, &search->rank_room, number + 1u, sizeof *search->ranks) != 0)
        return NO_NUMBER;
    search->ranks[number].rank = rank;
    search->ranks[number].most = search->ranks[number].root = NO_NUMBER;
    return number;
}

/* cause: MPI_RANK_UNKNOWN: all others */
static int mpi_waits_add_time(struct mpi_waits_search *search, const struct mpi_call *call, int64_t cause, int state,
                              int64_t time_ns)
{
    size_t length;
    const char *name = report_string(search->base.report, call->name, &length);
    int64_t key[KEY_PARTS] = { mpi_job_rank(&search->job, call->thread), cause, state };

    if (key[KEY_RANK] == MPI_RANK_UNKNOWN ||
        !filter_thread(&search->base.filter, call->thread, call->start_ns, call->end_ns))
        return 0;
    if ((key[KEY_NAME] = intern_add(&search->names, name, length)) < 0)
        return ERR_NO_MEMORY;
    key[KEY_SITE] = mpi_job_site(&search->job, call);
    uint32_t wait = keys_add(&search->waits, key), pair = keys_add(&search->pairs, key);
    if (wait == NO_KEY || pair == NO_KEY ||
        array_reserve_zeroed(&search->sums, &search->sum_room, wait + 1u, sizeof *search->sums) != 0 ||
        array_reserve_zeroed(&search->pair_ns, &search->pair_room, pair + 1u, sizeof *search->pair_ns) != 0)
        return ERR_NO_MEMORY;
    search->sums[wait].total_ns = saturating_add(search->sums[wait].total_ns, time_ns);
    search->sums[wait].count++;
    search->pair_ns[pair] = saturating_add(search->pair_ns[pair], time_ns);
    return 0;
}

/* Ranks start at their own time, and that is none of the program's work. The end of the slowest one is. */
static int is_init(const struct mpi_waits_search *search, const struct mpi_call *call)
{
    size_t length;
    const char *base = mpi_call_base(search->base.report, call->name, &length);

    return length >= strlen("Init") && memcmp(base, "Init", strlen("Init")) == 0;
}

static int mpi_waits_add_known(struct mpi_waits_search *search)
{
    for (size_t i = 0; i < search->job.waits.count; i++) {
        const struct mpi_wait *wait = &search->job.waits.list[i];
        const struct mpi_call *call = &search->job.calls.list[wait->call];
        int64_t cause = mpi_job_rank(&search->job, wait->cause);
        if (cause != MPI_RANK_UNKNOWN && !is_init(search, call) &&
            mpi_waits_add_time(search, call, cause, (int)wait->state, mpi_wait_ns(&search->job.calls, wait)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- The report of one rank ------------------------------------------------------------------------------------- */

/* Calls that completed a receive from a rank without a report: the rank that sent it. A call that completed several has
 * the last. */
static int mpi_waits_add_receives(struct mpi_waits_search *search, int64_t *cause_of)
{
    const struct messages *messages = &search->job.messages;

    for (size_t i = 0; i < search->job.calls.count; i++)
        cause_of[i] = MPI_RANK_UNKNOWN;
    for (size_t i = 0; i < messages->count; i++) {
        const struct message_side *side = &messages->list[i];
        if (side->is_received && side->state == MESSAGE_ABSENT && side->completed != MPI_NO_CALL)
            cause_of[side->completed] = side->peer;
    }
    for (size_t i = 0; i < search->job.calls.count; i++) {
        const struct mpi_call *call = &search->job.calls.list[i];
        if (cause_of[i] != MPI_RANK_UNKNOWN &&
            mpi_waits_add_time(search, call, cause_of[i], NO_STATE, saturating_duration(call->start_ns, call->end_ns)))
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int mpi_waits_add_collective_calls(struct mpi_waits_search *search)
{
    for (size_t i = 0; i < search->job.calls.count; i++) {
        const struct mpi_call *call = &search->job.calls.list[i];
        const char *name = report_string(search->base.report, call->name, NULL);
        if (collective_synchronises(collective_kind_of(name)) &&
            mpi_waits_add_time(search, call, MPI_RANK_UNKNOWN, NO_STATE,
                               saturating_duration(call->start_ns, call->end_ns)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int mpi_waits_add_calls(struct mpi_waits_search *search)
{
    int64_t *cause_of = array_alloc(search->job.calls.count + 1, sizeof *cause_of);
    int code = cause_of ? mpi_waits_add_receives(search, cause_of) : ERR_NO_MEMORY;

    free(cause_of);
    return code != 0 ? code : mpi_waits_add_collective_calls(search);
}

/* ---- Who is to blame -------------------------------------------------------------------------------------------- */

static int mpi_blame_pairs(struct mpi_waits_search *search)
{
    for (uint32_t i = 0; i < search->pairs.count; i++) {
        int64_t cause = keys_get(&search->pairs, i)[KEY_CAUSE];
        uint32_t rank = rank_number(search, keys_get(&search->pairs, i)[KEY_RANK]),
                 other = cause == MPI_RANK_UNKNOWN ? NO_NUMBER : rank_number(search, cause);
        if (rank == NO_NUMBER || (cause != MPI_RANK_UNKNOWN && other == NO_NUMBER))
            return ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < search->pairs.count; i++) {
        const int64_t *key = keys_get(&search->pairs, i);
        struct rank_blame *rank = &search->ranks[keys_find(&search->numbers, &key[KEY_RANK])];
        rank->waited_ns = saturating_add(rank->waited_ns, search->pair_ns[i]);
        if (search->pair_ns[i] <= rank->most_ns)
            continue;
        rank->most_ns = search->pair_ns[i];
        rank->most = key[KEY_CAUSE] == MPI_RANK_UNKNOWN ? NO_NUMBER : keys_find(&search->numbers, &key[KEY_CAUSE]);
    }
    return 0;
}

/* Follows ranks that wait at least half as long as the first one. Ranks that wait for each other in turn have nobody
 * who is to blame. */
static uint32_t root_of(const struct mpi_waits_search *search, uint32_t from)
{
    uint32_t at = search->ranks[from].most;

    for (size_t steps = 0; at != NO_NUMBER && steps <= search->numbers.count; steps++) {
        const struct rank_blame *next = &search->ranks[at];
        if (next->most == NO_NUMBER || next->waited_ns < search->ranks[from].waited_ns / 2)
            return at;
        at = next->most;
    }
    return NO_NUMBER;
}

/* Ranks that called MPI, also those that waited for nobody. */
static int mpi_count_ranks(struct mpi_waits_search *search)
{
    for (size_t i = 0; i < search->job.calls.thread_count; i++)
        if (search->job.calls.threads[i].rank != MPI_RANK_UNKNOWN &&
            rank_number(search, search->job.calls.threads[i].rank) == NO_NUMBER)
            return ERR_NO_MEMORY;
    return 0;
}

static int mpi_waits_world_size(struct mpi_waits_search *search, struct error *err)
{
    static const char *const names[] = { "worldSize", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, search->base.report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (row_int_or(&rows, 0, 0) > search->world_size)
            search->world_size = row_int(&rows, 0);
    row_cursor_close(&rows);
    return 0;
}

static int mpi_waits_read_all(void *context, struct error *err)
{
    struct mpi_waits_search *search = context;
    int code;

    search->waits.width = KEY_PARTS;
    search->pairs.width = KEY_PAIR;
    search->numbers.width = 1;
    search->sites.width = SITE_PARTS;
    if ((code = mpi_job_open(&search->job, search->base.report, err)) != 0 ||
        (code = mpi_waits_world_size(search, err)) != 0)
        return code;
    if (mpi_count_ranks(search) != 0)
        return error_short_memory(err, "for the ranks");
    search->is_alone = search->numbers.count == 1 && search->world_size > 1;
    if ((search->is_alone ? mpi_waits_add_calls : mpi_waits_add_known)(search) != 0 || mpi_blame_pairs(search) != 0)
        return error_short_memory(err, "for the waits");
    for (uint32_t i = 0; i < search->numbers.count; i++)
        search->ranks[i].root = root_of(search, i);
    return 0;
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

/* The waits for one rank. */
struct blamed {
    uint32_t root;
    int64_t total_ns, impact_ns, waiting; /* waiting: ranks */
};

/* Whether a rank waits for this one in the end; of waits for all others, the rank itself stands for them. */
static int is_blamed_by(const struct mpi_waits_search *search, uint32_t rank, uint32_t root)
{
    return search->is_alone ? rank == root : search->ranks[rank].root == root;
}

static struct blamed blame_of(const struct mpi_waits_search *search, uint32_t root)
{
    struct blamed blamed = { .root = root };
    int64_t own_ns = search->is_alone ? 0 : search->ranks[root].waited_ns;
    int64_t ranks = search->is_alone ? search->world_size : (int64_t)search->numbers.count;

    for (uint32_t i = 0; i < search->numbers.count; i++) {
        if (!is_blamed_by(search, i, root))
            continue;
        blamed.waiting++;
        blamed.total_ns = saturating_add(blamed.total_ns, search->ranks[i].most_ns);
    }
    if (search->is_alone)
        blamed.impact_ns = blamed.total_ns - blamed.total_ns / ranks;
    else if (blamed.total_ns > own_ns)
        blamed.impact_ns = (blamed.total_ns - own_ns) / ranks;
    return blamed;
}

/* Sums up the waits for the ranks that are to blame, over all that wait for each. */
static int sum_by_site(struct mpi_waits_search *search)
{
    for (uint32_t i = 0; i < search->waits.count; i++) {
        const int64_t *key = keys_get(&search->waits, i);
        uint32_t rank = keys_find(&search->numbers, &key[KEY_RANK]), most = search->ranks[rank].most,
                 root = search->is_alone ? rank : search->ranks[rank].root;
        if (root == NO_NUMBER || key[KEY_CAUSE] != (most == NO_NUMBER ? MPI_RANK_UNKNOWN : search->ranks[most].rank))
            continue;
        uint32_t site = keys_add(&search->sites,
                                 (int64_t[SITE_PARTS]){ root, search->is_alone ? key[KEY_CAUSE] : MPI_RANK_UNKNOWN,
                                                        key[KEY_STATE], key[KEY_NAME], key[KEY_SITE] });
        if (site == NO_KEY ||
            array_reserve_zeroed(&search->site_sums, &search->site_room, site + 1u, sizeof *search->site_sums) != 0)
            return ERR_NO_MEMORY;
        struct rank_wait *sum = &search->site_sums[site];
        sum->total_ns = saturating_add(sum->total_ns, search->sums[i].total_ns);
        sum->count += search->sums[i].count;
    }
    return 0;
}

/* The call and the line at which most of it was waited. */
static uint32_t longest_wait(const struct mpi_waits_search *search, const struct blamed *blamed)
{
    uint32_t longest = NO_NUMBER;

    for (uint32_t i = 0; i < search->sites.count; i++)
        if (keys_get(&search->sites, i)[SITE_ROOT] == blamed->root &&
            (longest == NO_NUMBER || search->site_sums[i].total_ns > search->site_sums[longest].total_ns))
            longest = i;
    return longest;
}

static int compare_numbers(const void *a, const void *b)
{
    return COMPARE(*(const int64_t *)a, *(const int64_t *)b);
}

static int mpi_waits_set_ranks(const struct mpi_waits_search *search, struct table *table, struct table_cell *cell,
                               const struct blamed *blamed)
{
    int64_t *ranks = array_alloc(search->numbers.count + 1, sizeof *ranks);
    struct text text = { 0 };
    size_t count = 0;

    if (!ranks)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < search->numbers.count; i++)
        if (is_blamed_by(search, i, blamed->root))
            ranks[count++] = search->ranks[i].rank;
    qsort(ranks, count, sizeof *ranks, compare_numbers);
    rank_list_add(&text, ranks, count, 0);
    int code = cell_set_built(table, cell, &text);
    text_free(&text);
    free(ranks);
    return code;
}

static int mpi_waits_set_wait(const struct mpi_waits_search *search, struct table *table, struct table_cell *row,
                              uint32_t wait)
{
    const int64_t *key = keys_get(&search->sites, wait);
    const struct intern_string *name = &search->names.strings[key[SITE_NAME]];
    int64_t rank = search->is_alone ? key[SITE_CAUSE] : search->ranks[key[SITE_ROOT]].rank;

    cell_set_int(&row[COUNT], search->site_sums[wait].count);
    if (rank != MPI_RANK_UNKNOWN)
        cell_set_int(&row[RANK], rank);
    if (cell_set_text(table, &row[CALL], name->bytes, name->length) != 0)
        return ERR_NO_MEMORY;
    if (key[SITE_STATE] != NO_STATE &&
        cell_set_string(table, &row[STATE], mpi_wait_text((enum mpi_wait_state)key[SITE_STATE])) != 0)
        return ERR_NO_MEMORY;
    if (key[SITE_PLACE] == MPI_NO_SITE)
        return 0;
    const struct intern_string *site = &search->job.sites.texts.strings[key[SITE_PLACE]];
    return cell_set_text(table, &row[WHERE], site->bytes, site->length);
}

static int mpi_waits_add_row(const struct mpi_waits_search *search, struct table *table, const struct blamed *blamed)
{
    struct table_cell *row = table_add_row(table);
    double wall = (double)saturating_duration(search->base.time.from_ns, search->base.time.to_ns);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], blamed->impact_ns);
    cell_set_int(&row[TOTAL], blamed->total_ns);
    cell_set_real(&row[SHARE], wall > 0 ? 100.0 * (double)blamed->total_ns / wall / (double)blamed->waiting : 0);
    if (!search->is_alone)
        cell_set_int(&row[RANKS], (int64_t)search->numbers.count);
    if (mpi_waits_set_wait(search, table, row, longest_wait(search, blamed)) != 0)
        return ERR_NO_MEMORY;
    return mpi_waits_set_ranks(search, table, &row[WAITING], blamed);
}

/* Whether the rule straggler reports the rank, with a gain that is not smaller: it also knows what that rank did. */
static int is_straggler(const struct mpi_waits_search *search, const struct blamed *blamed)
{
    for (size_t i = 0; i < search->stragglers.count; i++)
        if (search->stragglers.list[i].rank == search->ranks[blamed->root].rank &&
            search->stragglers.list[i].all_gain_ns >= blamed->impact_ns)
            return 1;
    return 0;
}

static int mpi_waits_is_enough(const struct mpi_waits_search *search, const struct blamed *blamed)
{
    return blamed->impact_ns >= LEAST_NS && rule_is_enough(&search->base, blamed->impact_ns);
}

/* Reads stragglers only if a rank may be one. */
static int find_stragglers(struct mpi_waits_search *search, struct error *err)
{
    for (uint32_t i = 0; i < search->numbers.count && !search->is_alone; i++) {
        const struct blamed blamed = blame_of(search, i);
        if (mpi_waits_is_enough(search, &blamed))
            return stragglers_find(&search->stragglers, search->base.report, &search->base.filter, err);
    }
    return 0;
}

static int mpi_waits_fill(void *context, struct table *table, struct error *err)
{
    struct mpi_waits_search *search = context;
    int code;

    if (sum_by_site(search) != 0)
        return ERR_NO_MEMORY;
    if ((code = find_stragglers(search, err)) != 0)
        return code;
    for (uint32_t i = 0; i < search->numbers.count; i++) {
        const struct blamed blamed = blame_of(search, i);
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

static void mpi_waits_add_place(struct text *out, const struct table_cell *row)
{
    rule_add_text(out, " in ", &row[CALL]);
    rule_add_text(out, ", called by ", &row[WHERE]);
}

/* "rank 1 is waited for: rank 0 waited 1.60 s (54.2 % of the time), most in MPI_Recv, called by main (ring.c:9); with
 * work spread evenly over 2 ranks the job takes about 800 ms less", or "rank 0 spent 1.60 s (54.2 % of the time) in
 * MPI_Recv, called by main (ring.c:9), on messages from rank 1; the reports of all ranks say who was late" */
static void mpi_waits_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);
    int is_alone = row[RANKS].kind != CELL_INT;

    if (!is_alone)
        text_addf(out, "MPI rank %lld is waited for: ", (long long)row[RANK].integer);
    else
        text_add(out, "MPI ");
    rule_add_text(out,
                  memchr(row[WAITING].text.bytes, ',', row[WAITING].text.length) ||
                          memchr(row[WAITING].text.bytes, '-', row[WAITING].text.length)
                      ? "ranks "
                      : "rank ",
                  &row[WAITING]);
    text_add(out, is_alone ? " spent " : " waited ");
    human_time(out, row[TOTAL].integer);
    text_addf(out, " (%.1f %% of the time)", row[SHARE].real);
    if (!is_alone)
        text_add(out, ", most of it");
    mpi_waits_add_place(out, row);
    if (is_alone && row[RANK].kind == CELL_INT)
        text_addf(out, ", on messages from rank %lld", (long long)row[RANK].integer);
    if (is_alone) {
        text_add(out, "; the reports of all ranks say who was late");
        return;
    }
    text_addf(out, "; with its work spread over all %lld ranks the job takes about ", (long long)row[RANKS].integer);
    human_time(out, row[IMPACT].integer);
    text_add(out, " less");
}

static const char *mpi_waits_advise(const struct table *table, size_t at)
{
    return table_row(table, at)[RANKS].kind == CELL_INT
               ? "Give that rank less work, or let it send before it computes what the others do not need; 'tacho "
                 "stats "
                 "--filter-rank' compares what it does with another rank."
               : "Record all ranks into one folder (tacho profile -o run/) and run 'tacho summary run/'.";
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
