/* `tacho diff --advice`: the findings that a change removed, the gain that each promised, and the gain that the change
 * delivered. */
#ifndef TACHO_CMD_DIFF_DIFF_ADVICE_H
#define TACHO_CMD_DIFF_DIFF_ADVICE_H

#include "analyze/findings/findings.h"
#include "analyze/model/steps/bare_step.h"

/* One run. Starts from {0}; free it before the report is closed. */
struct diff_advice_side {
    struct adviser adviser;
    struct findings findings;
    struct bare_step bare;
};
int diff_advice_side_read(struct diff_advice_side *side, struct report *report, const struct analysis_request *part,
                          struct error *err);
void diff_advice_side_free(struct diff_advice_side *side);

/* The state of a finding after the change. */
enum diff_advice_state {
    ADVICE_GONE,
    ADVICE_REMAINS,
    ADVICE_NEW,
    ADVICE_NOT_CHECKED, /* it was there, and the run after it lacks the data of its rule */
    DIFF_ADVICE_STATES
};

/* Starts from {0}. */
struct diff_advice {
    struct diff_advice_side *before, *after;
    int is_bare;                   /* both steps are those without a profiler */
    int has_steps;                 /* else the times are those of the GPU's part of the run */
    int64_t before_ns, after_ns;   /* the mean step; 0: one of them is not known */
    size_t gone;                   /* findings with a saving that are gone */
    int64_t bound_ns, estimate_ns; /* their joint promise per step */
    struct table *steps, *changes; /* owned: the step, and a row for each finding */
};

int diff_advice_make(struct diff_advice *diff, struct diff_advice_side *before, struct diff_advice_side *after,
                     struct error *err);
void diff_advice_free(struct diff_advice *diff);

/* Adds the lines below the tables: the gain that was promised, the gain that was delivered, and the next finding. */
void diff_advice_notes(struct text *out, const struct diff_advice *diff);

#endif
