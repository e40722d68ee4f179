/* The schema as data, generated from schema.def. */
#include "schema.h"

#include <string.h>

#define IS_NOT_NULL .not_null = 1
#define IS_NULLABLE .not_null = 0
#define IS_KEY .not_null = 1, .key = 1
#define IS_EXTRA .extra = 1

#define TABLE(name, note) static const struct schema_column columns_of_##name[] = {
#define COLUMN_AS(table, field, text, column_type, null, words) \
    { .name = text, .type = COLUMN_##column_type, IS_##null, .note = words },
#define COLUMN(table, name, type, null, note) COLUMN_AS(table, name, #name, type, null, note)
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

const char *schema_last_row_key(const char *name)
{
    /* The kernel reuses thread ids within one capture, so a thread is identified by its id and its start. */
    static const struct {
        const char *table, *key;
    } keys[] = {
        { "TACHO_PROCESS", "globalPid, image" },
        { "TACHO_THREAD", "globalTid, start" },
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].table, name) == 0)
            return keys[i].key;
    return NULL;
}
