/* Recipes: reports over a set of files, under the names and with the files that nsys's recipes have. */
#ifndef TACHO_COMPAT_RECIPES_RECIPES_H
#define TACHO_COMPAT_RECIPES_RECIPES_H

#include "analyze/engine/analysis.h"
#include "base/error.h"
#include "cmd/foreign_rep.h"
#include "cmd/selection.h"

/* The files that a recipe makes, besides files.csv. */
enum recipe_shape {
    RECIPE_SUMS,           /* all_stats, rank_stats */
    RECIPE_SUMS_BY_DEVICE, /* the same, rank_stats_by_device */
    RECIPE_SUMS_BY_GPU,    /* all_stats, stats_by_gpu */
    RECIPE_LIST,           /* analysis: rows of each rank */
    RECIPE_TRACE,          /* trace: the same */
    RECIPE_OVERLAP,        /* rank_trace, grouped_trace */
    RECIPE_MAP,            /* analysis, heatmap.svg */
    RECIPE_PACE,           /* pace_start, pace_end, …, stats */
    RECIPE_WHOLE,          /* analysis: all ranks together */
    RECIPE_DIFF,           /* all_stats: the difference of two inputs */
    RECIPE_SKIPPED,        /* none */
};

struct recipe {
    const char *group, *name;
    enum recipe_shape shape;
    const char *analysis;             /* the report or rule; NULL: none */
    const char *help;                 /* one line */
};
extern const struct recipe recipes[]; /* ends with one without a name */

/* NULL if there is none. */
const struct recipe *recipe_find(const char *name);
/* Why there is nothing to run; NULL: it runs. */
const char *recipe_refusal(const struct recipe *recipe);

struct recipe_settings {
    struct option_list inputs;
    const char *output;
    int csv, force_overwrite, quiet;
    const char *name, *bins, *rows, *gap, *chunks, *threshold; /* options of reports; NULL: not given */
    struct selection_part_settings part;
    struct foreign_rep_settings input;
};

/* Runs a recipe on these files, folders and patterns, and writes its files. The sentences for the user are added to
 * `said`. */
int recipe_run(const struct recipe *recipe, const struct recipe_settings *settings, const char *const *inputs,
               size_t count, struct text *said, struct error *err);

#endif
