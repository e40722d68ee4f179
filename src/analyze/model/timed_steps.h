/* The steps of a capture that only timed some of them: TACHO_STEP_TIME has the time of each. With --advise most are
 * only timed, else a few (probes); the others are recorded and may take longer. Other captures have no such rows. */
#ifndef TACHO_ANALYZE_MODEL_TIMED_STEPS_H
#define TACHO_ANALYZE_MODEL_TIMED_STEPS_H

#include "report/reader/reader.h"

enum { STEP_FAR_OFF = 2 }; /* a time of more than this many medians does not count */
/* A lowered step lacks operators or CUDA, to keep the cost of recording low. */
enum step_phase { STEP_TIMED, STEP_TRACED, STEP_LOWERED, STEP_DETAILED, STEP_SETTLING, STEP_PHASES };

struct timed_step {
    int64_t thread, start_ns, end_ns, number;
    int64_t name;   /* in the string pool: the mark of the steps */
    enum step_phase phase;
    uint32_t marks; /* of a step; all of a thread have as many */
};

/* Starts from {0}. timed_rounds_settle() leaves those that are alike. */
struct timed_steps {
    struct timed_step *list; /* owned; by thread, then by start */
    size_t count, room;
};
int timed_steps_read(struct timed_steps *steps, struct report *report, struct error *err);
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

#endif
