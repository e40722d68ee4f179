/* A table as a Parquet file, as pandas, DuckDB, Spark and nsys's notebooks read it. */
#ifndef TACHO_COMPAT_RECIPES_PARQUET_TABLE_H
#define TACHO_COMPAT_RECIPES_PARQUET_TABLE_H

#include "analyze/engine/table.h"
#include "base/text.h"

/* Adds the whole file. Columns have the names that CSV has, times are in ns; empty cells are null. ERR_NO_MEMORY or 0.
 */
int parquet_table(struct text *out, const struct table *table);

#endif
