/* Numbers as ncu prints them. */
#ifndef TACHO_COMPAT_NCU_NCU_FIGURES_H
#define TACHO_COMPAT_NCU_NCU_FIGURES_H

#include "base/text.h"

/* With separators of thousands; a whole number without decimals, others with two. */
void ncu_figure_add(struct text *out, double value);
/* With separators of thousands and always two decimals, as in summaries. */
void ncu_figure_add_mean(struct text *out, double value);
/* A cell of a raw page with scaled units: six decimals, no separators; no decimals for a metric that is an integer and
 * has its base unit. */
void ncu_figure_add_scaled(struct text *out, const char *metric, double value, double size);

#endif
