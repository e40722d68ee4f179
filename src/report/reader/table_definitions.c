/* Makes the tables of a report: definitions from the schema chunks, then assigns the chunks of rows to their tables. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reader_state.h"

#define MAX_DEFINITIONS 4096
#define MAX_SCHEMA_BYTES ((size_t)16 << 20) /* of all schema chunks together */

struct table_defs_name {
    const uint8_t *bytes;
    size_t length;
};

/* A name in the file has only letters, digits and _, so that it never needs quotes. */
static struct table_defs_name table_defs_take_name(struct format_cursor *cursor)
{
    uint64_t length = cursor_varint(cursor);
    const uint8_t *bytes = length >= 1 && length <= 255 ? cursor_take(cursor, length) : NULL;
    for (uint64_t i = 0; bytes && i < length; i++) {
        uint8_t c = bytes[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9' && i)))
            bytes = NULL;
    }
    if (!bytes)
        cursor->failed = 1;
    return (struct table_defs_name){ bytes, bytes ? (size_t)length : 0 };
}

static int same_name(const char *known, struct table_defs_name name)
{
    return *known == (char)*name.bytes && !strncmp(known, (const char *)name.bytes, name.length) && !known[name.length];
}

struct reader_table *reader_table_add(struct report *report, const char *name)
{
    struct reader_table *table = arena_alloc_zero(&report->arena, sizeof *table);
    if (!table || array_reserve(&report->tables, &report->table_capacity, report->table_count + 1, sizeof table) != 0 ||
        intern_add_borrowed(&report->table_names, name, strlen(name)) != (int64_t)report->table_count)
        return NULL;
    table->public.name = name;
    table->public.first_ns = INT64_MAX;
    table->public.last_ns = INT64_MIN;
    report->tables[report->table_count++] = table;
    return table;
}

struct reader_table *reader_table_find(const struct report *report, const char *name, size_t length)
{
    int64_t number = intern_find(&report->table_names, name, length);
    return number < 0 ? NULL : report->tables[number];
}

/* The table of that name, created if there is none; NULL if out of memory. */
static struct reader_table *table_defs_add_table(struct report *report, struct table_defs_name name)
{
    struct reader_table *table = reader_table_find(report, (const char *)name.bytes, name.length);
    char *copy = table ? NULL : arena_copy(&report->arena, name.bytes, name.length);
    return copy ? reader_table_add(report, copy) : table;
}

/* The table's column of that name, added if it is new; -1 if an older definition gave it another type. */
static int table_defs_add_column(struct report *report, struct reader_table *table, struct table_defs_name name,
                                 enum column_type type)
{
    size_t count = table->public.column_count;
    for (size_t i = 0; i < count; i++)
        if (same_name(table->columns[i].name, name))
            return table->columns[i].type == type ? (int)i : -1;
    char *copy = arena_copy(&report->arena, name.bytes, name.length);
    if (!copy || count >= TABLE_MAX_COLUMNS ||
        array_reserve(&table->columns, &table->column_capacity, count + 1, sizeof *table->columns) != 0)
        return -1;
    table->columns[count] = (struct report_column){ copy, type };
    table->public.columns = table->columns;
    table->public.column_count = count + 1;
    table->has_time |= type == COLUMN_TIME;
    return (int)count;
}

static const struct reader_definition *table_defs_find_definition(const struct report *report, uint16_t id)
{
    for (size_t i = 0; i < report->definition_count; i++)
        if (report->definitions[i]->id == id)
            return report->definitions[i];
    return NULL;
}

/* A repeated definition (a second copy of the schema) is ignored. */
static void skip_columns(struct format_cursor *cursor, uint64_t columns)
{
    for (uint64_t i = 0; i < columns && !cursor->failed; i++) {
        table_defs_take_name(cursor);
        cursor_u8(cursor);
    }
}

static void parse_columns(struct report *report, struct format_cursor *cursor, struct reader_definition *definition)
{
    struct reader_table *table = definition->table;
    if (array_reserve(&table->columns, &table->column_capacity, definition->column_count, sizeof *table->columns) != 0)
        cursor->failed = 1;
    for (size_t i = 0; i < definition->column_count; i++) {
        struct table_defs_name name = table_defs_take_name(cursor);
        uint8_t type = cursor_u8(cursor);
        if (cursor->failed)
            return;
        if (type == COLUMN_TIME && definition->time_column < 0)
            definition->time_column = (int)i;
        definition->table_column[i] = type > COLUMN_STRING ? -1
                                                           : table_defs_add_column(report, definition->table, name,
                                                                                   (enum column_type)type);
    }
}

static void parse_definition(struct report *report, struct format_cursor *cursor)
{
    uint64_t id = cursor_varint(cursor);
    struct table_defs_name name = table_defs_take_name(cursor);
    uint64_t columns = cursor_varint(cursor);
    if (id > UINT16_MAX || columns < 1 || columns > TABLE_MAX_COLUMNS)
        cursor->failed = 1;
    if (cursor->failed)
        return;
    if (table_defs_find_definition(report, (uint16_t)id)) {
        skip_columns(cursor, columns);
        return;
    }
    struct reader_definition *definition = arena_alloc_zero(&report->arena, sizeof *definition);
    int *table_column = arena_alloc(&report->arena, columns * sizeof *table_column);
    struct reader_table *table = table_defs_add_table(report, name);
    if (!definition || !table_column || !table || report->definition_count >= MAX_DEFINITIONS ||
        array_reserve(&report->definitions, &report->definition_capacity, report->definition_count + 1,
                      sizeof definition) != 0) {
        cursor->failed = 1;
        return;
    }
    *definition = (struct reader_definition){
        .id = (uint16_t)id, .table = table, .column_count = columns, .table_column = table_column, .time_column = -1
    };
    parse_columns(report, cursor, definition);
    if (!cursor->failed)
        report->definitions[report->definition_count++] = definition;
}

static int read_schema(struct report *report, struct reader_scratch *scratch, const struct reader_found_chunk *found)
{
    struct chunk_header header;
    int code;
    if ((code = reader_chunk_read_at(report, found->offset, found->size, scratch, &header)) != 0)
        return code;
    if (report->schema_hash && header.payload_hash == report->schema_hash) /* the second copy of the first one */
        return 0;
    const uint8_t *payload = scratch->chunk + CHUNK_HEADER_SIZE;
    struct format_cursor cursor = { payload, payload + header.payload_size, 0 };
    struct format_cursor sizes = { 0 };
    uint64_t sizes_length = cursor_varint(&cursor);
    sizes.at = cursor_take(&cursor, sizes_length);
    if (!sizes.at)
        return ERR_CORRUPT;
    sizes.end = sizes.at + sizes_length;
    uint64_t raw = cursor_varint(&sizes), stored = cursor_varint(&sizes);
    const uint8_t *bytes = cursor_take(&cursor, stored);
    if (sizes.failed || !bytes || stored > raw || raw > MAX_SCHEMA_BYTES - report->schema_bytes)
        return ERR_CORRUPT;
    report->schema_bytes += raw;
    uint8_t *text = malloc(raw + 1);
    if (!text)
        return ERR_NO_MEMORY;
    struct format_cursor definitions = { text, text + raw, 0 };
    if ((code = unpack(&report->host, bytes, stored, text, raw)) != 0)
        goto free_text;
    for (uint32_t i = 0; i < header.rows && !definitions.failed; i++)
        parse_definition(report, &definitions);
    if (definitions.failed)
        code = ERR_CORRUPT;
    else if (!report->schema_hash)
        report->schema_hash = header.payload_hash;
free_text:
    free(text);
    return code;
}

/* Can the header's claims about the rows be true? The ids of strings must match first and last. */
static int header_plausible(const struct chunk_header *header, const struct reader_definition *definition)
{
    if (!definition || !header->rows)
        return 0;
    if (strcmp(definition->table->public.name, STRING_TABLE))
        return 1;
    return header->first >= 0 && header->last >= header->first && header->last < INT64_MAX &&
           (uint64_t)(header->last - header->first) + 1 == header->rows;
}

static int table_defs_add_chunk(struct report *report, const struct reader_found_chunk *found)
{
    const struct chunk_header *header = &found->header;
    const struct reader_definition *definition = table_defs_find_definition(report, header->table);
    if (!header_plausible(header, definition)) {
        report->damaged_chunks++;
        report->damaged_bytes += found->size;
        return 0;
    }
    struct reader_table *table = definition->table;
    if (ARRAY_PUSH(table->chunks, table->chunk_capacity, table->chunk_count,
                   (struct reader_chunk){
                       .offset = found->offset,
                       .size = found->size,
                       .rows = header->rows,
                       .definition = definition,
                       .first = header->first,
                       .last = header->last,
                       .first_row = table->public.rows,
                   }) != 0)
        return ERR_NO_MEMORY;
    table->public.rows += header->rows;
    table->public.packed_bytes += found->size;
    if (table->has_time && header->first <= header->last) {
        table->public.first_ns = header->first < table->public.first_ns ? header->first : table->public.first_ns;
        table->public.last_ns = header->last > table->public.last_ns ? header->last : table->public.last_ns;
    }
    return 0;
}

/* A damaged schema chunk is counted; the file has a second copy. */
static int read_schemas(struct report *report, struct reader_scratch *scratch)
{
    for (size_t i = 0; i < report->found_count; i++) {
        if (report->found[i].header.kind != CHUNK_SCHEMA)
            continue;
        int code = read_schema(report, scratch, &report->found[i]);
        if (code == ERR_CORRUPT) {
            report->damaged_chunks++;
            report->damaged_bytes += report->found[i].size;
        } else if (code != 0)
            return code;
    }
    return 0;
}

int report_make_tables(struct report *report, struct error *err)
{
    struct reader_scratch *scratch = reader_scratch_take(report);
    if (!scratch)
        return error_no_memory(err);
    int code = read_schemas(report, scratch);
    reader_scratch_give(report, scratch);
    if (code != 0)
        return error_set(err, code, "%s", error_name(code));
    for (size_t i = 0; i < report->found_count; i++)
        if (report->found[i].header.kind == CHUNK_ROWS && (code = table_defs_add_chunk(report, &report->found[i])) != 0)
            return error_set(err, code, "%s", error_name(code));
    return 0;
}
