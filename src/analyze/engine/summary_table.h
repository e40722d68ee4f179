/* The shape of every "…_sum" report: share, total, count, mean, median, least, greatest, deviation, and then one to
 * three columns that name the group. For sizes it is the same in megabytes, without the share. */
#ifndef TACHO_ANALYZE_ENGINE_SUMMARY_TABLE_H
#define TACHO_ANALYZE_ENGINE_SUMMARY_TABLE_H

#include "group.h"
#include "table.h"

enum { SUMMARY_TEXTS = 3 };

/* A text need not be terminated. */
struct summary_text {
    const char *bytes;
    size_t length;
};

struct summary_shape {
    const char *count_name;                /* "Instances", "Num Calls" */
    const char *text_names[SUMMARY_TEXTS]; /* "Style", "Range": as many as there are, the name last */
    /* Names the group; the texts must live until the next call. */
    void (*label)(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS]);
    int of_sizes; /* the numbers are bytes */
    /* Distinguishes groups with the same texts where several processes summarize parts of a set; NULL: there are none.
     * The text must live until the next call. */
    struct summary_text (*identify)(void *context, const struct group *group);
};

/* One row a group, largest total first, then by name. */
int summary_table(const struct summary_shape *shape, const struct group *groups, size_t count, void *context,
                  struct table **out, struct error *err);

#endif
