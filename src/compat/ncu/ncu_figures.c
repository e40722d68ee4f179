#include "ncu_figures.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Metrics that ncu holds as integers; all others are real numbers, also where they count blocks or passes. */
static const char *const integers[] = {
    "launch__block_dim_?",          "launch__cluster_max_potential_size",
    "launch__registers_per_thread", "launch__sm_count",
    "launch__thread_count",         "smsp__pcsamp_warps_*",
    "smsp__pcsamp_aggregated_*",    "inst_executed*",
    "thread_inst_executed*",        "derived__avg_thread_exec*",
    "derived__derivative_*",        "memory_*",
};

static int is_integer(const char *metric)
{
    for (size_t i = 0; i < COUNT_OF(integers); i++)
        if (fnmatch(integers[i], metric, 0) == 0)
            return 1;
    return 0;
}

enum { MOST_DIGITS = 400 };

/* Rounds half to even, as ncu's printf does: 116.625 is 116.62. */
static void add_grouped(struct text *out, double value, int decimals)
{
    char digits[MOST_DIGITS];

    snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
    size_t whole = strcspn(digits, ".");
    if (value < 0)
        text_add_char(out, '-');
    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0)
            text_add_char(out, ',');
        text_add_char(out, digits[i]);
    }
    text_add(out, digits + whole);
}

void ncu_figure_add(struct text *out, double value)
{
    add_grouped(out, value, value == floor(value) ? 0 : 2);
}

void ncu_figure_add_mean(struct text *out, double value)
{
    add_grouped(out, value, 2);
}

void ncu_figure_add_scaled(struct text *out, const char *metric, double value, double size)
{
    text_addf(out, "%.*f", size == 1 && is_integer(metric) ? 0 : 6, value / size);
}
