/* Where steps come from: the part of steps.h that steps.c alone calls. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_STEPS_FIND_H
#define TACHO_ANALYZE_MODEL_TORCH_STEPS_FIND_H

#include "analyze/model/steps.h"

/* Fills the list, in any order, and the source; ERR_NO_DATA, with a sentence, if there are none. */
int steps_find(struct steps *steps, struct report *report, const struct steps_request *request, struct error *err);

/* Gives the steps, which are in order, their numbers. */
void steps_number(struct steps *steps, struct report *report, const struct steps_request *request);

#endif
