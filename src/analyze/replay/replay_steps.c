/* The time of a step in a replay: see replay.h. */
#include <stdlib.h>

#include "replay.h"

/* When each step was complete, measured and replayed. */
struct completion {
    int64_t measured_ns, replayed_ns;
};

static void extend(struct completion *completion, int64_t measured_ns, int64_t replayed_ns)
{
    if (measured_ns > completion->measured_ns)
        completion->measured_ns = measured_ns;
    if (replayed_ns > completion->replayed_ns)
        completion->replayed_ns = replayed_ns;
}

/* The last point of a thread up to this time; its number is below `end` if there is one. */
static uint32_t last_point(const struct replay *replay, const struct replay_thread *thread, int64_t time_ns)
{
    uint32_t low = replay_call_start(thread->first), first = low, high = replay_call_start(thread->end);

    while (low < high) { /* points of a thread are in order */
        uint32_t middle = low + (high - low) / 2;
        if (replay->graph.time[middle] <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > first ? low - 1 : UINT32_MAX;
}

/* A step ends as long after the last point of its process as it was measured to. */
static void end_step(const struct replay *replay, const struct step *step, struct completion *completion)
{
    uint32_t last = UINT32_MAX;

    for (uint32_t i = 0; i < replay->events.thread_count; i++) {
        const struct replay_thread *thread = &replay->events.threads[i];
        if (global_process(thread->id) != step->process)
            continue;
        uint32_t point = last_point(replay, thread, step->end_ns);
        if (point != UINT32_MAX && (last == UINT32_MAX || replay->graph.time[point] > replay->graph.time[last]))
            last = point;
    }
    int64_t shift = last == UINT32_MAX ? 0 : saturating_subtract(replay->times[last], replay->graph.time[last]);
    extend(completion, step->end_ns, saturating_add(step->end_ns, shift));
}

static void end_work(const struct replay *replay, const struct steps *steps, struct completion *list)
{
    const struct replay_events *events = &replay->events;

    for (uint32_t i = 0; i < events->work_count; i++) {
        if (events->works[i].call == NO_CALL)
            continue;
        const struct replay_call *call = &events->calls[events->works[i].call];
        uint32_t step = steps_at(steps, global_process(events->threads[call->thread].id), call->start_ns);
        if (step != NO_STEP)
            extend(&list[step], replay->graph.time[replay_work_end(replay, i)],
                   replay->times[replay_work_end(replay, i)]);
    }
}

int replay_steps(const struct replay *replay, const struct steps *steps, struct replay_step_times *out,
                 struct error *err)
{
    struct completion *list = malloc((steps->count + 1) * sizeof *list);
    double measured = 0, replayed = 0;
    size_t intervals = 0, steady = 0;

    *out = (struct replay_step_times){ 0 };
    if (!list)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the steps");
    for (size_t i = 0; i < steps->count; i++) {
        list[i] = (struct completion){ INT64_MIN, INT64_MIN };
        end_step(replay, &steps->list[i], &list[i]);
        steady += !steps->list[i].is_warm_up;
    }
    end_work(replay, steps, list);
    for (size_t i = 1; i < steps->count; i++) {
        if (steps->list[i].process != steps->list[i - 1].process || steps->list[i].is_warm_up)
            continue;
        measured += (double)saturating_duration(list[i - 1].measured_ns, list[i].measured_ns);
        replayed += (double)saturating_duration(list[i - 1].replayed_ns, list[i].replayed_ns);
        intervals++;
    }
    if (intervals)
        *out = (struct replay_step_times){ saturating_from_double(measured / (double)intervals),
                                           saturating_from_double(replayed / (double)intervals), steady };
    free(list);
    return 0;
}
