/* The bare step: how long a step takes while nothing is recorded, in a capture with --advise.
 *
 * TACHO_STEP_TIME has the time of every step. Most steps are only timed; the others are recorded and may take longer.
 * A capture without --advise has no such rows and no bare step. */
#ifndef TACHO_ANALYZE_MODEL_BARE_STEP_H
#define TACHO_ANALYZE_MODEL_BARE_STEP_H

#include "report/reader/reader.h"

enum step_phase { STEP_TIMED, STEP_TRACED, STEP_DETAILED, STEP_SETTLING, STEP_PHASES };

struct timed_step {
    int64_t thread, start_ns, end_ns, number;
    int64_t name; /* in the string pool: the mark of the steps */
    enum step_phase phase;
};

/* Starts from {0}. */
struct timed_steps {
    struct timed_step *list; /* owned; by thread, then by start */
    size_t count, room;
};
int timed_steps_read(struct timed_steps *steps, struct report *report, struct error *err);
/* Leaves steps that are alike. Steps by a mark that another one replaced are dropped: calls of a module are steps until
 * an optimizer shows that a step has several of them. Traced steps of more than twice the median settle, too. */
int timed_steps_settle(struct timed_steps *steps, struct error *err);
void timed_steps_free(struct timed_steps *steps);

/* Spans in which steps were only timed, so that nothing else was recorded: few, in any order. */
struct step_pauses {
    struct report_span *list; /* owned */
    size_t count, room;
};
int step_pauses_read(struct step_pauses *pauses, struct report *report, struct error *err);
void step_pauses_free(struct step_pauses *pauses);

/* Whether a span overlaps one of them. */
int step_pauses_overlap(const struct step_pauses *pauses, int64_t from_ns, int64_t to_ns);

struct bare_step {
    int64_t bare_ns, traced_ns;     /* the mean step of each phase, from mark to mark; 0: there is none */
    int64_t slow_ns;                /* nine of ten steps that were only timed take no longer; 0: there are none */
    size_t timed, traced, detailed; /* number of steps */
};

/* Of the thread with most steps. Steps are timed on the GPU where that sets the pace: the host runs ahead of it, and
 * its marks are closer to each other than the steps of the GPU. A mean leaves out stretches of up to 16 steps that take
 * more than twice as long as the median stretch: they hold an evaluation, a checkpoint or the warm-up. Such steps are
 * none of the slow ones either. */
int bare_step_read(struct bare_step *out, struct report *report, struct error *err);

#endif
