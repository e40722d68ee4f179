/* A table of texts as ncu prints its lists: a line of dashes above and below the heading. */
#ifndef TACHO_COMPAT_NCU_LIST_COLUMNS_H
#define TACHO_COMPAT_NCU_LIST_COLUMNS_H

#include "base/text.h"

enum { LIST_COLUMNS_MOST = 5 };

struct list_columns {
    size_t count;
    size_t indent;     /* blanks before each line */
    int is_page;       /* as in a page of counters: right-aligned but for the first column, and dashes at the end */
    size_t width[LIST_COLUMNS_MOST];
    struct text cells; /* row by row, each NUL-terminated; the first row is the heading */
    size_t rows;
};

void list_columns_add(struct list_columns *columns, const char *const *cells);
/* Adds the table and empties it. */
void list_columns_print(struct list_columns *columns, struct text *out);

#endif
