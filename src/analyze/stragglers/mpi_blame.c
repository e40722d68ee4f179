/* Finds the ranks that others wait for: see mpi_blame.h. */
#include "mpi_blame.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/ranks/collective_kinds.h"
#include "base/array.h"

/* Keys of waits: who waited, for whom, how, in which call, where. */
enum { KEY_RANK, KEY_CAUSE, KEY_PAIR, KEY_STATE = KEY_PAIR, KEY_NAME, KEY_SITE, KEY_PARTS };
/* Keys of their sums over all ranks that wait for one: its number, and as above. */
enum { SITE_ROOT, SITE_CAUSE, SITE_STATE, SITE_NAME, SITE_PLACE, SITE_PARTS };

/* ---- Waits ------------------------------------------------------------------------------------------------------ */

static uint32_t rank_number(struct mpi_blame *blame, int64_t rank)
{
    uint32_t number = keys_add(&blame->numbers, &rank);

    if (number == NO_KEY ||
        array_reserve_zeroed(&blame->ranks, &blame->rank_room, number + 1u, sizeof *blame->ranks) != 0)
        return MPI_BLAME_NONE;
    blame->ranks[number].rank = rank;
    blame->ranks[number].most = blame->ranks[number].root = MPI_BLAME_NONE;
    return number;
}

/* cause: MPI_RANK_UNKNOWN: all others */
static int mpi_blame_add_time(struct mpi_blame *blame, const struct mpi_call *call, int64_t cause, int state,
                              int64_t time_ns)
{
    size_t length;
    const char *name = report_string(blame->report, call->name, &length);
    int64_t key[KEY_PARTS] = { mpi_job_rank(&blame->job, call->thread), cause, state };

    if (key[KEY_RANK] == MPI_RANK_UNKNOWN || !filter_thread(blame->filter, call->thread, call->start_ns, call->end_ns))
        return 0;
    if ((key[KEY_NAME] = intern_add(&blame->names, name, length)) < 0)
        return ERR_NO_MEMORY;
    key[KEY_SITE] = mpi_job_site(&blame->job, call);
    uint32_t wait = keys_add(&blame->waits, key), pair = keys_add(&blame->pairs, key);
    if (wait == NO_KEY || pair == NO_KEY ||
        array_reserve_zeroed(&blame->sums, &blame->sum_room, wait + 1u, sizeof *blame->sums) != 0 ||
        array_reserve_zeroed(&blame->pair_ns, &blame->pair_room, pair + 1u, sizeof *blame->pair_ns) != 0)
        return ERR_NO_MEMORY;
    blame->sums[wait].total_ns = saturating_add(blame->sums[wait].total_ns, time_ns);
    blame->sums[wait].count++;
    blame->pair_ns[pair] = saturating_add(blame->pair_ns[pair], time_ns);
    return 0;
}

/* Ranks start at their own time, and that is none of the program's work. The end of the slowest one is. */
static int is_init(const struct mpi_blame *blame, const struct mpi_call *call)
{
    size_t length;
    const char *base = mpi_call_base(blame->report, call->name, &length);

    return length >= strlen("Init") && memcmp(base, "Init", strlen("Init")) == 0;
}

static int mpi_blame_add_known(struct mpi_blame *blame)
{
    for (size_t i = 0; i < blame->job.waits.count; i++) {
        const struct mpi_wait *wait = &blame->job.waits.list[i];
        const struct mpi_call *call = &blame->job.calls.list[wait->call];
        int64_t cause = mpi_job_rank(&blame->job, wait->cause);
        if (cause != MPI_RANK_UNKNOWN && !is_init(blame, call) &&
            mpi_blame_add_time(blame, call, cause, (int)wait->state, mpi_wait_ns(&blame->job.calls, wait)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- The report of one rank ------------------------------------------------------------------------------------- */

/* Calls that completed a receive from a rank without a report: the rank that sent it. A call that completed several has
 * the last. */
static int mpi_blame_add_receives(struct mpi_blame *blame, int64_t *cause_of)
{
    const struct messages *messages = &blame->job.messages;

    for (size_t i = 0; i < blame->job.calls.count; i++)
        cause_of[i] = MPI_RANK_UNKNOWN;
    for (size_t i = 0; i < messages->count; i++) {
        const struct message_side *side = &messages->list[i];
        if (side->is_received && side->state == MESSAGE_ABSENT && side->completed != MPI_NO_CALL)
            cause_of[side->completed] = side->peer;
    }
    for (size_t i = 0; i < blame->job.calls.count; i++) {
        const struct mpi_call *call = &blame->job.calls.list[i];
        if (cause_of[i] != MPI_RANK_UNKNOWN && mpi_blame_add_time(blame, call, cause_of[i], MPI_BLAME_NO_STATE,
                                                                  saturating_duration(call->start_ns, call->end_ns)))
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int mpi_blame_add_collective_calls(struct mpi_blame *blame)
{
    for (size_t i = 0; i < blame->job.calls.count; i++) {
        const struct mpi_call *call = &blame->job.calls.list[i];
        const char *name = report_string(blame->report, call->name, NULL);
        if (collective_synchronises(collective_kind_of(name)) &&
            mpi_blame_add_time(blame, call, MPI_RANK_UNKNOWN, MPI_BLAME_NO_STATE,
                               saturating_duration(call->start_ns, call->end_ns)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int mpi_blame_add_calls(struct mpi_blame *blame)
{
    int64_t *cause_of = array_alloc(blame->job.calls.count + 1, sizeof *cause_of);
    int code = cause_of ? mpi_blame_add_receives(blame, cause_of) : ERR_NO_MEMORY;

    free(cause_of);
    return code != 0 ? code : mpi_blame_add_collective_calls(blame);
}

/* ---- Who is to blame -------------------------------------------------------------------------------------------- */

static int mpi_blame_pairs(struct mpi_blame *blame)
{
    for (uint32_t i = 0; i < blame->pairs.count; i++) {
        int64_t cause = keys_get(&blame->pairs, i)[KEY_CAUSE];
        uint32_t rank = rank_number(blame, keys_get(&blame->pairs, i)[KEY_RANK]),
                 other = cause == MPI_RANK_UNKNOWN ? MPI_BLAME_NONE : rank_number(blame, cause);
        if (rank == MPI_BLAME_NONE || (cause != MPI_RANK_UNKNOWN && other == MPI_BLAME_NONE))
            return ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < blame->pairs.count; i++) {
        const int64_t *key = keys_get(&blame->pairs, i);
        struct mpi_blame_rank *rank = &blame->ranks[keys_find(&blame->numbers, &key[KEY_RANK])];
        rank->waited_ns = saturating_add(rank->waited_ns, blame->pair_ns[i]);
        if (blame->pair_ns[i] <= rank->most_ns)
            continue;
        rank->most_ns = blame->pair_ns[i];
        rank->most = key[KEY_CAUSE] == MPI_RANK_UNKNOWN ? MPI_BLAME_NONE : keys_find(&blame->numbers, &key[KEY_CAUSE]);
    }
    return 0;
}

/* Follows ranks that wait at least half as long as the first one. Ranks that wait for each other in turn have nobody
 * who is to blame. */
static uint32_t root_of(const struct mpi_blame *blame, uint32_t from)
{
    uint32_t at = blame->ranks[from].most;

    for (size_t steps = 0; at != MPI_BLAME_NONE && steps <= blame->numbers.count; steps++) {
        const struct mpi_blame_rank *next = &blame->ranks[at];
        if (next->most == MPI_BLAME_NONE || next->waited_ns < blame->ranks[from].waited_ns / 2)
            return at;
        at = next->most;
    }
    return MPI_BLAME_NONE;
}

/* Ranks that called MPI, also those that waited for nobody. */
static int mpi_blame_count_ranks(struct mpi_blame *blame)
{
    for (size_t i = 0; i < blame->job.calls.thread_count; i++)
        if (blame->job.calls.threads[i].rank != MPI_RANK_UNKNOWN &&
            rank_number(blame, blame->job.calls.threads[i].rank) == MPI_BLAME_NONE)
            return ERR_NO_MEMORY;
    return 0;
}

static int mpi_blame_read_world_size(struct mpi_blame *blame, struct error *err)
{
    static const char *const names[] = { "worldSize", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, blame->report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (row_int_or(&rows, 0, 0) > blame->world_size)
            blame->world_size = row_int(&rows, 0);
    row_cursor_close(&rows);
    return 0;
}

/* Sums up the waits for the ranks that are to blame, over all that wait for each. */
static int sum_by_site(struct mpi_blame *blame)
{
    for (uint32_t i = 0; i < blame->waits.count; i++) {
        const int64_t *key = keys_get(&blame->waits, i);
        uint32_t rank = keys_find(&blame->numbers, &key[KEY_RANK]), most = blame->ranks[rank].most,
                 root = blame->is_alone ? rank : blame->ranks[rank].root;
        if (root == MPI_BLAME_NONE ||
            key[KEY_CAUSE] != (most == MPI_BLAME_NONE ? MPI_RANK_UNKNOWN : blame->ranks[most].rank))
            continue;
        uint32_t site = keys_add(&blame->sites,
                                 (int64_t[SITE_PARTS]){ root, blame->is_alone ? key[KEY_CAUSE] : MPI_RANK_UNKNOWN,
                                                        key[KEY_STATE], key[KEY_NAME], key[KEY_SITE] });
        if (site == NO_KEY ||
            array_reserve_zeroed(&blame->site_sums, &blame->site_room, site + 1u, sizeof *blame->site_sums) != 0)
            return ERR_NO_MEMORY;
        struct mpi_blame_sum *sum = &blame->site_sums[site];
        sum->total_ns = saturating_add(sum->total_ns, blame->sums[i].total_ns);
        sum->count += blame->sums[i].count;
    }
    return 0;
}

int mpi_blame_read(struct mpi_blame *blame, struct report *report, const struct filter *filter, struct error *err)
{
    int code;

    *blame = (struct mpi_blame){
        .report = report,
        .filter = filter,
        .waits = { .width = KEY_PARTS },
        .pairs = { .width = KEY_PAIR },
        .numbers = { .width = 1 },
        .sites = { .width = SITE_PARTS },
    };
    if ((code = mpi_job_open(&blame->job, report, err)) != 0 || (code = mpi_blame_read_world_size(blame, err)) != 0)
        return code;
    if (mpi_blame_count_ranks(blame) != 0)
        return error_short_memory(err, "for the ranks");
    blame->is_alone = blame->numbers.count == 1 && blame->world_size > 1;
    if ((blame->is_alone ? mpi_blame_add_calls : mpi_blame_add_known)(blame) != 0 || mpi_blame_pairs(blame) != 0)
        return error_short_memory(err, "for the waits");
    for (uint32_t i = 0; i < blame->numbers.count; i++)
        blame->ranks[i].root = root_of(blame, i);
    return sum_by_site(blame) != 0 ? error_short_memory(err, "for the waits") : 0;
}

void mpi_blame_free(struct mpi_blame *blame)
{
    mpi_job_close(&blame->job);
    intern_free(&blame->names);
    keys_free(&blame->waits);
    keys_free(&blame->pairs);
    keys_free(&blame->numbers);
    keys_free(&blame->sites);
    free(blame->sums);
    free(blame->site_sums);
    free(blame->pair_ns);
    free(blame->ranks);
}

/* ---- Answers ---------------------------------------------------------------------------------------------------- */

int mpi_blame_waits_for(const struct mpi_blame *blame, uint32_t rank, uint32_t root)
{
    return blame->is_alone ? rank == root : blame->ranks[rank].root == root;
}

struct mpi_blamed mpi_blame_of(const struct mpi_blame *blame, uint32_t root)
{
    struct mpi_blamed blamed = { .root = root };
    int64_t own_ns = blame->is_alone ? 0 : blame->ranks[root].waited_ns;
    int64_t ranks = blame->is_alone ? blame->world_size : (int64_t)blame->numbers.count;

    for (uint32_t i = 0; i < blame->numbers.count; i++) {
        if (!mpi_blame_waits_for(blame, i, root))
            continue;
        blamed.waiting++;
        blamed.total_ns = saturating_add(blamed.total_ns, blame->ranks[i].most_ns);
    }
    if (blame->is_alone)
        blamed.impact_ns = blamed.total_ns - blamed.total_ns / ranks;
    else if (blamed.total_ns > own_ns)
        blamed.impact_ns = (blamed.total_ns - own_ns) / ranks;
    return blamed;
}

struct mpi_blame_site mpi_blame_longest(const struct mpi_blame *blame, uint32_t root)
{
    struct mpi_blame_site longest = { .sum.total_ns = -1 };

    for (uint32_t i = 0; i < blame->sites.count; i++) {
        const int64_t *key = keys_get(&blame->sites, i);
        if (key[SITE_ROOT] == root && blame->site_sums[i].total_ns > longest.sum.total_ns)
            longest = (struct mpi_blame_site){
                .cause = blame->is_alone ? key[SITE_CAUSE] : blame->ranks[root].rank,
                .state = (int)key[SITE_STATE],
                .call = &blame->names.strings[key[SITE_NAME]],
                .place = key[SITE_PLACE] == MPI_NO_SITE ? NULL : &blame->job.sites.texts.strings[key[SITE_PLACE]],
                .sum = blame->site_sums[i],
            };
    }
    return longest;
}
