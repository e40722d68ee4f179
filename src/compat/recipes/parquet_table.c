/* The simplest form of Parquet that its readers know: no compression, plain values, one page for each column of a group
 * of rows. The headers are structs of Thrift's compact protocol: a field is a byte with its distance from the field
 * before and its type, then the value; numbers are zigzag varints; a byte 0 ends a struct. */
#include "parquet_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/utf8.h"
#include "cmd/print/print.h"

enum { ROWS_OF_GROUP = 1 << 17 };
enum thrift_type { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };
enum { TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 }; /* Parquet's types of columns */
enum { OPTIONAL = 1, UTF8 = 0, UNCOMPRESSED = 0, DATA_PAGE = 0, PLAIN = 0, RLE = 3 };
#define MAGIC "PAR1"

/* A page that was written. */
struct parquet_page {
    uint64_t offset, size;
};

/* ---- Thrift -----------------------------------------------------------------------------------------------------*/

static void parquet_table_add_number(struct text *out, int64_t value)
{
    text_add_varint(out, zigzag(value));
}

/* The number of a field is at most 15 above the last one. */
static void begin_field(struct text *out, int *last, int field, enum thrift_type type)
{
    text_add_char(out, (char)((field - *last) << 4 | (int)type));
    *last = field;
}

static void parquet_table_add_field(struct text *out, int *last, int field, enum thrift_type type, int64_t value)
{
    begin_field(out, last, field, type);
    parquet_table_add_number(out, value);
}

static void parquet_table_add_bytes(struct text *out, const char *bytes, size_t length)
{
    text_add_varint(out, length);
    text_add_bytes(out, bytes, length);
}

static void begin_list(struct text *out, int *last, int field, enum thrift_type type, size_t count)
{
    begin_field(out, last, field, THRIFT_LIST);
    if (count < 15) {
        text_add_char(out, (char)(count << 4 | (size_t)type));
        return;
    }
    text_add_char(out, (char)(15 << 4 | (int)type));
    text_add_varint(out, count);
}

static void end_struct(struct text *out)
{
    text_add_char(out, 0);
}

/* ---- pages ------------------------------------------------------------------------------------------------------*/

/* Runs of cells that have a value and of those that do not; as bytes, after their number. */
static void add_levels(struct text *out, const struct table *table, size_t column, size_t first, size_t count)
{
    struct text runs = { 0 };

    for (size_t i = 0; i < count;) {
        int has_value = table_row(table, first + i)[column].kind != CELL_NONE;
        size_t end = i;
        while (end < count && (table_row(table, first + end)[column].kind != CELL_NONE) == has_value)
            end++;
        text_add_varint(&runs, (end - i) << 1);
        text_add_char(&runs, (char)has_value);
        i = end;
    }
    text_add_little_endian(out, runs.length, 4);
    text_add_bytes(out, text_string(&runs), runs.length);
    text_free(&runs);
}

static int parquet_table_type_of(const struct table_column *column)
{
    return column->kind == CELL_TEXT ? TYPE_BYTE_ARRAY : column->kind == CELL_REAL ? TYPE_DOUBLE : TYPE_INT64;
}

static void parquet_table_add_value(struct text *out, const struct table_cell *cell, int type)
{
    union {
        double real;
        uint64_t bits;
    } number = { .bits = 0 };

    if (type == TYPE_BYTE_ARRAY) {
        struct text valid = { 0 };
        if (cell->kind == CELL_TEXT)
            utf8_add(&valid, cell->text.bytes, cell->text.length);
        text_add_little_endian(out, valid.length, 4);
        text_add_bytes(out, text_string(&valid), valid.length);
        text_free(&valid);
        return;
    }
    if (type == TYPE_DOUBLE)
        number.real = cell->kind == CELL_REAL ? cell->real : (double)cell->integer;
    else
        number.bits = cell->kind == CELL_REAL ? (uint64_t)(int64_t)cell->real : (uint64_t)cell->integer;
    text_add_little_endian(out, number.bits, 8);
}

static void add_page_header(struct text *out, size_t size, size_t rows)
{
    int last = 0, inner = 0;

    parquet_table_add_field(out, &last, 1, THRIFT_I32, DATA_PAGE);
    parquet_table_add_field(out, &last, 2, THRIFT_I32, (int64_t)size);
    parquet_table_add_field(out, &last, 3, THRIFT_I32, (int64_t)size);
    begin_field(out, &last, 5, THRIFT_STRUCT);
    parquet_table_add_field(out, &inner, 1, THRIFT_I32, (int64_t)rows);
    parquet_table_add_field(out, &inner, 2, THRIFT_I32, PLAIN);
    parquet_table_add_field(out, &inner, 3, THRIFT_I32, RLE);
    parquet_table_add_field(out, &inner, 4, THRIFT_I32, RLE);
    end_struct(out);
    end_struct(out);
}

static struct parquet_page parquet_table_add_page(struct text *out, const struct table *table, size_t column,
                                                  size_t first, size_t count)
{
    int type = parquet_table_type_of(&table_columns(table)[column]);
    struct parquet_page page = { .offset = out->length };
    struct text data = { 0 };

    add_levels(&data, table, column, first, count);
    for (size_t i = 0; i < count; i++)
        if (table_row(table, first + i)[column].kind != CELL_NONE)
            parquet_table_add_value(&data, &table_row(table, first + i)[column], type);
    add_page_header(out, data.length, count);
    text_add_bytes(out, text_string(&data), data.length);
    text_free(&data);
    page.size = out->length - page.offset;
    return page;
}

/* ---- what the file says about itself ----------------------------------------------------------------------------*/

static void parquet_table_add_schema(struct text *out, int *last, const struct table *table)
{
    const struct table_column *columns = table_columns(table);
    size_t count = table_column_count(table);
    int field = 0;

    begin_list(out, last, 2, THRIFT_STRUCT, count + 1);
    begin_field(out, &field, 4, THRIFT_BINARY);
    parquet_table_add_bytes(out, "schema", 6);
    parquet_table_add_field(out, &field, 5, THRIFT_I32, (int64_t)count);
    end_struct(out);
    for (size_t c = 0; c < count; c++) {
        struct text name = { 0 };
        print_header(&name, &columns[c], &time_unit_ns);
        field = 0;
        parquet_table_add_field(out, &field, 1, THRIFT_I32, parquet_table_type_of(&columns[c]));
        parquet_table_add_field(out, &field, 3, THRIFT_I32, OPTIONAL);
        begin_field(out, &field, 4, THRIFT_BINARY);
        parquet_table_add_bytes(out, text_string(&name), name.length);
        if (parquet_table_type_of(&columns[c]) == TYPE_BYTE_ARRAY)
            parquet_table_add_field(out, &field, 6, THRIFT_I32, UTF8);
        end_struct(out);
        text_free(&name);
    }
}

static void add_column_chunk(struct text *out, const struct table_column *column, const struct parquet_page *page,
                             size_t rows)
{
    struct text name = { 0 };
    int field = 0, inner = 0;

    print_header(&name, column, &time_unit_ns);
    parquet_table_add_field(out, &field, 2, THRIFT_I64, (int64_t)page->offset);
    begin_field(out, &field, 3, THRIFT_STRUCT);
    parquet_table_add_field(out, &inner, 1, THRIFT_I32, parquet_table_type_of(column));
    begin_list(out, &inner, 2, THRIFT_I32, 2);
    parquet_table_add_number(out, PLAIN);
    parquet_table_add_number(out, RLE);
    begin_list(out, &inner, 3, THRIFT_BINARY, 1);
    parquet_table_add_bytes(out, text_string(&name), name.length);
    parquet_table_add_field(out, &inner, 4, THRIFT_I32, UNCOMPRESSED);
    parquet_table_add_field(out, &inner, 5, THRIFT_I64, (int64_t)rows);
    parquet_table_add_field(out, &inner, 6, THRIFT_I64, (int64_t)page->size);
    parquet_table_add_field(out, &inner, 7, THRIFT_I64, (int64_t)page->size);
    parquet_table_add_field(out, &inner, 9, THRIFT_I64, (int64_t)page->offset);
    end_struct(out);
    end_struct(out);
    text_free(&name);
}

static size_t rows_of_group(const struct table *table, size_t group)
{
    size_t left = table_row_count(table) - group * ROWS_OF_GROUP;

    return left < ROWS_OF_GROUP ? left : ROWS_OF_GROUP;
}

static void add_row_group(struct text *out, const struct table *table, size_t group, const struct parquet_page *pages)
{
    size_t count = table_column_count(table);
    uint64_t size = 0;
    int field = 0;

    begin_list(out, &field, 1, THRIFT_STRUCT, count);
    for (size_t c = 0; c < count; c++) {
        add_column_chunk(out, &table_columns(table)[c], &pages[c], rows_of_group(table, group));
        size += pages[c].size;
    }
    parquet_table_add_field(out, &field, 2, THRIFT_I64, (int64_t)size);
    parquet_table_add_field(out, &field, 3, THRIFT_I64, (int64_t)rows_of_group(table, group));
    end_struct(out);
}

static void add_footer(struct text *out, const struct table *table, size_t groups, const struct parquet_page *pages)
{
    size_t begin = out->length;
    int field = 0;

    parquet_table_add_field(out, &field, 1, THRIFT_I32, 1);
    parquet_table_add_schema(out, &field, table);
    parquet_table_add_field(out, &field, 3, THRIFT_I64, (int64_t)table_row_count(table));
    begin_list(out, &field, 4, THRIFT_STRUCT, groups);
    for (size_t group = 0; group < groups; group++)
        add_row_group(out, table, group, pages + group * table_column_count(table));
    begin_field(out, &field, 6, THRIFT_BINARY);
    parquet_table_add_bytes(out, "tacho", 5);
    end_struct(out);
    text_add_little_endian(out, out->length - begin, 4);
    text_add(out, MAGIC);
}

int parquet_table(struct text *out, const struct table *table)
{
    size_t columns = table_column_count(table);
    size_t groups = (table_row_count(table) + ROWS_OF_GROUP - 1) / ROWS_OF_GROUP;
    struct parquet_page *pages = calloc(groups * columns + 1, sizeof *pages);

    if (!pages)
        return ERR_NO_MEMORY;
    text_add(out, MAGIC);
    for (size_t group = 0; group < groups; group++)
        for (size_t c = 0; c < columns; c++)
            pages[group * columns + c] = parquet_table_add_page(out, table, c, group * ROWS_OF_GROUP,
                                                                rows_of_group(table, group));
    add_footer(out, table, groups, pages);
    free(pages);
    return text_failed(out) ? ERR_NO_MEMORY : 0;
}
