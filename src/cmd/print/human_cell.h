/* Numbers of tables for people: each with the unit that suits it. */
#ifndef TACHO_CMD_PRINT_HUMAN_CELL_H
#define TACHO_CMD_PRINT_HUMAN_CELL_H

#include "print.h"

/* Adds a cell that is a number and returns the columns that it takes. Durations (if the unit is time_unit_auto) and
 * sizes have four significant digits and a unit of two columns, so that they stay aligned: "436.9 µs", "1.250 s ".
 * Moments are seconds to the microsecond, so that they can be found on the timeline: "13.457512 s". */
size_t human_cell_add(struct text *out, const struct table_column *column, const struct table_cell *cell,
                      const struct print_time_unit *time);

/* Adds a bar of eighths of a block, filled to this fraction, and spaces to its width. */
void human_bar_add(struct text *out, double fraction, size_t width);

#endif
