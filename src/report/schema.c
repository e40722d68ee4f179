/* The schema as data, generated from schema.def. */
#include "schema.h"

#include <string.h>

#define NOT_NULL 1
#define NULLABLE 0

#define TABLE(name, note) static const struct schema_column columns_of_##name[] = {
#define COLUMN(table, name, type, null, note) {#name, COLUMN_##type, null, note},
#define TABLE_END(name) };
#include "schema.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END

const struct schema_table schema_tables[TABLE_COUNT] = {
#define TABLE(name, note) {#name, note, columns_of_##name, sizeof columns_of_##name / sizeof *columns_of_##name},
#define COLUMN(table, name, type, null, note)
#define TABLE_END(name)
#include "schema.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END
};

int schema_find(const char *name)
{
    for (int i = 0; i < TABLE_COUNT; i++)
        if (!strcmp(schema_tables[i].name, name))
            return i;
    return -1;
}
