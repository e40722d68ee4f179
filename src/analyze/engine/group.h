/* Group-by: numbers under keys, collected by many workers without locks, merged into exact figures.
 *
 * Each worker of report_scan() adds to a part of its own; groups_finish() joins the parts. The figures do not depend on
 * the number of workers; the order of the groups does, so callers sort them before they show them. */
#ifndef TACHO_ANALYZE_ENGINE_GROUP_H
#define TACHO_ANALYZE_ENGINE_GROUP_H

#include "base/error.h"
#include "statistics.h"

struct group_key {
    int64_t part[4];
};

struct group {
    struct group_key key;
    uint64_t hash;
    struct statistics figures;
    double median;                   /* after groups_finish() */
    struct statistics_piece *pieces; /* the one being filled is first */
    int64_t *next, *end;             /* its place for the next number; its `used` is set when the group is joined */
};

struct groups;

struct groups *groups_new(int workers);
void groups_delete(struct groups *groups);

/* Adds a number; ERR_NO_MEMORY or 0. One thread at a time per worker. */
int groups_add(struct groups *groups, int worker, const struct group_key *key, int64_t value);

/* Merges the workers' parts and computes the medians. map, which may be NULL, replaces keys before the merge: groups
 * that then have the same key become one. The groups are valid until groups_delete(). */
int groups_finish(struct groups *groups, void (*map)(void *context, struct group_key *key), void *context,
                  struct group **out, size_t *count, struct error *err);

#endif
