/* A map of rank and time as a picture. */
#ifndef TACHO_COMPAT_RECIPES_MAP_SVG_H
#define TACHO_COMPAT_RECIPES_MAP_SVG_H

#include "analyze/engine/table.h"
#include "base/text.h"

/* Adds an SVG document: a row for each rank, process and device, in bands: one for each column in percent, or, if the
 * table has a column Metric, one for each metric. The rows of the table have the columns Start, Duration and Rank;
 * those of a lane follow each other, and all lanes have the same times. The picture is readable on light and dark
 * pages. */
void map_svg(struct text *out, const struct table *table, const char *title);

#endif
