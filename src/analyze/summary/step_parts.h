/* The parts of a step, which add up to its time: the columns of step_breakdown in words. */
#ifndef TACHO_ANALYZE_SUMMARY_STEP_PARTS_H
#define TACHO_ANALYZE_SUMMARY_STEP_PARTS_H

#include "analyze/engine/table.h"
#include "analyze/idle/gap_causes.h"
#include "analyze/model/steps.h"

/* Work on GPUs, then the causes for which they are idle. */
struct step_part {
    const char *column; /* of step_breakdown */
    const char *name;   /* of work on GPUs; NULL: that of the cause, see step_part_name() */
    const char *kind;   /* of work: compute, communication or copies; of a cause: its colour in html_summary */
    int cause;          /* enum gap_cause, or STEP_PART_BUSY */
};
enum { STEP_PARTS = 19, STEP_PART_BUSY = -1 };
extern const struct step_part step_parts[STEP_PARTS];
static inline const char *step_part_name(const struct step_part *part)
{
    return part->cause == STEP_PART_BUSY ? part->name : gap_cause_names[part->cause];
}

/* The time of each part in the mean of the steps that count: those of the warm-up do not, unless there are no others,
 * as for the other figures of a mean step (step_figures.h). table: step_breakdown; steps: of the report. */
void step_parts_mean(double out[STEP_PARTS], const struct table *table, const struct steps *steps);

#endif
