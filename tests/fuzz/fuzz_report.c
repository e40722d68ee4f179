/* The fuzzer's way into the report reader: bytes are opened as a file, and everything that can be read is read.
 * scripts/fuzz links it with libFuzzer; tests/unit/report_fuzz.c calls it with stored and mutated files. */
#include <stddef.h>
#include <stdint.h>

#include "../unit/memory_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Reads every value, so that a sanitizer sees each one that was not written. */
static int touch(void *context, int worker, const struct report_block *block)
{
    (void)worker;
    const struct report_table *table = context;
    uint64_t sum = 0;
    for (size_t c = 0; c < table->column_count; c++)
        for (size_t r = 0; r < block->rows; r++)
            sum += (uint64_t)block->values[c][r] + (unsigned)block_is_null(block, c, r);
    __asm__ volatile("" : : "r"(sum));
    return 0;
}

static void touch_strings(struct report *report, const struct report_table *table)
{
    const struct report_span span = { -1000, 1000 };
    size_t length;
    if (!table->rows)
        return;
    report_string(report, 0, &length);
    report_string(report, (int64_t)table->rows - 1, &length);
    report_string(report, INT64_MAX, &length);
    report_find_string(report, "range", 5);
    report_scan(report, table, (int[]){ -1, 0 }, 2, &span, touch, &(struct report_table){ .column_count = 2 }, NULL);
}

static void touch_table(struct report *report, const struct report_table *table)
{
    enum { MOST = 256 };
    int columns[MOST];
    for (int c = 0; c < MOST; c++)
        columns[c] = c;
    report_scan(report, table, columns, table->column_count, NULL, touch, (void *)table, NULL);
    if (table->rows * table->column_count < 100000) {
        struct report_columns all;
        if (!report_read(report, table, columns, table->column_count, &all, NULL))
            report_columns_free(&all);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct memory_file file = { bytes, size };
    struct report *report;
    struct error err;
    if (memory_open(&file, &report, &err))
        return 0;
    for (size_t i = 0; i < report_table_count(report); i++) {
        const struct report_table *table = report_table_at(report, i);
        touch_table(report, table);
        if (!strcmp(table->name, "StringIds"))
            touch_strings(report, table);
    }
    report_health(report);
    report_close(report);
    return 0;
}
