/* Replays at the same time: see advice_trials.h. */
#include "advice_trials.h"

#include <stdlib.h>

#include "analyze/replay/replay_fork.h"
#include "base/array.h"

void advice_trials_free(struct advice_trials *trials)
{
    for (size_t i = 0; i < trials->fork_count; i++)
        replay_fork_free(&trials->forks[i]);
    free(trials->list);
}

int advice_trial_add(struct advice_trials *trials, const struct replay_edits *const *lists, int64_t *step_ns)
{
    struct advice_trial trial = { .step_ns = step_ns };

    for (size_t i = 0; i < TRIAL_LISTS && lists[i]; i++)
        trial.lists[i] = lists[i];
    return ARRAY_PUSH(trials->list, trials->room, trials->count, trial);
}

/* The time of a step in a replay with these lists, and as it was recorded. */
static int step_with(const struct adviser *adviser, struct replay *replay, const struct replay_edits *const *lists,
                     struct replay_step_times *times, struct error *err)
{
    struct replay_result result;
    int code;

    if ((code = replay_run_times(replay, lists, &result, err)) != 0 ||
        (code = replay_steps(replay, adviser->steps, times, err)) != 0)
        return code;
    if (!times->steps) /* the run is one */
        *times = (struct replay_step_times){ result.measured_ns, result.replayed_ns, 1 };
    return 0;
}

int adviser_replay(struct adviser *adviser, const struct replay_edits *edits, int64_t *out, struct error *err)
{
    struct replay_step_times times;
    int code = step_with(adviser, &adviser->replay, REPLAY_EDITS(&adviser->base, edits), &times, err);

    if (code != 0)
        return code;
    adviser->step_count = times.steps;
    adviser->recorded_ns = times.measured_ns;
    *out = times.replayed_ns;
    return 0;
}

/* Takes trials until none is left. A lane has a replay of its own. */
static void run_lane(void *argument, int worker, size_t lane)
{
    struct advice_trials *trials = argument;
    struct replay *replay = lane ? &trials->forks[lane - 1] : &trials->adviser->replay;
    size_t i;

    while ((i = atomic_fetch_add_explicit(&trials->next, 1, memory_order_relaxed)) < trials->count) {
        struct advice_trial *trial = &trials->list[i];
        struct replay_step_times times;
        trial->code = step_with(trials->adviser, replay, trial->lists, &times, NULL);
        if (trial->code == 0)
            *trial->step_ns = times.replayed_ns;
    }
}

/* As many as there are cores and trials for. Fewer do, too, if memory is short. */
static size_t open_lanes(struct advice_trials *trials)
{
    size_t workers = (size_t)report_workers(trials->adviser->report),
           lanes = workers < TRIAL_LANES ? workers : TRIAL_LANES;

    lanes = trials->count < lanes ? trials->count : lanes;
    while (trials->fork_count + 1 < lanes &&
           replay_fork(&trials->forks[trials->fork_count], &trials->adviser->replay) == 0)
        trials->fork_count++;
    return lanes < trials->fork_count + 1 ? lanes : trials->fork_count + 1;
}

int advice_trials_run(struct advice_trials *trials, struct error *err)
{
    int code = 0;

    atomic_store_explicit(&trials->next, 0, memory_order_relaxed);
    report_parallel_for(trials->adviser->report, open_lanes(trials), run_lane, trials);
    for (size_t i = 0; i < trials->count && code == 0; i++)
        code = trials->list[i].code;
    trials->count = 0;
    return code != 0 ? error_set(err, code, "not enough memory for the advice") : 0;
}
