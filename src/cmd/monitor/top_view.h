/* The text of `tacho top`, for a screen or for a pipe. */
#ifndef TACHO_CMD_MONITOR_TOP_VIEW_H
#define TACHO_CMD_MONITOR_TOP_VIEW_H

#include "top_model.h"

#define TOP_LAST SIZE_MAX

struct top_look {
    size_t columns, rows; /* rows 0: no limit */
    int has_colour, has_utf8;
    int is_live;          /* on a screen: with keys in the title */
    int has_help;         /* the keys in place of the processes */
    size_t first;         /* process at the top of the list; at most that of the last page, which TOP_LAST stays at */
    int64_t interval_us;
};

/* Adds the lines. Returns how many processes there was room for. */
size_t top_view_add(struct text *out, const struct top_model *model, const struct top_look *look);

/* Adds the round as an object of JSON and a line feed, in base units. */
void top_json_add(struct text *out, const struct top_model *model);

#endif
