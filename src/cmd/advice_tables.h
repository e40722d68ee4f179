/* The rows of advice_sum as people read them: savings per step and findings of the whole run are two tables, because
 * their times cannot be compared. */
#ifndef TACHO_CMD_ADVICE_TABLES_H
#define TACHO_CMD_ADVICE_TABLES_H

#include "analyze/engine/table.h"
#include "base/error.h"

struct advice_table {
    const char *title;
    struct table *table; /* owned; its texts are those of the whole table */
};
enum { ADVICE_TABLES = 2 };

/* The groups that have rows, in the order of their first rows. Sets *count; advice_tables_free() frees them. */
int advice_tables_read(struct advice_table groups[ADVICE_TABLES], size_t *count, const struct table *advice,
                       struct error *err);
void advice_tables_free(struct advice_table groups[ADVICE_TABLES], size_t count);

#endif
