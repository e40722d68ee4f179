/* Columns, enums and metadata of exports in nsys's schema. */
#include "nsys_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"

const struct nsys_metadata nsys_metadata[] = {
    { "EXPORT_PRODUCT_NAME", "Tacho" },
    { "EXPORT_PRODUCT_VERSION", TACHO_VERSION },
    { "EXPORT_SCHEMA_VERSION", "3.20.3" },
    { "EXPORT_SCHEMA_VERSION_MAJOR", "3" },
    { "EXPORT_SCHEMA_VERSION_MINOR", "20" },
    { "EXPORT_SCHEMA_VERSION_MICRO", "3" },
    { "EXPORT_SCHEMA_VERSION_CKSUM", "4021079525 170230" },
    { NULL, NULL },
};

/* ---- tables ---------------------------------------------------------------------------------------------------- */

const struct schema_column *nsys_column(const struct schema_table *known, const char *name)
{
    for (size_t i = 0; known && i < known->column_count; i++)
        if (strcmp(known->columns[i].name, name) == 0)
            return &known->columns[i];
    return NULL;
}

static int nsys_tables_find_value(void *context, int worker, const struct report_block *block)
{
    for (size_t r = 0; r < block->rows; r++)
        if (!block_is_null(block, 0, r))
            return ERR_CANCELLED; /* enough is known */
    return 0;
}

static int nsys_tables_has_values(struct report *report, const struct report_table *table, int column)
{
    struct error err;

    return report_scan(report, table, &column, 1, NULL, nsys_tables_find_value, NULL, &err) != 0;
}

size_t nsys_columns(struct report *report, const struct report_table *table, int *columns, size_t most)
{
    int id = schema_find(table->name);
    size_t count = 0;

    for (size_t c = 0; c < table->column_count && count < most; c++) {
        const struct schema_column *note = nsys_column(id < 0 ? NULL : &schema_tables[id], table->columns[c].name);
        if (!note || !note->extra || nsys_tables_has_values(report, table, (int)c))
            columns[count++] = (int)c;
    }
    return count;
}

/* With lazy only the table that nsys never leaves out. */
int nsys_wants_empty(const struct export_options *options, enum table_id id)
{
    const char *name = schema_tables[id].name;

    return strncmp(name, "TACHO_", 6) != 0 && export_wants_table(options, name) &&
           (!options->lazy || id == TABLE_META_DATA_CAPTURE);
}

/* ---- enums ----------------------------------------------------------------------------------------------------- */

/* nsys writes these whether a table refers to them or not. */
static int is_always_there(const char *name)
{
    static const char *const starts[] = { "ENUM_NSYS_",     "ENUM_CUDA_",       "ENUM_CUPTI_",     "ENUM_STACK_",
                                          "ENUM_SAMPLING_", "ENUM_SCHEDULING_", "ENUM_DIAGNOSTIC_" };

    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return 1;
    return 0;
}

static int is_referred_to(const struct nsys_enum_sink *sink, const char *name)
{
    char reference[128];

    snprintf(reference, sizeof reference, "REFERENCES %s(", name);
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (!sink->has_table(sink->context, schema_tables[i].name))
            continue;
        for (size_t c = 0; c < schema_tables[i].column_count; c++)
            if (strncmp(schema_tables[i].columns[c].note, reference, strlen(reference)) == 0)
                return 1;
    }
    return 0;
}

/* A value of an imported file, from its table TACHO_ENUM. */
struct foreign_value {
    const char *list; /* NULL: already written */
    struct schema_enum_value value;
};

struct foreign_values {
    struct foreign_value *items;
    size_t count, room;
};

static const char *text_or_null(struct report *report, const struct row_cursor *rows, size_t column)
{
    return row_is_null(rows, column) ? NULL : report_string(report, row_int(rows, column), NULL);
}

static int read_foreign(struct report *report, const struct export_options *options, struct foreign_values *out,
                        struct error *err)
{
    enum { LIST, ID, NAME, LABEL };
    static const char *const names[] = { "enumName", "id", "name", "label", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, "TACHO_ENUM", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const char *list = text_or_null(report, &rows, LIST);
        if (!list || strncmp(list, "ENUM_", 5) != 0 || !export_wants_table(options, list))
            continue;
        if (ARRAY_PUSH(out->items, out->room, out->count,
                       (struct foreign_value){
                           list,
                           { row_int(&rows, ID), text_or_null(report, &rows, NAME),
                             text_or_null(report, &rows, LABEL) },
                       }) != 0 &&
            (code = error_no_memory(err)) != 0)
            goto close_rows;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* Puts a value at its place; a value with the same id is replaced. */
static void merge_value(struct schema_enum_value *values, size_t *count, const struct schema_enum_value *value)
{
    size_t at = 0;

    while (at < *count && values[at].id < value->id)
        at++;
    if (at == *count || values[at].id != value->id)
        memmove(&values[at + 1], &values[at], ((*count)++ - at) * sizeof *values);
    values[at] = *value;
}

/* Hands an enum to the sink, together with the foreign values of the same name. */
static int put_merged(const struct schema_enum *list, struct foreign_values *foreign, const struct nsys_enum_sink *sink,
                      struct error *err)
{
    struct schema_enum_value *values = malloc((list->count + foreign->count + 1) * sizeof *values);
    size_t count = list->count;

    if (!values)
        return error_no_memory(err);
    if (count)
        memcpy(values, list->values, count * sizeof *values);
    for (size_t i = 0; i < foreign->count; i++)
        if (foreign->items[i].list && strcmp(foreign->items[i].list, list->name) == 0) {
            merge_value(values, &count, &foreign->items[i].value);
            foreign->items[i].list = NULL;
        }
    int code = sink->put(sink->context, &(struct schema_enum){ list->name, list->note, values, count }, err);
    free(values);
    return code;
}

static int has_foreign(const struct foreign_values *foreign, const char *name)
{
    for (size_t i = 0; i < foreign->count; i++)
        if (foreign->items[i].list && strcmp(foreign->items[i].list, name) == 0)
            return 1;
    return 0;
}

static int nsys_tables_put_all(const struct export_options *options, struct foreign_values *foreign,
                               const struct nsys_enum_sink *sink, struct error *err)
{
    int code;

    for (size_t i = 0; i < ENUM_COUNT; i++) {
        const char *name = schema_enums[i].name;
        if (!export_wants_table(options, name) ||
            (options->lazy && !is_always_there(name) && !is_referred_to(sink, name) && !has_foreign(foreign, name)))
            continue;
        if ((code = put_merged(&schema_enums[i], foreign, sink, err)) != 0)
            return code;
    }
    for (size_t i = 0; i < foreign->count; i++) {
        const struct schema_enum list = { .name = foreign->items[i].list, .note = "Of the imported file." };
        if (list.name && (code = put_merged(&list, foreign, sink, err)) != 0)
            return code;
    }
    return 0;
}

int nsys_enums(struct report *report, const struct export_options *options, const struct nsys_enum_sink *sink,
               struct error *err)
{
    struct foreign_values foreign = { 0 };
    int code;

    if ((code = read_foreign(report, options, &foreign, err)) != 0)
        goto free_foreign;
    code = nsys_tables_put_all(options, &foreign, sink, err);
free_foreign:
    free(foreign.items);
    return code;
}
