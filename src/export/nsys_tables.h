/* The parts of an export in nsys's schema besides the rows of a report: the columns of a table, the ENUM_ tables with
 * their values, and META_DATA_EXPORT. Shared by the exporters that use nsys's names of tables. */
#ifndef TACHO_EXPORT_NSYS_TABLES_H
#define TACHO_EXPORT_NSYS_TABLES_H

#include "export_options.h"
#include "report/schema/enums.h"
#include "report/schema/schema.h"

/* The schema's description of a column; NULL if the table is NULL or has no such column. */
const struct schema_column *nsys_column(const struct schema_table *known, const char *name);

/* The columns of a table that are exported, at most `most`; returns their number. A column of Tacho in a table of nsys
 * is left out if it has no values. */
size_t nsys_columns(struct report *report, const struct report_table *table, int *columns, size_t most);

/* Whether an empty table is exported too. */
int nsys_wants_empty(const struct export_options *options, enum table_id id);

/* Calls put() for each ENUM_ table, with all values by ascending id, also those that only an imported file has.
 * Without options->lazy these are all enums, else those that nsys always writes or that a table refers to for which
 * has_table() is true. */
struct nsys_enum_sink {
    int (*has_table)(void *context, const char *name);
    int (*put)(void *context, const struct schema_enum *list, struct error *err);
    void *context;
};
int nsys_enums(struct report *report, const struct export_options *options, const struct nsys_enum_sink *sink,
               struct error *err);

/* The rows of META_DATA_EXPORT: the schema that an export follows. */
#define NSYS_METADATA_NOTE "The schema that this file follows."
struct nsys_metadata {
    const char *name, *value;
};
extern const struct nsys_metadata nsys_metadata[]; /* ends with a name that is NULL */

#endif
