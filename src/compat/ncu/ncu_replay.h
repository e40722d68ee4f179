/* tacho ncu --replay-mode application: the program runs once for each group of metrics that one pass counts. */
#ifndef TACHO_COMPAT_NCU_NCU_REPLAY_H
#define TACHO_COMPAT_NCU_NCU_REPLAY_H

#include "ncu_command.h"

enum { NCU_RUNS_MOST = 64 };

struct ncu_groups {
    char *metrics[NCU_RUNS_MOST]; /* owned; the names, with commas between them */
    size_t count;
};

/* Divides the metrics of the settings into groups of one pass each, for the first GPU. */
int ncu_replay_groups(struct ncu_groups *groups, const struct ncu_settings *settings, struct error *err);
void ncu_replay_free(struct ncu_groups *groups);

/* Adds the values of other runs to a report. Launches belong together by their order; if a run has others, that is the
 * error, and the report stays as it was. */
int ncu_replay_merge(const char *path, const char *const *others, size_t count, struct error *err);

#endif
