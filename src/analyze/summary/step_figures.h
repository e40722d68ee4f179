/* The figures of a mean step that the summary opens with, on the terminal, as HTML and in the timeline. */
#ifndef TACHO_ANALYZE_SUMMARY_STEP_FIGURES_H
#define TACHO_ANALYZE_SUMMARY_STEP_FIGURES_H

#include "analyze/advice/adviser.h"

/* Percent, negative: not known. Steps of the warm-up do not count; without steps, it is the whole report. */
struct step_figures {
    double busy;                   /* of the time in which a GPU had work; the mean of all GPUs */
    double mfu, hfu, peak;         /* peak: FLOP/s of a GPU */
    double tensor, tensor_unknown; /* of the time of kernels: on tensor cores; not known whether */
};

/* peaks: those to use, as for gpu_peaks_read(); may be NULL. */
struct step_figures step_figures_of(const struct adviser *adviser, const char *peaks);

#endif
