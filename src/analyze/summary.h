/* The shape that every "…_sum" report has: share, total, count, mean, median, least, greatest, deviation, and then
 * one or two columns that say of what. */
#ifndef TACHO_ANALYZE_SUMMARY_H
#define TACHO_ANALYZE_SUMMARY_H

#include "group.h"
#include "table.h"

/* A row before it is a row. The texts need not be terminated. */
struct summary_label {
    const char *kind; /* the column before the last, where the report has one: "PushPop" */
    const char *name;
    size_t name_length;
};

struct summary_shape {
    const char *count_name; /* "Instances", "Num Calls" */
    const char *kind_name;  /* "Style", or NULL for no such column */
    const char *name_name;  /* "Range", "Name" */
    /* Says what the group is; name must live until the next call. */
    void (*label)(void *context, const struct group *group, struct summary_label *out);
};

/* One row a group, largest total first, then by name. */
int summary_table(const struct summary_shape *shape, const struct group *groups, size_t count, void *context,
                  struct table **out, struct error *err);

#endif
