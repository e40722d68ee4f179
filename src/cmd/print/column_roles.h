/* The role of a column on a terminal: its place, its rank and its heading. */
#ifndef TACHO_CMD_PRINT_COLUMN_ROLES_H
#define TACHO_CMD_PRINT_COLUMN_ROLES_H

#include "analyze/engine/table.h"

enum column_role { ROLE_PLAIN, ROLE_LEAD, ROLE_SHARE, ROLE_SIGNED, ROLE_PATH, ROLE_SENTENCE };

struct column_view {
    const char *heading;
    int rank;                                 /* how soon a narrow terminal drops the column: the highest goes first */
    enum column_role role;
};
enum { RANK_OF_BAR = 4, RANK_OF_EQUAL = 10 }; /* EQUAL: a column that is the same in all rows */

struct column_view column_view(const struct table_column *column);

/* The column that stands first: the one with ROLE_LEAD, else the names of events, else the first text, else the first
 * of all. */
size_t column_lead(const struct table *table);

#endif
