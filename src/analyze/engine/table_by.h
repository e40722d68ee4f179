/* Joins the tables of one report for several ranks or hosts: a row for each of them, and how far they are apart. */
#ifndef TACHO_ANALYZE_ENGINE_TABLE_BY_H
#define TACHO_ANALYZE_ENGINE_TABLE_BY_H

#include "base/error.h"
#include "table.h"

struct table_by_part {
    struct table *table; /* NULL: without data */
    /* The first column: a number, or a text where the request says so. -1 and NULL leave it empty. */
    int64_t number;
    const char *text;
};

struct table_by_request {
    const char *report;    /* its name */
    const char *label;     /* of the first column */
    int has_texts;         /* it holds texts */
    const char *spread[3]; /* names of the columns with the least, the median and the greatest figure */
    int64_t rows;          /* names to keep, each with all its rows; -1: all */
};

/* Rows of the same name (table_diff.h) follow each other, in the order of the parts; the name with the greatest sum
 * comes first. The spread is that of the figure that a comparison takes. A part that lacks a name has 0, if the figure
 * is a sum. A table of single events, which has their times, has no spread: its rows come part by part. ERR_NO_DATA if
 * no part has a table. */
int table_by_make(const struct table_by_part *parts, size_t count, const struct table_by_request *request,
                  struct table **out, struct error *err);

#endif
