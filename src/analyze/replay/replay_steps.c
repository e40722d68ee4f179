/* The time of a step in a replay: see replay.h. */
#include <stdlib.h>

#include "base/array.h"
#include "replay.h"

/* When each step was complete, measured and replayed. */
struct completion {
    int64_t measured_ns, replayed_ns;
};

static void replay_steps_extend(struct completion *completion, int64_t measured_ns, int64_t replayed_ns)
{
    if (measured_ns > completion->measured_ns)
        completion->measured_ns = measured_ns;
    if (replayed_ns > completion->replayed_ns)
        completion->replayed_ns = replayed_ns;
}

/* The last point of a thread up to this time; it has one. */
static uint32_t last_point(const struct replay *replay, const struct replay_thread *thread, int64_t time_ns)
{
    uint32_t first = replay_call_start(thread->first), end = replay_call_start(thread->end);

    return BISECT(first, end, i, replay_measured(replay, i) <= time_ns) - 1; /* points of a thread are in order */
}

/* Finds the last point of a thread in each step in which, or before which, it has any. A thread with few calls takes
 * few searches, however many steps there are. */
static void find_last_points(const struct replay *replay, const struct replay_thread *thread, const struct steps *steps,
                             uint32_t *last)
{
    const struct step_process *own = steps_of(steps, global_process(thread->id));
    uint32_t point = replay_call_start(thread->first), end = replay_call_start(thread->end);

    if (!own || !own->count || steps->list[own->first].process != own->process)
        return;
    while (point < end) {
        size_t step = steps_from(steps, own, saturating_subtract(replay_measured(replay, point), 1));
        if (step == own->first + own->count)
            return;
        point = last_point(replay, thread, steps->list[step].end_ns);
        if (last[step] == UINT32_MAX || replay_measured(replay, point) > replay_measured(replay, last[step]))
            last[step] = point;
        point++;
    }
}

/* A step ends as long after the last point of its process as it was measured to. last: by step; a step without a point
 * has that of the step before it. */
static void end_steps(const struct replay *replay, const struct steps *steps, uint32_t *last, struct completion *list)
{
    for (size_t i = 0; i < steps->count; i++)
        last[i] = UINT32_MAX;
    for (uint32_t i = 0; i < replay->events.thread_count; i++)
        find_last_points(replay, &replay->events.threads[i], steps, last);
    for (size_t i = 0; i < steps->count; i++) {
        if (last[i] == UINT32_MAX && i && steps->list[i].process == steps->list[i - 1].process)
            last[i] = last[i - 1];
        int64_t shift = last[i] == UINT32_MAX
                            ? 0
                            : saturating_subtract(replay_replayed(replay, last[i]), replay_measured(replay, last[i])),
                end_ns = steps->list[i].end_ns;
        list[i] = (struct completion){ end_ns, saturating_add(end_ns, shift) };
    }
}

/* Calls of a thread come by their start, and so do steps. */
static int find_steps_of_calls(struct replay *replay, const struct steps *steps)
{
    const struct replay_events *events = &replay->events;
    uint32_t step = NO_STEP;

    if (replay->step_of || !steps->count)
        return 0;
    replay->step_of = array_alloc(events->call_count + 1u, sizeof *replay->step_of);
    if (!replay->step_of)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < events->call_count; i++) {
        const struct replay_call *call = &events->calls[i];
        int is_same = step != NO_STEP && call->thread == call[-1].thread &&
                      call->start_ns >= steps->list[step].start_ns && call->start_ns < steps->list[step].end_ns;
        if (!is_same)
            step = steps_period_at(steps, global_process(events->threads[call->thread].id), call->start_ns);
        replay->step_of[i] = step;
    }
    return 0;
}

static void replay_steps_end_work(const struct replay *replay, const struct steps *steps, struct completion *list)
{
    const struct replay_events *events = &replay->events;

    for (uint32_t i = 0; steps->count && i < events->work_count; i++) {
        uint32_t call = events->works[i].call, step = call == NO_CALL ? NO_STEP : replay->step_of[call];
        if (step != NO_STEP)
            replay_steps_extend(&list[step], events->works[i].end_ns,
                                replay_replayed(replay, replay_work_end(replay, i)));
    }
}

int replay_steps(struct replay *replay, const struct steps *steps, struct replay_step_times *out, struct error *err)
{
    struct completion *list = malloc((steps->count + 1) * sizeof *list);
    uint32_t *last = malloc((steps->count + 1) * sizeof *last);
    double measured = 0, replayed = 0;
    size_t intervals = 0, steady = 0;

    *out = (struct replay_step_times){ 0 };
    if (!list || !last || find_steps_of_calls(replay, steps) != 0) {
        free(list);
        free(last);
        return error_short_memory(err, "for the steps");
    }
    for (size_t i = 0; i < steps->count; i++)
        steady += !steps->list[i].is_warm_up;
    end_steps(replay, steps, last, list);
    replay_steps_end_work(replay, steps, list);
    for (size_t i = 1; i < steps->count; i++) {
        if (steps->list[i].process != steps->list[i - 1].process || steps->list[i].is_warm_up)
            continue;
        measured += (double)saturating_duration(list[i - 1].measured_ns, list[i].measured_ns);
        replayed += (double)saturating_duration(list[i - 1].replayed_ns, list[i].replayed_ns);
        intervals++;
    }
    if (intervals && measured > 0) /* times of a damaged file may run backwards */
        *out = (struct replay_step_times){ saturating_from_double(measured / (double)intervals),
                                           saturating_from_double(replayed > 0 ? replayed / (double)intervals : 0),
                                           steady };
    free(list);
    free(last);
    return 0;
}
