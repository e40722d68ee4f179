/* Causes, and what rules need to find them: see adviser.h. */
#include <stdlib.h>

#include "adviser.h"
#include "analyze/model/torch/steps_read.h"
#include "base/array.h"
#include "base/cancel.h"

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

static int adviser_no_memory(struct error *err)
{
    return error_short_memory(err, "for the advice");
}

/* ---- the adviser ----------------------------------------------------------------------------------------------- */

int adviser_read_steps(struct adviser *adviser, const struct analysis_request *request, struct error *err)
{
    adviser->steps = &adviser->own_steps;
    if (request->filter && request->filter->steps) {
        adviser->steps = request->filter->steps;
        return 0;
    }
    int code = steps_read(&adviser->own_steps, adviser->report, &(struct steps_request){ .may_guess = 1 }, err);
    return code == ERR_NO_DATA ? 0 : code;
}

/* Reading the events of the replay and looking for steps do not depend on each other. */
struct adviser_opening {
    struct adviser *adviser;
    const struct analysis_request *request;
    const _Atomic int *stop; /* of the calling thread */
    struct error err[2];
    int code[2];
};

static void adviser_open_one(void *argument, int worker, size_t i)
{
    struct adviser_opening *opening = argument;
    struct adviser *adviser = opening->adviser;
    const _Atomic int *stop = cancel_flag();

    cancel_watch(opening->stop);
    opening->code[i] = i ? adviser_read_steps(adviser, opening->request, &opening->err[i])
                         : replay_events_read(&adviser->replay.events, adviser->report, &opening->err[i]);
    cancel_watch(stop);
}

static int read_both(struct adviser *adviser, const struct analysis_request *request, struct error *err)
{
    struct adviser_opening opening = { .adviser = adviser, .request = request, .stop = cancel_flag() };

    report_parallel_for(adviser->report, adviser->steps ? 1 : 2, adviser_open_one, &opening);
    for (int i = 0; i < 2; i++)
        if (opening.code[i] != 0)
            return error_set(err, opening.code[i], "%s", opening.err[i].text);
    return 0;
}

int adviser_open(struct adviser *adviser, struct report *report, const struct analysis_request *request,
                 struct error *err)
{
    int code;

    *adviser = (struct adviser){ .whole = report, .report = report, .span = { INT64_MIN, INT64_MAX } };
    if (request->span)
        adviser->span = *request->span;
    if ((code = adviser_open_window(adviser, request, err)) != 0 || (code = read_both(adviser, request, err)) != 0 ||
        (code = replay_build(&adviser->replay, adviser->report, err)) != 0 ||
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
    report_close(adviser->window);
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

int adviser_uses_torch(const struct adviser *adviser)
{
    return report_rows(adviser->whole, "TACHO_TORCH_OP") || report_rows(adviser->whole, "TACHO_TORCH_METADATA");
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
    int code;

    *out = &adviser->operators;
    if (adviser->has_operators)
        return 0;
    struct analysis_filter filter = launching_process(&adviser->replay.events);
    code = operators_read(&adviser->operators, adviser->report, &(struct analysis_request){ .filter = &filter }, err);
    if (code != 0 && code != ERR_NO_DATA)
        return code;
    adviser->has_operators = 1;
    if (code == 0 && operators_nest(&adviser->operators) != 0)
        return adviser_no_memory(err);
    return 0;
}

int adviser_changes(const struct adviser *adviser, const struct replay_call *call)
{
    return call->start_ns >= adviser->span.from_ns && call->start_ns < adviser->span.to_ns;
}

/* The mean step is taken without the warm-up. What is found in it would be counted for the other steps. */
static int step_counts(const struct adviser *adviser, uint32_t step)
{
    const struct step *list = adviser->steps->list;

    return !adviser->steps->count || (step != NO_STEP && list[step].is_chosen && !list[step].is_warm_up);
}

int adviser_counts(const struct adviser *adviser, const struct replay_call *call)
{
    return adviser_changes(adviser, call) && step_counts(adviser, adviser_step(adviser, call));
}

int adviser_counts_at(const struct adviser *adviser, int64_t thread, int64_t time_ns)
{
    return time_ns >= adviser->span.from_ns && time_ns < adviser->span.to_ns &&
           step_counts(adviser, steps_period_at(adviser->steps, global_process(thread), time_ns));
}

/* ---- causes ---------------------------------------------------------------------------------------------------- */

int adviser_find(struct adviser *adviser, const struct analysis *rule, struct error *err)
{
    size_t first = adviser->count;
    int code = advice_thresholds_read(adviser->thresholds, rule, adviser->options, err);

    if (code != 0 || !adviser->replay.graph.points)
        return code;
    code = adviser_rule(rule)->find(adviser, err);
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
        return adviser_no_memory(err);
    }
    adviser->causes[adviser->count++] = *cause;
    return 0;
}
