/* A second run of a replay at the same time, on another thread: it shares all that a run only reads, and has lags and
 * times of its own.
 *
 * An edge takes 8 bytes, and a point 8 once it ran. The replay must outlive its forks, and know the steps of its calls
 * (replay_steps()) if forks are asked for their steps. */
#ifndef TACHO_ANALYZE_REPLAY_REPLAY_FORK_H
#define TACHO_ANALYZE_REPLAY_REPLAY_FORK_H

#include "replay.h"

/* ERR_NO_MEMORY or 0. No run of the replay may be under way. */
int replay_fork(struct replay *fork, const struct replay *replay);
void replay_fork_free(struct replay *fork);

#endif
