/* Causes and what they cost: see adviser.h. */
#include <stdlib.h>

#include "adviser.h"
#include "analyze/model/torch/steps_read.h"
#include "base/array.h"

const char *const advice_confidence_names[ADVICE_CONFIDENCES] = {
    [ADVICE_MEASURED] = "measured",
    [ADVICE_MODELLED] = "modelled",
    [ADVICE_TRY] = "try it",
};

void advice_cause_free(struct advice_cause *cause)
{
    text_free(&cause->what);
    text_free(&cause->where);
    text_free(&cause->rate);
    replay_edits_free(&cause->bound);
    replay_edits_free(&cause->estimate);
}

static int no_memory(struct error *err)
{
    return error_set(err, ERR_NO_MEMORY, "not enough memory for the advice");
}

/* ---- replays --------------------------------------------------------------------------------------------------- */

static int replay_with(struct adviser *adviser, const struct replay_edits *base, const struct replay_edits *edits,
                       int64_t *out, struct error *err)
{
    struct replay_result result;
    struct replay_step_times step;
    int code;

    if ((code = replay_run_times(&adviser->replay, REPLAY_EDITS(base, edits), &result, err)) != 0 ||
        (code = replay_steps(&adviser->replay, adviser->steps, &step, err)) != 0)
        return code;
    adviser->step_count = step.steps ? step.steps : 1;
    adviser->recorded_ns = step.steps ? step.measured_ns : result.measured_ns;
    *out = step.steps ? step.replayed_ns : result.replayed_ns;
    return 0;
}

int adviser_replay(struct adviser *adviser, const struct replay_edits *edits, int64_t *out, struct error *err)
{
    return replay_with(adviser, &adviser->base, edits, out, err);
}

static int saving(struct adviser *adviser, const struct replay_edits *edits, int64_t *out, struct error *err)
{
    int64_t step_ns;
    int code = adviser_replay(adviser, edits, &step_ns, err);

    if (code != 0)
        return code;
    *out = adviser->step_ns > step_ns ? saturating_subtract(adviser->step_ns, step_ns) : 0;
    return 0;
}

/* The same if the profiler took as much as it may have. */
static int saving_at_most(struct adviser *adviser, const struct replay_edits *edits, int64_t *out, struct error *err)
{
    int64_t step_ns;
    int code = replay_with(adviser, &adviser->most, edits, &step_ns, err);

    if (code == 0)
        *out = saturating_subtract(adviser->least_step_ns, step_ns);
    return code;
}

/* What is saved in a slow step: steps take longer in one run than in another, and all of that may be the cause's. */
static int64_t in_slow_step(const struct adviser *adviser, int64_t saved_ns)
{
    int64_t slow_ns = adviser->bare.slow_ns,
            mean_ns = adviser->bare.bare_ns > adviser->step_ns ? adviser->bare.bare_ns : adviser->step_ns;

    return mean_ns <= 0 || slow_ns <= mean_ns
               ? saved_ns
               : saturating_from_double((double)saved_ns * ((double)slow_ns / (double)mean_ns));
}

/* No repair saves more: whether the profiler took what it usually does, or as much as it may have. */
static int most_saving(struct adviser *adviser, const struct replay_edits *edits, int64_t *out, struct error *err)
{
    int64_t most_ns;
    int code = saving(adviser, edits, out, err);

    if (code != 0 || !adviser->most.count)
        return code;
    if ((code = saving_at_most(adviser, edits, &most_ns, err)) != 0)
        return code;
    *out = in_slow_step(adviser, most_ns > *out ? most_ns : *out);
    return 0;
}

/* ---- the adviser ----------------------------------------------------------------------------------------------- */

static int read_steps(struct adviser *adviser, const struct analysis_request *request, struct error *err)
{
    adviser->steps = &adviser->own_steps;
    if (request->filter && request->filter->steps) {
        adviser->steps = request->filter->steps;
        return 0;
    }
    int code = steps_read(&adviser->own_steps, adviser->report, &(struct steps_request){ .may_guess = 1 }, err);
    return code == ERR_NO_DATA ? 0 : code;
}

int adviser_open(struct adviser *adviser, struct report *report, const struct analysis_request *request,
                 struct error *err)
{
    int code;

    *adviser = (struct adviser){ .report = report, .span = { INT64_MIN, INT64_MAX } };
    if (request->span)
        adviser->span = *request->span;
    if ((code = replay_read(&adviser->replay, report, err)) != 0 || (code = read_steps(adviser, request, err)) != 0 ||
        (code = adviser_use_bare_step(adviser, err)) != 0 ||
        (code = adviser_replay(adviser, &(struct replay_edits){ 0 }, &adviser->step_ns, err)) != 0)
        adviser_free(adviser);
    return code;
}

void adviser_free(struct adviser *adviser)
{
    for (size_t i = 0; i < adviser->count; i++)
        advice_cause_free(&adviser->causes[i]);
    free(adviser->causes);
    if (adviser->training)
        adviser->free_training(adviser->training);
    places_close(&adviser->places);
    if (adviser->kernels)
        adviser->free_kernels(adviser->kernels);
    operators_free(&adviser->operators);
    replay_edits_free(&adviser->base);
    replay_edits_free(&adviser->most);
    replay_free(&adviser->replay);
    steps_free(&adviser->own_steps);
    *adviser = (struct adviser){ 0 };
}

int adviser_places(struct adviser *adviser, struct places **out, struct error *err)
{
    int code;

    *out = &adviser->places;
    if (adviser->has_places)
        return 0;
    if ((code = places_open(&adviser->places, adviser->report, err)) != 0) {
        places_close(&adviser->places);
        return code;
    }
    adviser->has_places = 1;
    return 0;
}

static struct analysis_filter launching_process(const struct replay_events *events)
{
    struct analysis_filter filter = { 0 };
    uint32_t last = NO_CALL; /* a thread */

    for (uint32_t i = 0; i < events->work_count; i++) {
        uint32_t call = events->works[i].call;
        if (call == NO_CALL || events->calls[call].thread == last)
            continue;
        last = events->calls[call].thread;
        int64_t pid = global_pid_number(events->threads[last].id);
        if (filter.only && filter.pid != pid)
            return (struct analysis_filter){ 0 };
        filter = (struct analysis_filter){ .only = ONLY_PID, .pid = pid };
    }
    return filter;
}

int adviser_operators(struct adviser *adviser, const struct operators **out, struct error *err)
{
    struct analysis_filter filter = launching_process(&adviser->replay.events);
    int code;

    *out = &adviser->operators;
    if (adviser->has_operators)
        return 0;
    code = operators_read(&adviser->operators, adviser->report, &(struct analysis_request){ .filter = &filter }, err);
    if (code != 0 && code != ERR_NO_DATA)
        return code;
    adviser->has_operators = 1;
    if (code == 0 && operators_nest(&adviser->operators) != 0)
        return no_memory(err);
    return 0;
}

int adviser_changes(const struct adviser *adviser, const struct replay_call *call)
{
    return call->start_ns >= adviser->span.from_ns && call->start_ns < adviser->span.to_ns;
}

static int step_counts(const struct adviser *adviser, uint32_t step)
{
    return !adviser->steps->count || (step != NO_STEP && adviser->steps->list[step].is_chosen);
}

int adviser_counts(const struct adviser *adviser, const struct replay_call *call)
{
    return adviser_changes(adviser, call) && step_counts(adviser, adviser_step(adviser, call));
}

int adviser_counts_at(const struct adviser *adviser, int64_t thread, int64_t time_ns)
{
    return time_ns >= adviser->span.from_ns && time_ns < adviser->span.to_ns &&
           step_counts(adviser, steps_at(adviser->steps, global_process(thread), time_ns));
}

/* ---- causes ---------------------------------------------------------------------------------------------------- */

int adviser_find(struct adviser *adviser, const struct analysis *rule, struct error *err)
{
    size_t first = adviser->count;
    int code = advice_thresholds_read(adviser->thresholds, rule, adviser->options, err);

    if (code != 0 || !adviser->replay.graph.points)
        return code;
    code = rule->find(adviser, err);
    for (size_t i = first; i < adviser->count; i++) {
        adviser->causes[i].rule = rule;
        adviser->causes[i].least_percent = adviser->thresholds[THRESHOLD_SAVING];
    }
    return code;
}

int adviser_add(struct adviser *adviser, struct advice_cause *cause, struct error *err)
{
    int is_whole = !text_failed(&cause->what) && !text_failed(&cause->where) && !text_failed(&cause->rate);

    if (is_whole && !cause->bound.count && cause->confidence != ADVICE_TRY) {
        advice_cause_free(cause);
        return 0;
    }
    if (!is_whole ||
        array_reserve(&adviser->causes, &adviser->room, adviser->count + 1, sizeof *adviser->causes) != 0) {
        advice_cause_free(cause);
        return no_memory(err);
    }
    adviser->causes[adviser->count++] = *cause;
    return 0;
}

static int by_rank(const void *a, const void *b)
{
    const struct advice_cause *x = a, *y = b;

    if (x->rank_ns != y->rank_ns)
        return x->rank_ns < y->rank_ns ? 1 : -1;
    if (x->rule->is_general != y->rule->is_general)
        return x->rule->is_general ? 1 : -1;
    if (x->estimate_ns != y->estimate_ns)
        return x->estimate_ns < y->estimate_ns ? 1 : -1;
    if (x->bound_ns != y->bound_ns)
        return x->bound_ns < y->bound_ns ? 1 : -1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Sets an estimate to 0 if too little of it remains once the profiler took as much as it may have: then recording may
 * be what was found. */
static int doubt(struct adviser *adviser, struct advice_cause *cause, struct error *err)
{
    int64_t left_ns = INT64_MAX;
    int code = adviser->most.count ? saving_at_most(adviser, &cause->estimate, &left_ns, err) : 0;

    if (left_ns <= saturating_multiply(adviser->least_step_ns, cause->least_percent) / 100)
        cause->estimate_ns = 0;
    return code;
}

static int is_kept(const struct adviser *adviser, const struct advice_cause *cause, int64_t saving_ns)
{
    return cause->confidence == ADVICE_TRY ||
           saving_ns > saturating_multiply(adviser->step_ns, cause->least_percent) / 100;
}

/* An estimate is never more than the bound, also if the replay of other edits says so. */
static int judge(struct adviser *adviser, struct advice_cause *cause, struct error *err)
{
    int code = most_saving(adviser, &cause->bound, &cause->bound_ns, err);

    if (code != 0 || !is_kept(adviser, cause, cause->bound_ns))
        return code;
    if ((code = saving(adviser, &cause->estimate, &cause->estimate_ns, err)) != 0)
        return code;
    if (cause->estimate_ns > cause->bound_ns)
        cause->estimate_ns = cause->bound_ns;
    return doubt(adviser, cause, err);
}

/* A general cause ranks by what it saves in addition to all special ones, if that is less. */
static int rank(struct adviser *adviser, struct advice_cause *cause, struct error *err)
{
    struct replay_edits edits = { 0 };
    int64_t special_ns = 0, all_ns = 0;
    int code = 0;

    cause->rank_ns = cause->estimate_ns;
    if (!cause->rule->is_general)
        return 0;
    for (size_t i = 0; i < adviser->count && code == 0; i++)
        if (!adviser->causes[i].rule->is_general)
            code = replay_edits_add(&edits, &adviser->causes[i].estimate);
    if (code == 0 && edits.count && (code = saving(adviser, &edits, &special_ns, err)) == 0 &&
        (code = replay_edits_add(&edits, &cause->estimate)) == 0 &&
        (code = saving(adviser, &edits, &all_ns, err)) == 0 && saturating_subtract(all_ns, special_ns) < cause->rank_ns)
        cause->rank_ns = saturating_subtract(all_ns, special_ns);
    replay_edits_free(&edits);
    return code == ERR_NO_MEMORY ? no_memory(err) : code;
}

int adviser_judge(struct adviser *adviser, struct error *err)
{
    size_t kept = adviser->judged;
    int code;

    for (size_t i = adviser->judged; i < adviser->count; i++)
        if ((code = judge(adviser, &adviser->causes[i], err)) != 0)
            return code;
    for (size_t i = adviser->judged; i < adviser->count; i++) {
        struct advice_cause *cause = &adviser->causes[i];
        if (is_kept(adviser, cause, cause->estimate_ns))
            adviser->causes[kept++] = *cause;
        else
            advice_cause_free(cause);
    }
    adviser->count = adviser->judged = kept;
    for (size_t i = 0; i < kept; i++)
        if (!adviser->causes[i].where.length && (code = advice_find_where(adviser, &adviser->causes[i], err)) != 0)
            return code;
    for (size_t i = 0; i < kept; i++)
        if ((code = rank(adviser, &adviser->causes[i], err)) != 0)
            return code;
    if (kept)
        qsort(adviser->causes, kept, sizeof *adviser->causes, by_rank);
    return 0;
}

int adviser_combine(struct adviser *adviser, const struct advice_cause *const *causes, size_t count, int64_t *bound_ns,
                    int64_t *estimate_ns, struct error *err)
{
    struct replay_edits bound = { 0 }, estimate = { 0 };
    int code = 0;

    for (size_t i = 0; i < count; i++)
        if (replay_edits_add(&bound, &causes[i]->bound) != 0 ||
            replay_edits_add(&estimate, &causes[i]->estimate) != 0) {
            code = no_memory(err);
            goto free_edits;
        }
    if ((code = most_saving(adviser, &bound, bound_ns, err)) != 0 ||
        (code = saving(adviser, &estimate, estimate_ns, err)) != 0)
        goto free_edits;
    for (size_t i = 0; i < count; i++)
        *bound_ns = causes[i]->bound_ns > *bound_ns ? causes[i]->bound_ns : *bound_ns;
    *estimate_ns = *estimate_ns < *bound_ns ? *estimate_ns : *bound_ns;
free_edits:
    replay_edits_free(&bound);
    replay_edits_free(&estimate);
    return code;
}

int adviser_combine_first(struct adviser *adviser, size_t count, int64_t *bound_ns, int64_t *estimate_ns,
                          struct error *err)
{
    const struct advice_cause **first = malloc((count + 1) * sizeof *first);
    int code;

    count = count < adviser->count ? count : adviser->count;
    for (size_t i = 0; first && i < count; i++)
        first[i] = &adviser->causes[i];
    code = first ? adviser_combine(adviser, first, count, bound_ns, estimate_ns, err) : no_memory(err);
    free(first);
    return code;
}
