/* --share: the processes of a job divide the reports of a set, and one of them prints (set/set_share.h).
 *
 * Every process opens the whole set, so that clocks, filters and numbers are the same in all, and computes the partial
 * results of its parts of it. Reports that cannot be divided are run by the process that prints. */
#ifndef TACHO_CMD_RUN_SHARE_H
#define TACHO_CMD_RUN_SHARE_H

#include "analyze/engine/analysis.h"
#include "option.h"
#include "set/set_share.h"

struct run_share_settings {
    const char *what;   /* "": what the launcher says; "N", "K/N", "merge/N"; NULL: nothing is divided */
    const char *folder; /* NULL: beside the reports */
    const char *wait;   /* seconds; NULL: as long as seems right */
    uint64_t request;   /* hash of the command line, in so far as it is the same in all processes */
};

/* The rows of these options for a command's table. */
#define SHARE_OPTIONS(type, member)                                                                                    \
    { .name = "share", .kind = OPTION_TEXT, .offset = offsetof(type, member.what), .value = "[N|K/N|merge/N]",         \
      .choices = run_share_choices,                                                                                    \
      .help = "Divide the reports of a folder among the processes that a launcher (srun, mpirun) started; the last "   \
              "one prints. N: their number, where the launcher does not tell it. K/N: compute share K, from 0, and "   \
              "print nothing. merge/N: print, and compute the shares that are missing." },                             \
    { .name = "share-folder", .kind = OPTION_TEXT, .offset = offsetof(type, member.folder), .value = "FOLDER",         \
      .help = "Folder for the shares, which all processes can write to. Default: .tacho-share-JOB in the folder of "   \
              "the reports." },                                                                                        \
    { .name = "share-wait", .kind = OPTION_TEXT, .offset = offsetof(type, member.wait), .value = "SECONDS",            \
      .help = "Wait this long for processes that have not finished, before their shares are computed again. Default: " \
              "ten times what the own share took, at least 60." }

/* For completion. */
const char *const *run_share_choices(void);

enum run_share_phase { PHASE_COLLECT, PHASE_MERGE };

struct run_share {
    struct set_share exchange;
    enum run_share_phase phase;
    struct report *whole, *chosen; /* chosen: the parts of the share that is computed; NULL: it has none */
    struct text folder, *shares;   /* the partial results of each share, one after another */
    size_t *at;                    /* by share: where the next result is read */
    size_t computed;               /* the share that is computed */
};

/* Whether a launcher started this process as one of those that divide the work. */
int run_share_is_of_job(const struct run_share_settings *settings);
/* Whether this process is the first of all: only it prints the messages that all of them could print on stderr. */
int run_share_is_first(const struct run_share_settings *settings);

/* Finds the place of this process. `operand` is the first of the command line. Returns 1 if there is nothing left to
 * do. */
int run_share_open(struct run_share *share, const struct run_share_settings *settings, struct report *whole,
                   const char *operand, struct error *err);
void run_share_close(struct run_share *share);

/* Computes all that this process has to: compute() runs each report on the share. Returns 1 if another process
 * prints. */
int run_share_compute(struct run_share *share, int (*compute)(void *context, struct error *err), void *context,
                      struct error *err);

/* Whether a report is divided. */
int run_share_divides(const struct run_share *share, const struct analysis *analysis);

/* In place of analysis_run(), for a report that is divided: while shares are computed, without a table. */
int run_share_analysis(struct run_share *share, const struct analysis *analysis, const struct analysis_request *request,
                       struct table **out, struct error *err);

#endif
