/* Finds the rank that delayed an instance. Instances of a communicator follow each other, so the window of a rank is
 * from where it left the one before to where it entered this one. */
#include "lates.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/ranks/mpi_job.h"
#include "analyze/model/torch/steps_read.h"
#include "base/array.h"
#include "base/hash.h"

enum { LEAST_NS = 10000, LEAST_SHARE = 20 /* one in this many of a step */, MOST_HOPS = 16 };
enum { LONGEST_LOOP = 64, LEAST_STEPS = 3, FAR_SHORTER = 3 };

/* A rank waited for another one. */
struct rank_wait {
    int64_t rank, from_ns, to_ns, cause;
};

struct lates_finding {
    const struct collectives *all;
    struct cpu_runs *runs;
    const struct gpu_shares *shares;
    struct lates *lates;
    struct rank_wait *waits;                 /* by rank and time; owned */
    size_t wait_count, wait_room;
    int64_t *scratch;                        /* owned; room for the waits of an instance */
    int64_t *others;                         /* owned; the same */
    struct rank_window *windows;             /* owned; the same */
    int64_t *step_of;                        /* owned; by instance: number of its step on its communicator, from 0 */
    int64_t *pauses;                         /* owned; scratch, by instance */
    const struct collective_call *first_out; /* of the instance before the one that is looked at */
    uint32_t communicator;                   /* of the last instance that was looked at */
    int64_t step;                            /* of the same; 0: none was */
};

/* ---- Waits ------------------------------------------------------------------------------------------------------ */

static int lates_add_wait(struct lates_finding *finding, struct rank_wait wait)
{
    if (wait.rank < 0 || wait.cause < 0 || wait.rank == wait.cause || wait.to_ns <= wait.from_ns)
        return 0;
    return ARRAY_PUSH(finding->waits, finding->wait_room, finding->wait_count, wait);
}

static int add_collective_waits(struct lates_finding *finding)
{
    const struct collectives *all = finding->all;

    for (size_t i = 0; i < all->instance_count; i++) {
        const struct collective_instance *at = &all->instances[i];
        const struct collective_call *calls = all->calls + at->first;
        const struct collective_figures figures = collective_figures(all, at, finding->scratch);
        for (size_t c = 0; figures.last != SIZE_MAX && c < at->count; c++) {
            int64_t wait_ns = finding->scratch[c];
            struct rank_wait wait = { calls[c].rank, calls[c].enter_ns, saturating_add(calls[c].enter_ns, wait_ns),
                                      calls[figures.last].rank };
            if (wait_ns > figures.error_ns && lates_add_wait(finding, wait) != 0)
                return ERR_NO_MEMORY;
        }
    }
    return 0;
}

static int is_on_cpu(const struct collectives *all, const struct collective_instance *at)
{
    const char *name = report_string(all->report, at->operation, NULL);

    return strncmp(name, "MPI_", 4) == 0 || strncmp(name, "gloo:", 5) == 0;
}

/* The call that was the first to end, if its instance synchronises. */
static const struct collective_call *first_out_of(const struct collectives *all, const struct collective_instance *at)
{
    const struct collective_call *first = NULL;

    for (size_t i = 0; collective_is_timed(at) && i < at->count; i++)
        if (!first || all->calls[at->first + i].leave_ns < first->leave_ns)
            first = &all->calls[at->first + i];
    return first;
}

/* All could leave when the first one did, as far as clocks show. */
static int64_t could_leave_ns(const struct collectives *all, const struct collective_call *call,
                              const struct collective_call *first)
{
    int64_t error_ns = first ? collectives_clock_error(all, call->rank, first->rank) : INT64_MAX;
    int64_t could_ns = error_ns == INT64_MAX ? INT64_MAX : saturating_add(first->leave_ns, error_ns);

    return could_ns < call->leave_ns ? could_ns : call->leave_ns;
}

/* The rank that another program kept off its CPU inside of an instance longest, after the first one had left it; NULL:
 * none was. */
static const struct collective_call *kept_inside(const struct lates_finding *finding,
                                                 const struct collective_instance *at,
                                                 const struct collective_call *first, int64_t *off_ns)
{
    const struct collective_call *kept = NULL;

    *off_ns = 0;
    for (size_t i = 0; i < at->count; i++) {
        const struct collective_call *call = &finding->all->calls[at->first + i];
        int64_t own_ns = cpu_runs_kept_off(finding->runs, call->thread, could_leave_ns(finding->all, call, first),
                                           call->leave_ns, NULL);
        if (own_ns > *off_ns) {
            *off_ns = own_ns;
            kept = call;
        }
    }
    return kept;
}

/* A collective has rounds: a rank that entered early, and lost its CPU then, keeps those inside that need its part of a
 * later round, while others have left. */
static int add_waits_inside(struct lates_finding *finding)
{
    const struct collectives *all = finding->all;

    for (size_t i = 0; i < all->instance_count; i++) {
        const struct collective_instance *at = &all->instances[i];
        const struct collective_call *first = is_on_cpu(all, at) ? first_out_of(all, at) : NULL;
        int64_t off_ns;
        const struct collective_call *kept = first ? kept_inside(finding, at, first, &off_ns) : NULL;
        for (size_t c = 0; kept && off_ns > LEAST_NS && c < at->count; c++) {
            const struct collective_call *call = &all->calls[at->first + c];
            int64_t from_ns = could_leave_ns(all, call, first);
            int64_t until_ns = kept->leave_ns < call->leave_ns ? kept->leave_ns : call->leave_ns;
            int64_t by_ns = cpu_runs_kept_off(finding->runs, kept->thread, from_ns, until_ns, NULL);
            const struct rank_wait wait = { call->rank, from_ns, call->leave_ns, kept->rank };
            if (call != kept && by_ns > LEAST_NS && by_ns >= saturating_subtract(call->leave_ns, from_ns) / 2 &&
                lates_add_wait(finding, wait) != 0)
                return ERR_NO_MEMORY;
        }
    }
    return 0;
}

/* Messages, and collectives that do not synchronise. */
static int add_mpi_waits(struct lates_finding *finding, struct error *err)
{
    const struct report_table *table = report_table(finding->all->report, "MPI_P2P_EVENTS");
    struct mpi_job job = { 0 };
    int code = table && table->rows ? mpi_job_open(&job, finding->all->report, err) : 0;

    if (code != 0)
        goto close_job;
    for (size_t i = 0; i < job.waits.count; i++) {
        const struct mpi_wait *at = &job.waits.list[i];
        const struct mpi_call *call = &job.calls.list[at->call];
        struct rank_wait wait = { mpi_job_rank(&job, call->thread), call->start_ns, at->until_ns,
                                  mpi_job_rank(&job, at->cause) };
        int is_known = at->state == MPI_WAIT_BARRIER || at->state == MPI_WAIT_ALL_TO_ALL;
        if (!is_known && (code = lates_add_wait(finding, wait)) != 0)
            break;
    }
close_job:
    if (table && table->rows)
        mpi_job_close(&job);
    return code;
}

static int lates_compare_waits(const void *a, const void *b)
{
    const struct rank_wait *x = a, *y = b;

    return COMPARE(x->rank, y->rank) ?: COMPARE(x->from_ns, y->from_ns);
}

/* The first wait of the rank that begins at this time or later. */
static size_t first_wait(const struct lates_finding *finding, int64_t rank, int64_t from_ns)
{
    const struct rank_wait wanted = { .rank = rank, .from_ns = from_ns };
    return BISECT(0, finding->wait_count, i, lates_compare_waits(&finding->waits[i], &wanted) < 0);
}

/* Sums up the waits of a rank that begin in a window, and finds the longest. */
static int64_t waits_in(const struct lates_finding *finding, int64_t rank, int64_t from_ns, int64_t to_ns,
                        const struct rank_wait **longest)
{
    int64_t total_ns = 0, most_ns = 0;

    *longest = NULL;
    for (size_t i = first_wait(finding, rank, from_ns);
         i < finding->wait_count && finding->waits[i].rank == rank && finding->waits[i].from_ns < to_ns; i++) {
        const struct rank_wait *at = &finding->waits[i];
        int64_t wait_ns = saturating_subtract(at->to_ns < to_ns ? at->to_ns : to_ns, at->from_ns);
        total_ns = saturating_add(total_ns, wait_ns);
        if (wait_ns > most_ns) {
            most_ns = wait_ns;
            *longest = at;
        }
    }
    return total_ns;
}

/* ---- Windows ---------------------------------------------------------------------------------------------------- */

static const struct collective_call *lates_call_of(const struct collectives *all,
                                                   const struct collective_instance *instance, int64_t rank)
{
    const struct collective_call *calls = all->calls + instance->first;
    size_t at = BISECT(0, instance->count, i, calls[i].rank < rank);

    return at < instance->count && calls[at].rank == rank ? &calls[at] : NULL;
}

/* Work on GPUs and gloo's threads are started by the main thread, whose number is that of its process. */
static int64_t working_thread(const struct collective_call *call, int is_mpi)
{
    return is_mpi ? call->thread : (global_process(call->thread) | global_pid_number(call->thread));
}

static struct rank_window window_of(const struct lates_finding *finding, size_t instance, int64_t rank)
{
    const struct collectives *all = finding->all;
    const struct collective_instance *at = &all->instances[instance];
    const struct collective_call *call = lates_call_of(all, at, rank), *before = lates_call_of(all, at - 1, rank);
    struct rank_window window = { .rank = COLLECTIVE_UNKNOWN };
    const struct rank_wait *longest;

    if (!call || !before)
        return window;
    int is_mpi = strncmp(report_string(all->report, at->operation, NULL), "MPI_", 4) == 0;
    window = (struct rank_window){ .rank = rank,
                                   .thread = working_thread(call, is_mpi),
                                   .from_ns = could_leave_ns(all, before, finding->first_out) };
    window.left_ns = before->leave_ns;
    window.to_ns = call->enter_ns;
    int64_t wait_ns = waits_in(finding, rank, window.from_ns, window.to_ns, &longest);
    if (is_on_cpu(all, at))
        window.shared_ns = cpu_runs_left_to_ranks(finding->runs, window.thread, window.from_ns, window.to_ns);
    window.shared_ns = saturating_add(window.shared_ns,
                                      gpu_shares_left_to_ranks(finding->shares, rank, window.from_ns, window.to_ns));
    window.busy_ns = saturating_subtract(saturating_subtract(window.to_ns, window.from_ns), wait_ns);
    window.busy_ns = saturating_subtract(window.busy_ns, window.shared_ns);
    return window;
}

/* The last rank, the one that it waited for, and so on. */
struct lates_chain {
    int64_t ranks[MOST_HOPS + 1];
    size_t count;
};

static int lates_is_in(const struct lates_chain *chain, int64_t rank)
{
    for (size_t i = 0; i < chain->count; i++)
        if (chain->ranks[i] == rank)
            return 1;
    return 0;
}

/* Follows the waits of the last rank to the one that waited for nobody. What that rank did after the wait for it had
 * ended counts too: the windows of all ranks have the same work in them. */
static struct rank_window blame(const struct lates_finding *finding, size_t instance, int64_t last, int64_t lateness_ns,
                                struct lates_chain *chain)
{
    struct rank_window window = window_of(finding, instance, last);
    int64_t until_ns = window.to_ns;

    *chain = (struct lates_chain){ { last }, 1 };
    for (int hop = 0; hop < MOST_HOPS && window.rank != COLLECTIVE_UNKNOWN; hop++) {
        const struct rank_wait *longest;
        waits_in(finding, window.rank, window.from_ns, until_ns, &longest);
        if (!longest || saturating_subtract(longest->to_ns, longest->from_ns) < lateness_ns / 2)
            break;
        struct rank_window other = window_of(finding, instance, longest->cause);
        if (other.rank == COLLECTIVE_UNKNOWN || lates_is_in(chain, other.rank))
            break;
        until_ns = longest->to_ns < other.to_ns ? longest->to_ns : other.to_ns;
        window = other;
        chain->ranks[chain->count++] = other.rank;
    }
    return window;
}

static int compare_busy(const void *a, const void *b)
{
    const struct rank_window *x = a, *y = b;

    return COMPARE(x->busy_ns, y->busy_ns);
}

/* The median of the ranks that are neither last nor to blame; of all others if there are none. */
static struct rank_window usual_window(const struct lates_finding *finding, size_t instance, int64_t blamed,
                                       int64_t last)
{
    const struct collective_instance *at = &finding->all->instances[instance];
    const struct collective_call *calls = finding->all->calls + at->first;
    size_t count = 0;

    for (int round = 0; round < 2 && !count; round++)
        for (size_t i = 0; i < at->count; i++) {
            if (calls[i].rank == blamed || (!round && calls[i].rank == last))
                continue;
            struct rank_window window = window_of(finding, instance, calls[i].rank);
            if (window.rank != COLLECTIVE_UNKNOWN)
                finding->windows[count++] = window;
        }
    if (!count)
        return (struct rank_window){ .rank = COLLECTIVE_UNKNOWN };
    qsort(finding->windows, count, sizeof *finding->windows, compare_busy);
    return finding->windows[(count - 1) / 2];
}

/* ---- Instances -------------------------------------------------------------------------------------------------- */

static int lates_is_next(const struct collectives *all, size_t i)
{
    const struct collective_instance *at = &all->instances[i];

    return i && at[-1].communicator == at->communicator && at[-1].sequence + 1 == at->sequence && !at[-1].is_open;
}

/* How long a rank waited for one of these before it came: without them it would have come earlier by this time. Waits
 * of one call for several messages overlap. */
static int64_t waited_for(const struct lates_finding *finding, const struct collective_instance *at,
                          const struct collective_call *call, const struct lates_chain *chain)
{
    const struct collective_call *before = lates_call_of(finding->all, at - 1, call->rank);
    int64_t sum_ns = 0, until_ns = before ? before->leave_ns : 0;

    for (size_t i = before ? first_wait(finding, call->rank, until_ns) : finding->wait_count;
         i < finding->wait_count && finding->waits[i].rank == call->rank && finding->waits[i].from_ns < call->enter_ns;
         i++) {
        const struct rank_wait *wait = &finding->waits[i];
        int64_t from_ns = wait->from_ns > until_ns ? wait->from_ns : until_ns;
        int64_t to_ns = wait->to_ns < call->enter_ns ? wait->to_ns : call->enter_ns;
        if (to_ns <= from_ns || !lates_is_in(chain, wait->cause))
            continue;
        sum_ns = saturating_add(sum_ns, saturating_subtract(to_ns, from_ns));
        until_ns = to_ns;
    }
    return sum_ns;
}

/* The waits of ranks that had nothing to do with it, each with what it had waited for the guilty before: a neighbour
 * that gets its message late comes late too. The shortest, up to which all would have been done earlier, and the
 * median. If there is no such rank, those of all but the guilty one, which is the end of the chain. */
static void lates_sum_up(struct lates_finding *finding, const struct lates_chain *chain, struct late *late)
{
    const struct collective_instance *at = &finding->all->instances[late->instance];
    const struct collective_call *calls = finding->all->calls + at->first;
    size_t count = 0;

    for (size_t i = 0; i < at->count; i++)
        if (!lates_is_in(chain, calls[i].rank))
            finding->others[count++] = saturating_add(finding->scratch[i], waited_for(finding, at, &calls[i], chain));
    int is_all = !count;
    for (size_t i = 0; is_all && i < at->count; i++)
        if (calls[i].rank != chain->ranks[chain->count - 1])
            finding->others[count++] = saturating_add(finding->scratch[i], waited_for(finding, at, &calls[i], chain));
    qsort(finding->others, count, sizeof *finding->others, array_by_int64);
    late->gain_ns = count ? finding->others[0] : 0;
    late->lateness_ns = count ? finding->others[(count - 1) / 2] : 0;
}

/* Whether the rank itself was slower than the median rank: by half of what it would have saved all. Else it was late
 * by chance: the one that got a CPU last, or that left the instance before last. */
static int is_its_own_doing(const struct late *late)
{
    return late->usual.rank == COLLECTIVE_UNKNOWN ||
           saturating_subtract(late->window.busy_ns, late->usual.busy_ns) >= late->gain_ns / 2;
}

static int lates_look_at(struct lates_finding *finding, size_t i)
{
    const struct collectives *all = finding->all;
    const struct collective_instance *at = &all->instances[i];
    struct lates *lates = finding->lates;

    if (!lates_is_next(all, i) || !collective_is_timed(at) || !finding->step_of[i])
        return 0;
    lates->instances++;
    lates->step_count += at->communicator != finding->communicator || finding->step_of[i] != finding->step;
    finding->communicator = at->communicator;
    finding->step = finding->step_of[i];
    const struct collective_figures figures = collective_figures(all, at, finding->scratch);
    if (figures.last == SIZE_MAX)
        return 0;
    int64_t last = all->calls[at->first + figures.last].rank;
    struct late late = {
        .instance = i, .step = lates->step_count - 1, .communicator = at->communicator, .wait_ns = figures.wait_ns
    };
    struct lates_chain chain = { { last }, 1 };
    finding->first_out = first_out_of(all, at - 1);
    lates_sum_up(finding, &chain, &late);
    late.window = blame(finding, i, last, late.lateness_ns, &chain);
    lates_sum_up(finding, &chain, &late);
    if (late.window.rank == COLLECTIVE_UNKNOWN || late.gain_ns <= figures.error_ns || late.gain_ns < LEAST_NS)
        return 0;
    late.usual = usual_window(finding, i, late.window.rank, last);
    if (!is_its_own_doing(&late))
        return 0;
    return ARRAY_PUSH(lates->list, lates->room, lates->count, late);
}

/* The shortest loop: the number of instances after which the same operations, with the same sizes, come again. */
static int64_t loop_length(const struct collective_instance *instances, size_t count)
{
    for (size_t length = 1; length <= LONGEST_LOOP && length <= count / 2; length++) {
        size_t same = 0;
        for (size_t i = length; i < count; i++)
            same += instances[i].operation == instances[i - length].operation &&
                    instances[i].bytes == instances[i - length].bytes;
        if (same >= (count - length) - (count - length) / 20)
            return (int64_t)length;
    }
    return 1;
}

/* The steps of the program that instances lie in; all in one, if it has none or its collectives lie elsewhere. */
static void take_program_steps(struct lates_finding *finding, const struct steps *program, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct collective_call *call = &finding->all->calls[finding->all->instances[i].first];
        const struct step_process *own = steps_of(program, global_process(call->thread));
        int64_t step = own ? (int64_t)(steps_from(program, own, call->enter_ns) - own->first) : 0;
        finding->step_of[i] = i > first && step < finding->step_of[i - 1] ? finding->step_of[i - 1] : step;
    }
}

/* How long the quickest rank was outside of collectives before an instance. */
static int64_t pause_before(const struct collectives *all, const struct collective_instance *at)
{
    int64_t least_ns = INT64_MAX;

    for (size_t i = 0; i < at->count; i++) {
        const struct collective_call *call = &all->calls[at->first + i];
        const struct collective_call *before = lates_call_of(all, at - 1, call->rank);
        int64_t pause_ns = before ? saturating_subtract(call->enter_ns, before->leave_ns) : INT64_MAX;
        least_ns = pause_ns < least_ns ? pause_ns : least_ns;
    }
    return least_ns == INT64_MAX || least_ns < 0 ? 0 : least_ns;
}

/* Half of the time in pauses, which are sorted, is in those that are as long at least. There is one at least. */
static int64_t usual_pause(const int64_t *pauses, size_t count)
{
    double sum = 0, above = 0;

    for (size_t i = 0; i < count; i++)
        sum += (double)pauses[i];
    do
        above += (double)pauses[--count];
    while (count && above * 2 < sum);
    return pauses[count];
}

/* Whether steps that begin after pauses of this length are such: most have as many instances as the step before; nearly
 * all, unless the pauses within are far shorter. Ranks that take turns make some pauses twice as long as others. */
static int are_alike(const int64_t *pauses, size_t count, int64_t least_ns, int64_t within_ns)
{
    size_t steps = 0, same = 0, length = 0, before = 0;
    int is_clear = within_ns < least_ns / FAR_SHORTER;

    for (size_t i = 0; i < count; i++) {
        length++;
        if (pauses[i] < least_ns)
            continue;
        same += length == before;
        before = length;
        length = 0;
        steps++;
    }
    return steps >= LEAST_STEPS && (is_clear ? same * 2 >= steps : (steps - same) * 10 <= steps);
}

/* The median of the pauses that are shorter; 0: none is. */
static int64_t median_below(const int64_t *sorted, size_t count, int64_t least_ns)
{
    size_t below = BISECT(0, count, i, sorted[i] < least_ns);

    return below ? sorted[(below - 1) / 2] : 0;
}

/* The instances of a step follow each other closely, such as those that reduce gradients one by one. A step begins
 * after a pause that is half as long as a usual one at least. Longer pauses that come now and then, for an evaluation
 * or a checkpoint, must not be taken for the usual ones. If no pauses divide the instances evenly, each is a step. */
static void take_pauses(struct lates_finding *finding, size_t first, size_t end)
{
    int64_t *step_of = finding->step_of + first, *sorted = finding->pauses, least_ns = 0;
    size_t count = end - first, left = count - 1;

    for (size_t i = 1; i < count; i++)
        sorted[i - 1] = step_of[i] = pause_before(finding->all, &finding->all->instances[first + i]);
    if (left)
        qsort(sorted, left, sizeof *sorted, array_by_int64);
    while (left && (least_ns = usual_pause(sorted, left) / 2) > 0 &&
           !are_alike(step_of + 1, count - 1, least_ns, median_below(sorted, left, least_ns)))
        while (left && sorted[left - 1] >= least_ns)
            left--;
    step_of[0] = 0;
    for (size_t i = 1; i < count; i++)
        step_of[i] = step_of[i - 1] + (!left || step_of[i] >= least_ns);
}

static void take_loop(struct lates_finding *finding, size_t first, size_t end)
{
    int64_t length = loop_length(finding->all->instances + first, end - first);

    if (length == 1)
        take_pauses(finding, first, end);
    for (size_t i = first; length > 1 && i < end; i++)
        finding->step_of[i] = (int64_t)(i - first) / length;
}

static void lates_find_steps(struct lates_finding *finding, const struct steps *program)
{
    const struct collectives *all = finding->all;
    int64_t *step_of = finding->step_of;

    for (size_t first = 0, end; first < all->instance_count; first = end) {
        const struct collective_instance *at = &all->instances[first];
        for (end = first + 1; end < all->instance_count && all->instances[end].communicator == at->communicator;)
            end++;
        take_program_steps(finding, program, first, end);
        if (step_of[end - 1] == step_of[first])
            take_loop(finding, first, end);
        size_t last = BISECT(first, end, i, step_of[i] < step_of[end - 1]);
        int64_t begin = step_of[first], steps = step_of[last] - begin;
        int64_t span_ns = saturating_subtract(all->calls[all->instances[last].first].enter_ns,
                                              all->calls[at->first].enter_ns);
        for (size_t i = first; i < end; i++)
            step_of[i] -= begin;
        finding->lates->steps[at->communicator] = steps;
        finding->lates->step_ns[at->communicator] = steps > 0 ? span_ns / steps : 0;
    }
}

static int lates_read_steps(struct lates_finding *finding, struct error *err)
{
    const struct steps_request automatic = { .may_guess = 1 };
    struct steps program = { 0 };
    int code = steps_read(&program, finding->all->report, &automatic, err);

    if (code == 0 || code == ERR_NO_DATA)
        lates_find_steps(finding, &program);
    steps_free(&program);
    if (code != ERR_NO_DATA)
        return code;
    *err = (struct error){ 0 };
    return 0;
}

/* ---- Steps that matter ------------------------------------------------------------------------------------------ */

static int lates_compare(const void *a, const void *b)
{
    const struct late *x = a, *y = b;

    return COMPARE(x->step, y->step) ?: COMPARE(x->window.rank, y->window.rank) ?: COMPARE(x->instance, y->instance);
}

/* Keeps the delays of a rank in a step that are a twentieth of it together. */
static void keep_large(struct lates *lates)
{
    size_t kept = 0;

    if (lates->count)
        qsort(lates->list, lates->count, sizeof *lates->list, lates_compare);
    for (size_t first = 0, end; first < lates->count; first = end) {
        int64_t gain_ns = lates->list[first].gain_ns;
        for (end = first + 1; end < lates->count && !late_begins_step(lates, end); end++)
            gain_ns = saturating_add(gain_ns, lates->list[end].gain_ns);
        if (gain_ns < lates->step_ns[lates->list[first].communicator] / LEAST_SHARE)
            continue;
        memmove(lates->list + kept, lates->list + first, (end - first) * sizeof *lates->list);
        kept += end - first;
    }
    lates->count = kept;
}

static int lates_find_all(struct lates_finding *finding, struct error *err)
{
    int code;

    if ((code = add_collective_waits(finding)) != 0)
        return code;
    if ((code = cpu_runs_read(finding->runs, finding->all, err)) != 0)
        return code;
    if ((code = add_waits_inside(finding)) != 0)
        return code;
    if ((code = add_mpi_waits(finding, err)) != 0)
        return code;
    if (finding->wait_count)
        qsort(finding->waits, finding->wait_count, sizeof *finding->waits, lates_compare_waits);
    if ((code = lates_read_steps(finding, err)) != 0)
        return code;
    for (size_t i = 0; i < finding->all->instance_count; i++)
        if ((code = lates_look_at(finding, i)) != 0)
            return code;
    keep_large(finding->lates);
    return 0;
}

int lates_find(struct lates *lates, const struct collectives *all, struct cpu_runs *runs,
               const struct gpu_shares *shares, struct error *err)
{
    struct lates_finding finding = { .all = all, .runs = runs, .shares = shares, .lates = lates };
    size_t most = collectives_most_calls(all) + 2;
    int code = ERR_NO_MEMORY;

    *lates = (struct lates){ .steps = calloc(all->communicator_count + 1, sizeof *lates->steps),
                             .step_ns = calloc(all->communicator_count + 1, sizeof *lates->step_ns) };
    finding.scratch = array_alloc(most, sizeof *finding.scratch);
    finding.others = array_alloc(most, sizeof *finding.others);
    finding.windows = array_alloc(most, sizeof *finding.windows);
    finding.step_of = array_alloc(all->instance_count + 1, sizeof *finding.step_of);
    finding.pauses = array_alloc(all->instance_count + 1, sizeof *finding.pauses);
    if (lates->steps && lates->step_ns && finding.scratch && finding.others && finding.windows && finding.step_of &&
        finding.pauses)
        code = lates_find_all(&finding, err);
    free(finding.waits);
    free(finding.scratch);
    free(finding.others);
    free(finding.windows);
    free(finding.step_of);
    free(finding.pauses);
    return code;
}

void lates_free(struct lates *lates)
{
    free(lates->list);
    free(lates->steps);
    free(lates->step_ns);
    *lates = (struct lates){ 0 };
}
