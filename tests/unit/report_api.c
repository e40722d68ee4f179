/* The public interface for reading reports, as a user's program sees it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <tacho/report.h>

#include "report/writer/writer.h"

#define ROWS 70000 /* three chunks */

static char path[] = "/tmp/tacho-unit-XXXXXX";

static int write_report(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    struct writer *writer;
    if (fd < 0 || close(fd) || writer_open(path, &(struct writer_options){ .overwrite = 1 }, &writer, NULL))
        return -1;
    int64_t name = writer_string(writer, "step", 4);
    for (int64_t i = 0; i < ROWS; i++) {
        struct row_NVTX_EVENTS row = { 0 };
        ROW_SET(&row, NVTX_EVENTS, start, i * 10);
        if (i % 4)
            ROW_SET(&row, NVTX_EVENTS, doubleValue, (double)i / 2);
        ROW_SET(&row, NVTX_EVENTS, textId, name);
        writer_append(writer, TABLE_NVTX_EVENTS, &row);
    }
    return writer_close(writer, NULL);
}

static int remove_report(void **state)
{
    (void)state;
    return unlink(path);
}

static void a_program_reads_a_report(void **state)
{
    (void)state;
    struct tacho_report *report;
    assert_int_equal(tacho_report_open(path, &report), 0);
    struct tacho_report_info info = { .size = sizeof info };
    assert_int_equal(tacho_report_get_info(report, &info), 0);
    assert_int_equal(info.complete, 1);
    assert_int_equal(info.damaged_chunks, 0);
    assert_true(info.file_bytes > 1000);

    int table = tacho_report_find_table(report, "NVTX_EVENTS");
    assert_true(table >= 0 && (size_t)table < tacho_report_table_count(report));
    assert_string_equal(tacho_report_table_name(report, table), "NVTX_EVENTS");
    assert_int_equal(tacho_report_row_count(report, table), ROWS);
    int start = tacho_report_find_column(report, table, "start"),
        real = tacho_report_find_column(report, table, "doubleValue");
    assert_string_equal(tacho_report_column_name(report, table, start), "start");
    assert_int_equal(tacho_report_column_type(report, table, start), TACHO_COLUMN_TIME);
    assert_int_equal(tacho_report_column_type(report, table, real), TACHO_COLUMN_REAL);

    /* a window over the border between two chunks */
    enum { FIRST = 32700, COUNT = 200 };
    int64_t values[COUNT];
    double reals[COUNT];
    unsigned char nulls[COUNT];
    assert_int_equal(tacho_report_read(report, table, start, FIRST, COUNT, values, nulls), 0);
    assert_int_equal(tacho_report_read_real(report, table, real, FIRST, COUNT, reals, nulls), 0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(values[i], (FIRST + i) * 10);
        assert_int_equal(nulls[i], (FIRST + i) % 4 == 0);
        assert_true(reals[i] == ((FIRST + i) % 4 ? (double)(FIRST + i) / 2 : 0));
    }
    assert_int_equal(tacho_report_read_real(report, table, start, ROWS - 1, 1, reals, NULL), 0);
    assert_true(reals[0] == (ROWS - 1) * 10.0);

    int text = tacho_report_find_column(report, table, "textId");
    assert_int_equal(tacho_report_read(report, table, text, 0, 1, values, NULL), 0);
    size_t length;
    assert_string_equal(tacho_report_string(report, values[0], &length), "step");
    assert_int_equal(length, 4);
    assert_int_equal(tacho_report_find_string(report, "step", 4), values[0]);
    tacho_report_close(report);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    struct tacho_report *report;
    int64_t value;
    assert_int_equal(tacho_report_open(path, &report), 0);
    assert_int_equal(tacho_report_find_table(report, "NOPE"), TACHO_REPORT_NOT_FOUND);
    assert_null(tacho_report_table_name(report, -1));
    assert_null(tacho_report_table_name(report, 100000));
    int table = tacho_report_find_table(report, "NVTX_EVENTS");
    assert_null(tacho_report_column_name(report, table, 1000));
    assert_int_equal(tacho_report_column_type(report, 1000, 0), TACHO_REPORT_NOT_FOUND);
    assert_int_equal(tacho_report_find_column(report, table, "nope"), TACHO_REPORT_NOT_FOUND);
    assert_int_equal(tacho_report_read(report, table, 0, ROWS, 1, &value, NULL), TACHO_REPORT_BAD_ARGUMENT);
    assert_int_equal(tacho_report_read(report, table, 0, UINT64_MAX, 1, &value, NULL), TACHO_REPORT_BAD_ARGUMENT);
    assert_int_equal(tacho_report_read(report, table, 0, 1, SIZE_MAX, &value, NULL), TACHO_REPORT_BAD_ARGUMENT);
    assert_int_equal(tacho_report_read(report, table, -1, 0, 1, &value, NULL), TACHO_REPORT_BAD_ARGUMENT);
    assert_int_equal(tacho_report_read(report, table, 0, ROWS, 0, NULL, NULL), 0);
    struct tacho_report_info info = { .size = 0 };
    assert_int_equal(tacho_report_get_info(report, &info), TACHO_REPORT_BAD_ARGUMENT);
    tacho_report_close(report);
}

static void failing_to_open_says_why(void **state)
{
    (void)state;
    struct tacho_report *report;
    assert_int_equal(tacho_report_open("/nonexistent/file", &report), TACHO_REPORT_NOT_FOUND);
    assert_string_equal(tacho_report_error(report), "cannot open /nonexistent/file: No such file or directory");
    assert_int_equal(tacho_report_table_count(report), 0);
    assert_string_equal(tacho_report_string(report, 1, NULL), "");
    tacho_report_close(report);
    assert_int_equal(tacho_report_open("/proc/self/exe", &report), TACHO_REPORT_BAD_FORMAT);
    tacho_report_close(report);
    tacho_report_close(NULL);
    assert_string_equal(tacho_report_error(NULL), "out of memory");
    assert_int_equal(tacho_report_api_version(), TACHO_REPORT_API_VERSION);
}

/* An older program knows a shorter struct: what lies behind it is not touched. */
static void info_fills_only_what_the_caller_knows(void **state)
{
    (void)state;
    struct tacho_report *report;
    assert_int_equal(tacho_report_open(path, &report), 0);
    struct tacho_report_info info;
    memset(&info, 0x55, sizeof info);
    info.size = offsetof(struct tacho_report_info, complete);
    assert_int_equal(tacho_report_get_info(report, &info), 0);
    assert_true(info.file_bytes != UINT64_C(0x5555555555555555));
    assert_int_equal(info.complete, 0x55555555);
    tacho_report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_reads_a_report),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(failing_to_open_says_why),
        cmocka_unit_test(info_fills_only_what_the_caller_knows),
    };
    return cmocka_run_group_tests(tests, write_report, remove_report);
}
