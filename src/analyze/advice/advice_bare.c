/* The time that the profiler took, taken out of the replay.
 *
 * CUPTI makes each CUDA call longer, and the agent each operator. If some steps were only timed (--advise, probes), it
 * is known by how much in all: a step that was recorded takes longer than the bare step. So every call and every
 * operator is cut by the same multiple of its usual cost. Rules see the rest: nothing that the profiler took is charged
 * to the program.
 *
 * Where the host is the bottleneck, the bare step gives the multiple. Where it is not, because the GPU is or because
 * the host waits for it, any multiple yields about the bare step. Yet it matters once a wait is gone. So the multiple
 * is the likeliest one: the bare step is known to 2 %, and the cost to a third of what is usual. Savings are also
 * computed with twice that error, as far as the step is not much shorter then than the timed steps were. A bound is the
 * larger one: a repair may save more if recording cost more. A cause that then saves nothing is none: a host that is
 * short of the GPU's pace by no more than what recording may have cost is fast enough.
 *
 * If no step was only timed (loops without marks, as in C++), every call and every operator is cut by what recording
 * takes at least. */
#include <stdlib.h>

#include "adviser.h"
#include "analyze/engine/row_cursor.h"

/* The time that recording adds to a call and to an operator: by CUPTI and the agent, and by the OS calls, samples and
 * cold caches that come with them. The ratio is that of bench/cupti_cost.py and bench/torch_live.py. In 23 captures of
 * tests/golden/pairs the host sets the pace, at least for a part of the step. The bare step is theirs at 0.3 to 1.7
 * times these costs, at 0.5 to 1.2 times in half of them; the median is 1. (Of all captures of tests/pairs, in 35 of
 * which the host was the bottleneck, 17 took 2.3 to 5.5 µs a call, 16 more, and 2 less.) */
struct record_costs {
    int64_t call_ns, operator_ns;
};
static const struct record_costs usual_costs = { 7000, 1000 };
/* CUPTI's records in programs that do little but launch or copy, and PyTorch's observer: docs/cost.md. */
static const struct record_costs least_costs = { 1400, 400 };
#define USUAL_ERROR 0.3 /* of the usual cost */
#define BARE_ERROR 0.02 /* of the bare step */
#define TIMED_ERROR 0.15 /* of the bare step: timed steps are that much longer than those of a bare run, at most */
enum { MULTIPLE_MAX = 4, ROUNDS = 10, MOST_ROUNDS = 6 };

/* ---- costs of records -----------------------------------------------------------------------------------------------
 */

/* Counts the operators that begin before each call and after the call before it. */
static int count_operators(const struct adviser *adviser, uint32_t *counts, struct error *err)
{
    enum { START, THREAD };
    static const char *const names[] = { "start", "globalTid", NULL };
    const struct replay_events *events = &adviser->replay.events;
    struct row_cursor rows;
    int code = row_cursor_open(&rows, adviser->report, "TACHO_TORCH_OP", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const struct replay_thread *thread = replay_thread_of(events, row_int_or(&rows, THREAD, 0));
        uint32_t call = thread ? replay_call_from(events, thread, saturating_add(row_int(&rows, START), 1)) : 0;
        if (thread && call < thread->end)
            counts[call]++;
    }
    row_cursor_close(&rows);
    return 0;
}

/* A half of what a call costs lies in it, and a half before it, as far as there is time before it. */
static int add_costs(const struct replay *replay, const struct record_costs *costs, const uint32_t *operators,
                     struct replay_edits *out)
{
    for (uint32_t call = 0; call < replay->events.call_count; call++) {
        uint32_t before = replay_edge_to(replay, replay_call_start(call), REPLAY_HOST),
                 inside = replay_edge_to(replay, replay_call_end(call), REPLAY_CALL);
        int64_t of_operators = (int64_t)operators[call] * costs->operator_ns, half_ns = costs->call_ns / 2,
                room_ns = before == REPLAY_NO_EDGE ? 0 : replay->graph.lag[before] - of_operators,
                before_ns = room_ns < 0         ? 0
                            : room_ns < half_ns ? room_ns
                                                : half_ns;
        if (replay_edit_cut(out, before, before_ns + of_operators) != 0 ||
            replay_edit_cut(out, inside, costs->call_ns - before_ns) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int cut_costs(const struct adviser *adviser, const struct record_costs *costs, struct replay_edits *out,
                     struct error *err)
{
    uint32_t *operators = calloc(adviser->replay.events.call_count + 1u, sizeof *operators);
    int code = operators ? count_operators(adviser, operators, err) : ERR_NO_MEMORY;

    if (code == 0)
        code = add_costs(&adviser->replay, costs, operators, out);
    free(operators);
    return code == ERR_NO_MEMORY ? error_short_memory(err, "for the bare step") : code;
}

/* ---- the multiple ---------------------------------------------------------------------------------------------- */

/* Sets the base to a multiple of the usual costs. */
static int set_base(struct replay_edits *base, const struct replay_edits *usual, double multiple, struct error *err)
{
    base->count = 0;
    for (size_t i = 0; i < usual->count; i++)
        if (replay_edit_cut(base, usual->list[i].edge,
                            saturating_from_double((double)usual->list[i].cut_ns * multiple)) != 0)
            return error_short_memory(err, "for the bare step");
    return 0;
}

/* How unlikely a multiple is: the squares of its errors. */
static int try_multiple(struct adviser *adviser, const struct replay_edits *usual, double multiple, int64_t bare_ns,
                        double *out, struct error *err)
{
    int64_t step_ns;
    int code;

    if ((code = set_base(&adviser->base, usual, multiple, err)) != 0 ||
        (code = adviser_replay(adviser, &(struct replay_edits){ 0 }, &step_ns, err)) != 0)
        return code;
    double of_step = ((double)step_ns / (double)bare_ns - 1) / BARE_ERROR, of_cost = (multiple - 1) / USUAL_ERROR;
    *out = of_step * of_step + of_cost * of_cost;
    return 0;
}

/* Golden-section search: a larger multiple makes a step shorter, so that there is one minimum. */
static int find_multiple(struct adviser *adviser, const struct replay_edits *usual, int64_t bare_ns, double *out,
                         struct error *err)
{
    const double golden = 0.618033988749895;
    double low = 0, high = MULTIPLE_MAX, at[2] = { high - golden * high, golden * high }, error[2];
    int code;

    for (int i = 0; i < 2; i++)
        if ((code = try_multiple(adviser, usual, at[i], bare_ns, &error[i], err)) != 0)
            return code;
    for (int round = 0; round < ROUNDS; round++) {
        int better = error[1] < error[0]; /* of the two points inside */
        *(better ? &low : &high) = at[!better];
        at[!better] = at[better];
        error[!better] = error[better];
        at[better] = better ? low + golden * (high - low) : high - golden * (high - low);
        if ((code = try_multiple(adviser, usual, at[better], bare_ns, &error[better], err)) != 0)
            return code;
    }
    *out = (low + high) / 2;
    return 0;
}

/* The greatest multiple that may be: twice the error more than the likeliest one, unless the step would then be shorter
 * than the bare one may be. */
static int find_most(struct adviser *adviser, const struct replay_edits *usual, double multiple, int64_t bare_ns,
                     double *out, struct error *err)
{
    const double least_ns = (double)bare_ns / (1 + TIMED_ERROR);
    double low = multiple, high = multiple + 2 * USUAL_ERROR, at = high;
    int64_t step_ns;
    int code;

    for (int round = 0; round < MOST_ROUNDS; round++, at = (low + high) / 2) {
        if ((code = set_base(&adviser->base, usual, at, err)) != 0 ||
            (code = adviser_replay(adviser, &(struct replay_edits){ 0 }, &step_ns, err)) != 0)
            return code;
        *((double)step_ns < least_ns ? &high : &low) = at;
        if (round == 0 && low == at)
            break;
    }
    *out = low;
    return 0;
}

static int set_bases(struct adviser *adviser, const struct replay_edits *usual, int64_t bare_ns, struct error *err)
{
    double multiple, most;
    int code;

    if ((code = find_multiple(adviser, usual, bare_ns, &multiple, err)) != 0 ||
        (code = find_most(adviser, usual, multiple, bare_ns, &most, err)) != 0 ||
        (code = set_base(&adviser->base, usual, most, err)) != 0 ||
        (code = adviser_replay(adviser, &(struct replay_edits){ 0 }, &adviser->least_step_ns, err)) != 0 ||
        (code = set_base(&adviser->most, usual, most, err)) != 0)
        return code;
    return set_base(&adviser->base, usual, multiple, err);
}

static int use_timed_steps(struct adviser *adviser, struct error *err)
{
    struct replay_edits cuts = { 0 };
    int code = cut_costs(adviser, &usual_costs, &cuts, err);

    if (code == 0)
        code = set_bases(adviser, &cuts, adviser->bare.bare_ns, err);
    replay_edits_free(&cuts);
    return code;
}

int adviser_use_bare_step(struct adviser *adviser, struct error *err)
{
    int code = bare_step_read(&adviser->bare, adviser->whole, err);

    if (code != 0 || !adviser->steps->count || !adviser->replay.graph.points)
        return code;
    if (adviser->bare.bare_ns)
        return use_timed_steps(adviser, err);
    /* Captures of other tools do not say what was recorded. */
    return report_rows(adviser->whole, "TACHO_COST") ? cut_costs(adviser, &least_costs, &adviser->base, err) : 0;
}
