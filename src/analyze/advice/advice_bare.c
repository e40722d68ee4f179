/* The time that the profiler took, taken out of the replay.
 *
 * CUPTI makes each CUDA call longer, and the agent each operator. In a capture with --advise it is known by how much in
 * all: a step that was recorded takes longer than the bare step, which was only timed. So every call and every operator
 * is cut by the same multiple of its usual cost, the one with which the replayed step is the bare step. Rules see the
 * rest: nothing that the profiler took is charged to the program. */
#include <stdlib.h>

#include "adviser.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/bare_step.h"

/* What recording adds to a call and to an operator (bench/cupti_cost.py, bench/torch_live.py). Only the ratio matters,
 * unless no multiple yields the bare step. */
enum { CALL_NS = 1000, OPERATOR_NS = 150 };
enum { MULTIPLE_MAX = 8, ROUNDS = 12 };

/* ---- usual costs ----------------------------------------------------------------------------------------------- */

/* The first call of a thread that starts after this time; its end if there is none. */
static uint32_t call_after(const struct replay_events *events, const struct replay_thread *thread, int64_t time_ns)
{
    uint32_t low = thread->first, high = thread->end;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (events->calls[middle].start_ns > time_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static const struct replay_thread *thread_of(const struct replay_events *events, int64_t id)
{
    for (uint32_t i = 0; i < events->thread_count; i++)
        if (events->threads[i].id == id)
            return &events->threads[i];
    return NULL;
}

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
        const struct replay_thread *thread = thread_of(events, row_int_or(&rows, THREAD, 0));
        uint32_t call = thread ? call_after(events, thread, row_int(&rows, START)) : 0;
        if (thread && call < thread->end)
            counts[call]++;
    }
    row_cursor_close(&rows);
    return 0;
}

/* A half of what a call costs lies in it, and a half before it. */
static int add_costs(const struct replay *replay, const uint32_t *operators, struct replay_edits *out)
{
    for (uint32_t call = 0; call < replay->events.call_count; call++) {
        uint32_t before = replay_edge_to(replay, replay_call_start(call), REPLAY_HOST),
                 inside = replay_edge_to(replay, replay_call_end(call), REPLAY_CALL);
        if (replay_edit_cut(out, before, CALL_NS / 2 + (int64_t)operators[call] * OPERATOR_NS) != 0 ||
            replay_edit_cut(out, inside, CALL_NS / 2) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int usual_costs(const struct adviser *adviser, struct replay_edits *out, struct error *err)
{
    uint32_t *operators = calloc(adviser->replay.events.call_count + 1u, sizeof *operators);
    int code = operators ? count_operators(adviser, operators, err) : ERR_NO_MEMORY;

    if (code == 0)
        code = add_costs(&adviser->replay, operators, out);
    free(operators);
    return code == ERR_NO_MEMORY ? error_set(err, code, "not enough memory for the bare step") : code;
}

/* ---- the multiple ---------------------------------------------------------------------------------------------- */

/* Replays a step whose calls and operators cost a multiple of the usual less. */
static int try_multiple(struct adviser *adviser, const struct replay_edits *usual, double multiple, int64_t *step_ns,
                        struct error *err)
{
    adviser->base.count = 0;
    for (size_t i = 0; i < usual->count; i++)
        if (replay_edit_cut(&adviser->base, usual->list[i].edge,
                            saturating_from_double((double)usual->list[i].cut_ns * multiple)) != 0)
            return error_set(err, ERR_NO_MEMORY, "not enough memory for the bare step");
    return adviser_replay(adviser, &(struct replay_edits){ 0 }, step_ns, err);
}

/* Halves the interval of the multiple. If even the largest one leaves the step too long, it is not the host that the
 * bare step has less of: then each call costs what it usually does. */
static int find_multiple(struct adviser *adviser, const struct replay_edits *usual, int64_t bare_ns, struct error *err)
{
    double low = 0, high = MULTIPLE_MAX;
    int64_t step_ns;
    int code = try_multiple(adviser, usual, high, &step_ns, err);

    if (code != 0)
        return code;
    if (step_ns > bare_ns)
        return try_multiple(adviser, usual, 1, &step_ns, err);
    for (int round = 0; round < ROUNDS; round++) {
        double middle = (low + high) / 2;
        if ((code = try_multiple(adviser, usual, middle, &step_ns, err)) != 0)
            return code;
        *(step_ns > bare_ns ? &low : &high) = middle;
    }
    return 0;
}

int adviser_use_bare_step(struct adviser *adviser, struct error *err)
{
    struct bare_step bare;
    struct replay_edits usual = { 0 };
    int64_t step_ns;
    int code = bare_step_read(&bare, adviser->report, err);

    if (code != 0 || !bare.bare_ns || !adviser->steps->count || !adviser->replay.graph.points)
        return code;
    if ((code = adviser_replay(adviser, &usual, &step_ns, err)) != 0 || step_ns <= bare.bare_ns)
        return code;
    if ((code = usual_costs(adviser, &usual, err)) == 0)
        code = find_multiple(adviser, &usual, bare.bare_ns, err);
    replay_edits_free(&usual);
    return code;
}
