/* Sets cells to texts in the forms in which analyses have them. Each function copies the text into the table and
 * returns 0 or ERR_NO_MEMORY. */
#ifndef TACHO_ANALYZE_ENGINE_CELL_TEXT_H
#define TACHO_ANALYZE_ENGINE_CELL_TEXT_H

#include <string.h>

#include "base/text.h"
#include "report/reader/reader.h"
#include "table.h"

/* A string that ends with a NUL. */
static inline int cell_set_string(struct table *table, struct table_cell *cell, const char *string)
{
    return cell_set_text(table, cell, string, strlen(string));
}

/* A text that was built piece by piece. This is also the check that building it did not fail. */
static inline int cell_set_built(struct table *table, struct table_cell *cell, const struct text *built)
{
    return text_failed(built) ? ERR_NO_MEMORY : cell_set_text(table, cell, text_string(built), built->length);
}

/* A string of the report's pool, by its id. */
static inline int cell_set_pooled(struct table *table, struct table_cell *cell, struct report *report, int64_t id)
{
    size_t length;
    const char *bytes = report_string(report, id, &length);

    return cell_set_text(table, cell, bytes, length);
}

#endif
