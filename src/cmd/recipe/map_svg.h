/* A map of rank and time as a picture. */
#ifndef TACHO_CMD_RECIPE_MAP_SVG_H
#define TACHO_CMD_RECIPE_MAP_SVG_H

#include "analyze/engine/table.h"
#include "base/text.h"

/* Adds an SVG document: for each column in percent a band of rows, one a rank, process and GPU. The table is one of the
 * ..._util_map reports, by lane and then by time, with the column Rank. It is readable on light and dark pages. */
void map_svg(struct text *out, const struct table *table, const char *title);

#endif
