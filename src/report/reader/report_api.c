/* The public interface for reading reports, <tacho/report.h>: a thin layer over the reader. Every number from the
 * caller is checked. */
#pragma GCC visibility push(default)
#include <tacho/report.h>
#pragma GCC visibility pop

#include <stdlib.h>
#include <string.h>

#include "reader.h"

struct tacho_report {
    struct report *report; /* NULL: could not be opened */
    struct error error;
};

_Static_assert((int)TACHO_COLUMN_STRING == COLUMN_STRING && (int)TACHO_COLUMN_REAL == COLUMN_REAL,
               "types are the reader's");
_Static_assert((int)TACHO_REPORT_BAD_VERSION == ERR_VERSION && (int)TACHO_REPORT_DENIED == ERR_DENIED,
               "codes are ours");

int tacho_report_open(const char *path, struct tacho_report **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? report_open(path, &(*out)->report, &(*out)->error) : TACHO_REPORT_NO_MEMORY;
}

void tacho_report_close(struct tacho_report *report)
{
    if (!report)
        return;
    report_close(report->report);
    free(report);
}

const char *tacho_report_error(const struct tacho_report *report)
{
    return report ? report->error.text : error_name(ERR_NO_MEMORY);
}

int tacho_report_api_version(void)
{
    return TACHO_REPORT_API_VERSION;
}

int tacho_report_get_info(const struct tacho_report *report, struct tacho_report_info *info)
{
    if (!report || !report->report || !info || info->size < sizeof info->size)
        return TACHO_REPORT_BAD_ARGUMENT;
    struct report_health health = report_health(report->report);
    struct tacho_report_info all = {
        .size = info->size,
        .file_bytes = health.file_bytes,
        .complete = health.complete,
        .damaged_chunks = health.damaged_chunks,
        .damaged_bytes = health.damaged_bytes,
    };
    memcpy(info, &all, info->size < sizeof all ? info->size : sizeof all);
    return 0;
}

size_t tacho_report_table_count(const struct tacho_report *report)
{
    return report && report->report ? report_table_count(report->report) : 0;
}

static const struct report_table *table_at(const struct tacho_report *report, int table)
{
    return report && report->report && table >= 0 ? report_table_at(report->report, (size_t)table) : NULL;
}

const char *tacho_report_table_name(const struct tacho_report *report, int table)
{
    const struct report_table *found = table_at(report, table);
    return found ? found->name : NULL;
}

int tacho_report_find_table(const struct tacho_report *report, const char *name)
{
    for (int i = 0; table_at(report, i); i++)
        if (!strcmp(table_at(report, i)->name, name))
            return i;
    return TACHO_REPORT_NOT_FOUND;
}

uint64_t tacho_report_row_count(const struct tacho_report *report, int table)
{
    const struct report_table *found = table_at(report, table);
    return found ? found->rows : 0;
}

size_t tacho_report_column_count(const struct tacho_report *report, int table)
{
    const struct report_table *found = table_at(report, table);
    return found ? found->column_count : 0;
}

static const struct report_column *column_at(const struct tacho_report *report, int table, int column)
{
    const struct report_table *found = table_at(report, table);
    return found && column >= 0 && (size_t)column < found->column_count ? &found->columns[column] : NULL;
}

const char *tacho_report_column_name(const struct tacho_report *report, int table, int column)
{
    const struct report_column *found = column_at(report, table, column);
    return found ? found->name : NULL;
}

int tacho_report_column_type(const struct tacho_report *report, int table, int column)
{
    const struct report_column *found = column_at(report, table, column);
    return found ? (int)found->type : TACHO_REPORT_NOT_FOUND;
}

int tacho_report_find_column(const struct tacho_report *report, int table, const char *name)
{
    const struct report_table *found = table_at(report, table);
    int column = found ? report_column(found, name) : -1;
    return column < 0 ? TACHO_REPORT_NOT_FOUND : column;
}

/* The destination of the rows of a read. The worker that decodes an overlapping block copies its rows there. */
struct report_api_window {
    uint64_t first;
    size_t count;
    int64_t *values;
    unsigned char *nulls;
};

static int copy_block(void *context, int worker, const struct report_block *block)
{
    (void)worker;
    const struct report_api_window *window = context;
    uint64_t from = block->first_row > window->first ? block->first_row : window->first;
    uint64_t end = block->first_row + block->rows;
    end = end < window->first + window->count ? end : window->first + window->count;
    for (uint64_t row = from; row < end; row++) {
        window->values[row - window->first] = block->values[0][row - block->first_row];
        if (window->nulls)
            window->nulls[row - window->first] = (unsigned char)block_is_null(block, 0, row - block->first_row);
    }
    return 0;
}

int tacho_report_read(struct tacho_report *report, int table, int column, uint64_t first, size_t count, int64_t *values,
                      unsigned char *nulls)
{
    const struct report_table *found = table_at(report, table);
    if (!column_at(report, table, column) || first > found->rows || count > found->rows - first || (count && !values))
        return TACHO_REPORT_BAD_ARGUMENT;
    if (!count)
        return 0;
    memset(values, 0, count * sizeof *values);
    if (nulls)
        memset(nulls, 1, count);
    struct report_api_window window = { first, count, values, nulls };
    return report_scan_rows(report->report, found, &column, 1, first, count, copy_block, &window, NULL);
}

int tacho_report_read_real(struct tacho_report *report, int table, int column, uint64_t first, size_t count,
                           double *values, unsigned char *nulls)
{
    if (count > SIZE_MAX / sizeof(int64_t))
        return TACHO_REPORT_BAD_ARGUMENT;
    int64_t *numbers = malloc(count * sizeof *numbers + 1);
    if (!numbers)
        return TACHO_REPORT_NO_MEMORY;
    int code = tacho_report_read(report, table, column, first, count, numbers, nulls);
    if (code != 0)
        goto free_numbers;
    if (tacho_report_column_type(report, table, column) == TACHO_COLUMN_REAL)
        memcpy(values, numbers, count * sizeof *values);
    else
        for (size_t i = 0; i < count; i++)
            values[i] = (double)numbers[i];
free_numbers:
    free(numbers);
    return code;
}

const char *tacho_report_string(struct tacho_report *report, int64_t id, size_t *length)
{
    if (report && report->report)
        return report_string(report->report, id, length);
    if (length)
        *length = 0;
    return "";
}

int64_t tacho_report_find_string(struct tacho_report *report, const char *bytes, size_t length)
{
    int64_t id = report && report->report ? report_find_string(report->report, bytes, length) : -1;
    return id < 0 ? TACHO_REPORT_NOT_FOUND : id;
}
