/* From a list of metrics to counters that CUPTI counts together. */
#ifndef TACHO_GPU_COUNTERS_COUNTERS_CHOICE_H
#define TACHO_GPU_COUNTERS_COUNTERS_CHOICE_H

#include "counters_list.h"

struct counters_choice {
    const char **names; /* CUPTI's, each once; they belong to the list */
    size_t count;
    struct counters_config config;
};

/* Metrics that do not go with the others are left out, and a frame says so (GPU_FRAME_MISSING); is_single: those that
 * would need a second pass, too. Returns CUPTI's result. Free the choice in any case. */
int counters_choose(struct counters_list *list, int is_single, struct counters_choice *choice);
void counters_choice_free(struct counters_choice *choice);

#endif
