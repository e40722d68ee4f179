/* Where steps come from. steps_read() asks each source in turn, until one finds steps. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_STEPS_READ_STATE_H
#define TACHO_ANALYZE_MODEL_TORCH_STEPS_READ_STATE_H

#include "analyze/model/steps/gpu_sequences.h"
#include "steps_read.h"

struct steps_search {
    struct steps *steps;
    struct report *report;
    const struct steps_request *request;
    struct gpu_launches *launches;  /* owned, as the next one */
    struct gpu_sequences sequences; /* the sequences that the guesses compare with: all launches, with their grids */
    size_t room;                    /* in the list of the steps */
};

/* A source adds its steps, in any order, and sets steps->source. It adds none if the report has none of its kind. */
int steps_find_named(struct steps_search *search, struct error *err);   /* by names, or as the request defines them */
int steps_find_marked(struct steps_search *search, struct error *err);  /* by what PyTorch calls once a step */
int steps_find_looped(struct steps_search *search, struct error *err);  /* by launches that come again and again */

int steps_find_graphs(struct steps_search *search, struct error *err);  /* by launches of a graph */
int steps_find_in_turn(struct steps_search *search, struct error *err); /* by kernels that come once in each */

int steps_add(struct steps_search *search, const struct step *step, struct error *err);

#endif
