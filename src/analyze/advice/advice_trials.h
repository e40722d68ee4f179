/* Replays that do not depend on each other, several at a time.
 *
 *     struct advice_trials trials = { .adviser = adviser };
 *     code = advice_trial_add(&trials, REPLAY_EDITS(&adviser->base, &edits), &step_ns);
 *     …
 *     code = advice_trials_run(&trials, err);     (sets each step_ns; then further ones may be added)
 *     advice_trials_free(&trials); */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_TRIALS_H
#define TACHO_ANALYZE_ADVICE_ADVICE_TRIALS_H

#include <stdatomic.h>

#include "adviser.h"

/* Lists of edits in a trial, and trials at a time: each but one has a fork of the replay. */
enum { TRIAL_LISTS = 3, TRIAL_LANES = 4 };

struct advice_trial {
    const struct replay_edits *lists[TRIAL_LISTS + 1]; /* end with NULL */
    int64_t *step_ns;
    int code;
};

/* Starts from {0} with an adviser. */
struct advice_trials {
    struct adviser *adviser;
    struct advice_trial *list; /* owned */
    size_t count, room;
    struct replay forks[TRIAL_LANES - 1];
    size_t fork_count;
    _Atomic size_t next; /* of the trials that wait */
};
void advice_trials_free(struct advice_trials *trials);

/* lists: at most TRIAL_LISTS, and NULL. They must stay until the run. ERR_NO_MEMORY or 0. */
int advice_trial_add(struct advice_trials *trials, const struct replay_edits *const *lists, int64_t *step_ns);
/* Replays all that were added since the last run. */
int advice_trials_run(struct advice_trials *trials, struct error *err);

#endif
