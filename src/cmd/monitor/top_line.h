/* A line of a limited width, put together from pieces. Text that does not fit is cut with an ellipsis. */
#ifndef TACHO_CMD_MONITOR_TOP_LINE_H
#define TACHO_CMD_MONITOR_TOP_LINE_H

#include "base/text.h"

struct top_line {
    struct text *out;
    size_t width, left, start; /* columns; the place in `out` at which the line begins */
    int has_colour, has_utf8;
};

#define TOP_PLAIN ""
#define TOP_BOLD "1"
#define TOP_DIM "2"
#define TOP_RED "31"

void top_line_begin(struct top_line *line);
void top_line_end(struct top_line *line);

/* Adds text in a style. Control characters are spelt out, as by display_add(). */
void top_line_put(struct top_line *line, const char *style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void top_line_spaces(struct top_line *line, size_t count);

/* Adds a bar, filled to this share, and a row of small bars, the newest value at its end. Values: 0 to 100; NaN: none.
 */
void top_line_bar(struct top_line *line, double percent, size_t columns);
void top_line_history(struct top_line *line, const double *percents, size_t count, size_t columns);

#endif
