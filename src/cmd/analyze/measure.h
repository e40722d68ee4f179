/* --measure: times the alternative of each modelled cause on the GPU of this machine, for the shapes of the capture,
 * and replaces the model by the measurement. */
#ifndef TACHO_CMD_ANALYZE_MEASURE_H
#define TACHO_CMD_ANALYZE_MEASURE_H

#include "analyze/advice/adviser.h"

struct measure_settings {
    const char *python; /* the program that has torch */
};

/* Measures, and judges the causes of the adviser again. Adds a row to *out for each operator that was timed, or could
 * not be; *out is NULL if no cause is modelled. ERR_UNSUPPORTED, with a sentence, where torch or a GPU is missing. */
int measure_causes(struct adviser *adviser, const struct measure_settings *settings, struct table **out,
                   struct error *err);

/* Runs the Python program on these lines: measure_program.c. */
int measure_run(const struct measure_settings *settings, const struct text *lines, struct text *out, struct error *err);

#endif
