/* The window of a capture of which it would take too long to find all steps. */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_PROBES_H
#define TACHO_ANALYZE_ADVICE_ADVICE_PROBES_H

#include "adviser.h"

struct advice_probe {
    struct report_span span; /* whole steps */
    struct steps steps;      /* owned by the caller; of the span and a little around it; none: nothing repeats */
    size_t steps_of_run;
};

/* share: of the GPU's work, that a window has. */
int advice_probe(struct advice_probe *out, struct report *report, double share, struct error *err);

/* The time in the middle of the GPU's work that has this share of it: programs begin with what is not typical of them.
 * ERR_NO_DATA: there is no work. */
int advice_middle_of_work(struct report *report, double share, struct report_span *span);

#endif
