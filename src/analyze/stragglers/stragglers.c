/* Decides which ranks are stragglers, and sums up what they cost. */
#include "stragglers.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/gpu.h"
#include "base/array.h"
#include "chance.h"
#include "late_causes.h"

/* A rank that delays fewer steps is none, however much. It must delay one in ten steps at least, and so much
 * more than others that among equal ranks one would do so by chance in one of fifty jobs; in one of ten, if it has
 * three quarters of all delays. */
enum { LEAST_TIMES = 3, LEAST_OF = 10, BLOCKS = 10, ONE_IN_JOBS = 50, ONE_IN_FEWER = 10, MOST_OF_USUAL = 2 };
/* One that costs less than one in so many of a step is not worth a word. What other programs do to a rank lasts: it is
 * late in most blocks of the run, and other ranks do not run on that CPU. Else the next run has it elsewhere. */
enum { LEAST_GAIN_OF = 50, MOST_BLOCKS = 6 };

struct count_of_rank {
    int64_t rank;
    int64_t times;
};

struct stragglers_finding {
    struct stragglers *found;
    struct report *report;
    struct collectives all;
    struct cpu_runs runs;
    struct gpu_shares shares;
    struct lates lates;
    struct late_causes causes;
    struct gpu_ops kernels;
    struct count_of_rank *ranks; /* owned; by rank */
    size_t rank_count, rank_room;
    const struct late **of_rank; /* owned */
    int64_t *gains;              /* owned; of a rank, by communicator */
    int64_t *numbers;            /* owned; scratch */
    int64_t *blocks;             /* owned; delays in blocks of the run, by block and rank */
};

static int stragglers_compare_ranks(const void *a, const void *b)
{
    const struct count_of_rank *x = a, *y = b;

    return COMPARE(x->rank, y->rank);
}

/* All ranks that take part in anything, with the number of steps that they delayed. */
static int count_ranks(struct stragglers_finding *finding)
{
    size_t kept = 0;

    for (size_t i = 0; i < finding->all.communicator_count; i++) {
        const struct collective_communicator *at = &finding->all.communicators[i];
        for (int64_t m = 0; at->members && m < at->size; m++) {
            if (ARRAY_PUSH(finding->ranks, finding->rank_room, finding->rank_count,
                           (struct count_of_rank){ .rank = at->members[m] }) != 0)
                return ERR_NO_MEMORY;
        }
    }
    if (finding->rank_count)
        qsort(finding->ranks, finding->rank_count, sizeof *finding->ranks, stragglers_compare_ranks);
    for (size_t i = 0; i < finding->rank_count; i++)
        if (!kept || finding->ranks[kept - 1].rank != finding->ranks[i].rank)
            finding->ranks[kept++] = finding->ranks[i];
    finding->rank_count = kept;
    for (size_t i = 0; i < finding->lates.count; i++) {
        const struct count_of_rank wanted = { .rank = finding->lates.list[i].window.rank };
        struct count_of_rank *at = bsearch(&wanted, finding->ranks, kept, sizeof wanted, stragglers_compare_ranks);
        if (at)
            at->times += late_begins_step(&finding->lates, i);
    }
    return 0;
}

/* The lower one of two medians. */
static int64_t stragglers_median_of(int64_t *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, array_by_int64);
    return count ? numbers[(count - 1) / 2] : 0;
}

/* The delays by each rank in each of BLOCKS blocks of the run. A single long delay counts as little more than a usual
 * one. */
static void stragglers_fill_blocks(struct stragglers_finding *finding)
{
    size_t count = 0;

    for (size_t i = 0; i < finding->lates.count; i++)
        finding->numbers[count++] = finding->lates.list[i].gain_ns;
    int64_t most_ns = saturating_multiply(stragglers_median_of(finding->numbers, count), MOST_OF_USUAL);
    for (size_t i = 0; i < finding->lates.count; i++) {
        const struct late *at = &finding->lates.list[i];
        const struct count_of_rank wanted = { .rank = at->window.rank };
        const struct count_of_rank *rank = bsearch(&wanted, finding->ranks, finding->rank_count, sizeof wanted,
                                                   stragglers_compare_ranks);
        size_t block = at->step * BLOCKS / finding->lates.step_count;
        if (rank)
            finding->blocks[block * finding->rank_count + (size_t)(rank - finding->ranks)] += at->gain_ns < most_ns
                                                                                                  ? at->gain_ns
                                                                                                  : most_ns;
    }
}

/* The blocks of the run in which the rank delayed a step. */
static size_t stragglers_blocks_of(const struct stragglers_finding *finding, size_t i)
{
    size_t blocks = 0;

    for (size_t b = 0; b < BLOCKS; b++)
        blocks += finding->blocks[b * finding->rank_count + i] > 0;
    return blocks;
}

static int is_straggler(const struct stragglers_finding *finding, size_t i, double *chance)
{
    const struct count_of_rank *at = &finding->ranks[i];

    if (at->times < LEAST_TIMES || at->times * LEAST_OF < (int64_t)finding->lates.step_count)
        return 0;
    *chance = chance_of_rank(finding->blocks, BLOCKS, finding->rank_count, i);
    double own = 0, all = 0;
    for (size_t b = 0; b < BLOCKS * finding->rank_count; b++) {
        all += (double)finding->blocks[b];
        own += b % finding->rank_count == i ? (double)finding->blocks[b] : 0;
    }
    /* One that is late in nearly every step is no chance, whatever others did meanwhile: of two ranks, the other one
     * may have lost more to a program that ran for a while. */
    if (at->times * 4 >= (int64_t)finding->lates.step_count * 3 && stragglers_blocks_of(finding, i) == BLOCKS)
        return 1;
    return *chance * (double)finding->rank_count * (own * 4 >= all * 3 ? ONE_IN_FEWER : ONE_IN_JOBS) <= 1;
}

/* Delays in one communicator may cause those in another: the one that costs most counts, which is returned. */
static uint32_t add_gain(struct stragglers_finding *finding, size_t count, struct straggler *straggler)
{
    uint32_t dearest = 0;

    memset(finding->gains, 0, finding->all.communicator_count * sizeof *finding->gains);
    for (size_t i = 0; i < count; i++) {
        int64_t *gain_ns = &finding->gains[finding->of_rank[i]->communicator];
        *gain_ns = saturating_add(*gain_ns, finding->of_rank[i]->gain_ns);
    }
    for (uint32_t c = 0; c < finding->all.communicator_count; c++) {
        int64_t gain_ns = finding->gains[c], steps = finding->lates.steps[c];
        if (steps > 0 && gain_ns / steps > straggler->gain_ns) {
            dearest = c;
            straggler->of_steps = steps;
            straggler->gain_ns = gain_ns / steps;
            straggler->all_gain_ns = gain_ns;
            straggler->step_ns = finding->lates.step_ns[c];
        }
    }
    return dearest;
}

/* In how many steps the rank was late on a communicator, and how much in the median of these. */
static void add_lateness(struct stragglers_finding *finding, uint32_t communicator, struct straggler *straggler)
{
    size_t count = 0;

    for (size_t i = 0; i < finding->lates.count; i++) {
        const struct late *at = &finding->lates.list[i];
        if (at->window.rank != straggler->rank || at->communicator != communicator)
            continue;
        if (late_begins_step(&finding->lates, i))
            finding->numbers[count++] = 0;
        finding->numbers[count - 1] = saturating_add(finding->numbers[count - 1], at->lateness_ns);
    }
    straggler->lateness_ns = stragglers_median_of(finding->numbers, count);
    straggler->late_steps = (int64_t)count;
}

static int64_t stragglers_device_of(const struct stragglers_finding *finding, int64_t rank)
{
    for (size_t row = 0; row < finding->kernels.count; row++)
        if (collectives_rank(&finding->all, finding->kernels.process[row]) == rank)
            return finding->kernels.device[row];
    return STRAGGLER_NO_DEVICE;
}

static const char *stragglers_keep(struct stragglers *found, struct text *text)
{
    const char *copy = text_failed(text) ? NULL : arena_copy(&found->arena, text_string(text), text->length);

    text_free(text);
    return copy;
}

/* Whether the rank at this index is worth a row. */
static int is_worth_a_row(const struct stragglers_finding *finding, size_t i, double chance,
                          const struct straggler *straggler, const struct late_reason *reason)
{
    if (reason->is_by_chance)
        return 0;
    if (reason->is_by_others &&
        (stragglers_blocks_of(finding, i) < MOST_BLOCKS || chance * (double)finding->rank_count * ONE_IN_JOBS > 1))
        return 0;
    return saturating_multiply(straggler->gain_ns, LEAST_GAIN_OF) >= straggler->step_ns;
}

/* *is_kept: whether it is worth a row. */
static int stragglers_describe(struct stragglers_finding *finding, size_t i, double chance, struct straggler *straggler,
                               int *is_kept)
{
    struct late_reason reason = { 0 };
    int64_t rank = finding->ranks[i].rank;
    size_t count = 0;

    *straggler = (struct straggler){ .rank = rank,
                                     .host = collectives_host(&finding->all, rank),
                                     .device = stragglers_device_of(finding, rank),
                                     .device_ranks = (int64_t)gpu_shares_ranks_beside(&finding->shares, rank),
                                     .of_instances = (int64_t)finding->lates.instances };
    for (size_t l = 0; l < finding->lates.count; l++) {
        const struct late *at = &finding->lates.list[l];
        if (at->window.rank != rank)
            continue;
        straggler->caused_wait_ns = saturating_add(straggler->caused_wait_ns, at->wait_ns);
        finding->of_rank[count++] = at;
    }
    straggler->times_last = (int64_t)count;
    add_lateness(finding, add_gain(finding, count, straggler), straggler);
    int code = late_causes_explain(&finding->causes, finding->of_rank, count, &reason);
    straggler->cause = stragglers_keep(finding->found, &reason.cause);
    straggler->where = stragglers_keep(finding->found, &reason.where);
    *is_kept = is_worth_a_row(finding, i, chance, straggler, &reason);
    return code != 0 || !straggler->cause || !straggler->where ? ERR_NO_MEMORY : 0;
}

static int compare_gains(const void *a, const void *b)
{
    const struct straggler *x = a, *y = b;

    return COMPARE(y->gain_ns, x->gain_ns) ?: COMPARE(x->rank, y->rank);
}

static int name_ranks(struct stragglers_finding *finding)
{
    struct stragglers *found = finding->found;
    size_t room = finding->lates.count + finding->rank_count + 1;

    finding->numbers = array_alloc(room, sizeof *finding->numbers);
    finding->of_rank = array_alloc(room, sizeof *finding->of_rank);
    finding->gains = array_alloc(finding->all.communicator_count + 1, sizeof *finding->gains);
    found->list = array_alloc(finding->rank_count + 1, sizeof *found->list);
    finding->blocks = calloc((finding->rank_count + 1) * BLOCKS, sizeof *finding->blocks);
    if (!finding->blocks || !finding->numbers || !finding->of_rank || !finding->gains || !found->list)
        return ERR_NO_MEMORY;
    stragglers_fill_blocks(finding);
    for (size_t i = 0; i < finding->rank_count; i++) {
        double chance = 0;
        int is_kept;
        if (!is_straggler(finding, i, &chance))
            continue;
        if (chance < 0)
            return ERR_NO_MEMORY;
        if (stragglers_describe(finding, i, chance, &found->list[found->count], &is_kept) != 0)
            return ERR_NO_MEMORY;
        found->count += (size_t)is_kept;
    }
    if (found->count)
        qsort(found->list, found->count, sizeof *found->list, compare_gains);
    return 0;
}

/* From the first collective on: before it, ranks start, and are bound to CPUs. */
static void stragglers_find_span(struct stragglers_finding *finding)
{
    struct late_causes *causes = &finding->causes;

    causes->from_ns = INT64_MAX;
    causes->to_ns = INT64_MIN;
    for (size_t i = 0; i < finding->all.call_count; i++) {
        int64_t enter_ns = finding->all.calls[i].enter_ns;
        causes->from_ns = enter_ns < causes->from_ns ? enter_ns : causes->from_ns;
        causes->to_ns = enter_ns > causes->to_ns ? enter_ns : causes->to_ns;
    }
}

static int stragglers_find_all(struct stragglers_finding *finding, const struct filter *filter, struct error *err)
{
    static const char *const extra[] = { NULL };
    int code;

    if ((code = collectives_read(&finding->all, finding->report, filter, err)) != 0)
        return code;
    if (finding->all.instance_count && (code = gpu_shares_read(&finding->shares, &finding->all, err)) != 0)
        return code;
    if ((code = lates_find(&finding->lates, &finding->all, &finding->runs, &finding->shares, err)) != 0)
        return code;
    if ((code = count_ranks(finding)) != 0)
        return code;
    if (finding->lates.count < LEAST_TIMES)
        return 0;
    if ((code = gpu_read(&finding->kernels, finding->report, GPU_KERNEL, extra, err)) != 0)
        return code;
    if ((code = late_causes_open(&finding->causes, finding->report, &finding->runs, err)) != 0)
        return code;
    stragglers_find_span(finding);
    return name_ranks(finding);
}

/* Hosts are texts of the report, or of the set. */
int stragglers_find(struct stragglers *found, struct report *report, const struct filter *filter, struct error *err)
{
    struct stragglers_finding finding = { .found = found, .report = report };

    *found = (struct stragglers){ 0 };
    int code = stragglers_find_all(&finding, filter, err);
    collectives_free(&finding.all);
    lates_free(&finding.lates);
    late_causes_close(&finding.causes);
    cpu_runs_free(&finding.runs);
    gpu_shares_free(&finding.shares);
    gpu_free(&finding.kernels);
    free(finding.ranks);
    free(finding.of_rank);
    free(finding.gains);
    free(finding.numbers);
    free(finding.blocks);
    return code == ERR_NO_MEMORY ? error_no_memory(err) : code;
}

void stragglers_free(struct stragglers *found)
{
    free(found->list);
    arena_free(&found->arena);
    *found = (struct stragglers){ 0 };
}
