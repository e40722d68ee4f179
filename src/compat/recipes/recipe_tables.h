/* The tables of recipes: those of each rank one below the other, and paces turned into a column a rank. */
#ifndef TACHO_COMPAT_RECIPES_RECIPE_TABLES_H
#define TACHO_COMPAT_RECIPES_RECIPE_TABLES_H

#include "analyze/engine/analysis.h"
#include "cmd/selection.h"

/* A rank: a report, or the rows of one rank in a report of several. */
struct recipe_rank {
    size_t part;
    int64_t kept;   /* the rank, where the part has several; -1: all of the part */
    int64_t number; /* the number that is shown */
};

/* A set of reports and its ranks. */
struct recipe_set {
    struct report *report;     /* the caller's */
    struct recipe_rank *ranks; /* owned */
    size_t count, room;
    int is_by_place;           /* the data does not say one number each: the numbers are places from 0 on */
    struct selection_part part;
};

int recipe_set_open(struct recipe_set *set, struct report *report, const struct selection_part_settings *part,
                    struct error *err);
void recipe_set_close(struct recipe_set *set);
/* Gives the part both ends: those of the set where it has none. */
void recipe_set_limit(struct recipe_set *set);

/* Rank, File and Host of each rank. */
int recipe_files_table(const struct recipe_set *set, struct table **out, struct error *err);

/* The analysis of all ranks together. ERR_NO_DATA, with a sentence, if there is nothing to analyse. */
int recipe_whole_table(const struct recipe_set *set, const struct selection_item *item, struct table **out,
                       struct error *err);
/* The analysis of each rank for itself, with the column Rank; by device: for each GPU of each rank, with the column
 * Device ID too. ERR_NO_DATA if no rank has any. */
int recipe_rank_table(const struct recipe_set *set, const struct selection_item *item, int by_device,
                      struct table **out, struct error *err);

/* One column of a pace's table as a matrix, a row an iteration and a column a rank; NULL if memory is short. The names
 * of columns live in `names`, which the caller frees after the table. */
struct text;
struct table *recipe_pace_matrix(const struct table *pace, size_t column, struct text *names);
/* Figures of the column over the ranks, a row an iteration. */
struct table *recipe_pace_stats(const struct table *pace, size_t column);
/* Figures of durations and deltas over all. */
struct table *recipe_pace_sum(const struct table *pace);

#endif
