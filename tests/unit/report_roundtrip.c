/* What goes into a report comes out again: every type, every coding, NULLs, extremes, strings. */
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "report/reader/reader.h"
#include "report/writer/writer.h"

static char path[] = "/tmp/tacho-unit-XXXXXX";

static int make_path(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static struct writer *open_writer(void)
{
    struct writer *writer = NULL;
    struct error err = { 0 };
    if (writer_open(path, &(struct writer_options){ .overwrite = 1, .workers = 2 }, &writer, &err))
        fail_msg("%s", err.text);
    return writer;
}

static void close_writer(struct writer *writer)
{
    struct error err = { 0 };
    if (writer_close(writer, &err))
        fail_msg("%s", err.text);
}

static struct report *open_report(void)
{
    struct report *report = NULL;
    struct error err = { 0 };
    if (report_open(path, &report, &err))
        fail_msg("%s", err.text);
    return report;
}

static uint64_t random_state = 1;
static uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Patterns of values, each meant to bring out one coding. */
static int64_t constant(size_t i)
{
    (void)i;
    return -7;
}
static int64_t counting(size_t i)
{
    return 1000 + (int64_t)i * 3;
}
static int64_t few_far_apart(size_t i)
{
    return (int64_t)(i * i % 7) * INT64_C(0x1234567890abcd);
}
static int64_t small_noise(size_t i)
{
    (void)i;
    return (int64_t)(random_number() % 50) - 25;
}
static int64_t any_bits(size_t i)
{
    (void)i;
    return (int64_t)random_number();
}
static int64_t both_ends(size_t i)
{
    return i % 2 ? INT64_MAX : INT64_MIN;
}
static int64_t ends_and_noise(size_t i)
{
    return i % 5 == 0 ? INT64_MIN : i % 5 == 1 ? INT64_MAX : (int64_t)(random_number() % 9);
}
static int64_t walking(size_t i)
{
    static int64_t at;
    at = i ? at + (int64_t)(random_number() % 2001) - 900 : 5;
    return at;
}
static int64_t one_outlier(size_t i)
{
    return i == 100 ? INT64_MIN : (int64_t)i;
}

static int64_t (*const patterns[])(size_t) = { constant,  counting,       few_far_apart, small_noise, any_bits,
                                               both_ends, ends_and_noise, walking,       one_outlier };
#define PATTERNS COUNT_OF(patterns)

static int never(size_t i)
{
    (void)i;
    return 0;
}
static int always(size_t i)
{
    (void)i;
    return 1;
}
static int every_third(size_t i)
{
    return i % 3 == 0;
}
static int first_half(size_t i)
{
    return i < 50;
}
static int but_one(size_t i)
{
    return i != 1;
}
static int long_runs(size_t i)
{
    return i / 300 % 2 == 0;
}
static int (*const null_patterns[])(size_t) = { never, always, every_third, first_half, but_one, long_runs };
#define NULL_PATTERNS COUNT_OF(null_patterns)

/* One table of integers and times with each pattern in each place, of several sizes, compared value by value. */
static void check_pattern(size_t rows, int64_t (*time)(size_t), int64_t (*value)(size_t), int (*is_null)(size_t))
{
    struct row_OSRT_API *expected = calloc(rows, sizeof *expected);
    struct writer *writer = open_writer();
    for (size_t i = 0; i < rows; i++) {
        struct row_OSRT_API *row = &expected[i];
        ROW_SET(row, OSRT_API, start, time(i));
        ROW_SET(row, OSRT_API, returnValue, value(i));
        ROW_SET(row, OSRT_API, end,
                (int64_t)((uint64_t)row->start + (uint64_t)(value == any_bits ? value(i) : 12 + (int64_t)i % 100)));
        if (!is_null(i))
            ROW_SET(row, OSRT_API, errnoValue, value(i));
        writer_append(writer, TABLE_OSRT_API, row);
    }
    close_writer(writer);

    struct report *report = open_report();
    const struct report_table *table = report_table(report, "OSRT_API");
    assert_non_null(table);
    assert_int_equal(table->rows, rows);
    int columns[] = { report_column(table, "end"),
                      report_column(table, "returnValue"),
                      report_column(table, "errnoValue"),
                      report_column(table, "nestingLevel"),
                      report_column(table, "no_such_column"),
                      report_column(table, "start") };
    struct report_columns got;
    assert_int_equal(report_read(report, table, columns, 6, &got, NULL), 0);
    assert_int_equal(got.rows, rows);
    for (size_t i = 0; i < rows; i++) {
        assert_int_equal(got.values[0][i], expected[i].end);
        assert_int_equal(got.values[1][i], expected[i].returnValue);
        int null = got.nulls[2] && (got.nulls[2][i / 64] >> i % 64 & 1);
        assert_int_equal(null, is_null(i));
        assert_int_equal(got.values[2][i], is_null(i) ? 0 : expected[i].errnoValue);
        assert_true(got.nulls[3][i / 64] >> i % 64 & 1);
        assert_true(got.nulls[4][i / 64] >> i % 64 & 1);
        assert_int_equal(got.values[5][i], expected[i].start);
    }
    assert_null(got.nulls[0]);
    report_columns_free(&got);
    report_close(report);
    free(expected);
}

static void every_pattern_comes_back(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 2, 3, 63, 64, 65, 1000 };
    for (size_t s = 0; s < COUNT_OF(sizes); s++)
        for (size_t p = 0; p < PATTERNS; p++)
            for (size_t n = 0; n < NULL_PATTERNS; n++)
                check_pattern(sizes[s], patterns[(p + n) % PATTERNS], patterns[p], null_patterns[n]);
}

/* A time that an import did not understand is NULL, and no reason for the other columns to be lost: those are told from
 * it where it is there, since the times here are far from each other and no two alike. */
static void times_may_be_missing(void **state)
{
    (void)state;
    enum { ROWS = 1000 };
    static int64_t times[ROWS];
    for (size_t missing = 1; missing <= ROWS; missing += ROWS - 1) { /* one, or all */
        struct writer *writer = open_writer();
        for (size_t i = 0; i < ROWS; i++) {
            struct row_OSRT_API row = { 0 };
            times[i] = (int64_t)(random_number() >> 16);
            if (i >= missing)
                ROW_SET(&row, OSRT_API, start, times[i]);
            ROW_SET(&row, OSRT_API, end, times[i] + 12);
            ROW_SET(&row, OSRT_API, returnValue, times[i] + 7);
            writer_append(writer, TABLE_OSRT_API, &row);
        }
        close_writer(writer);

        struct report *report = open_report();
        const struct report_table *table = report_table(report, "OSRT_API");
        int columns[] = { report_column(table, "end"), report_column(table, "returnValue"),
                          report_column(table, "start") };
        struct report_columns got;
        assert_int_equal(report_read(report, table, columns, 3, &got, NULL), 0);
        assert_int_equal(got.rows, ROWS);
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(got.values[0][i], times[i] + 12);
            assert_int_equal(got.values[1][i], times[i] + 7);
            assert_int_equal(got.values[2][i], i < missing ? 0 : times[i]);
        }
        report_columns_free(&got);
        report_close(report);
    }
}

static void several_chunks_come_back(void **state)
{
    (void)state;
    check_pattern(100001, walking, small_noise, every_third);
    check_pattern(32769, counting, any_bits, first_half);
    check_pattern(65536, any_bits, few_far_apart, but_one);
    check_pattern(40000, walking, walking, long_runs);
}

static void reals_keep_their_bits(void **state)
{
    (void)state;
    const double values[] = { 0.0, -0.0, 1.5, NAN, INFINITY, -INFINITY, 5e-324, 1.7976931348623157e308 };
    struct writer *writer = open_writer();
    for (size_t i = 0; i < 8; i++) {
        struct row_NVTX_EVENTS row = { 0 };
        ROW_SET(&row, NVTX_EVENTS, doubleValue, values[i]);
        writer_append(writer, TABLE_NVTX_EVENTS, &row);
    }
    close_writer(writer);
    struct report *report = open_report();
    const struct report_table *table = report_table(report, "NVTX_EVENTS");
    int column = report_column(table, "doubleValue");
    struct report_columns got;
    assert_int_equal(report_read(report, table, &column, 1, &got, NULL), 0);
    assert_memory_equal(got.values[0], values, sizeof values);
    report_columns_free(&got);
    report_close(report);
}

static void strings_come_back(void **state)
{
    (void)state;
    static char large[1 << 20], repeated[1 << 20];
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)random_number();
    memset(repeated, 'a', sizeof repeated);
    struct writer *writer = open_writer();
    assert_int_equal(writer_string(writer, "", 0), 0);
    int64_t a = writer_string(writer, "a", 1), nul = writer_string(writer, "a\0b", 3);
    int64_t big = writer_string(writer, large, sizeof large), same = writer_string(writer, repeated, sizeof repeated);
    assert_int_equal(a, 1);
    assert_int_equal(writer_string(writer, "a", 1), a);
    int64_t ids[70000];
    char name[32];
    for (int i = 0; i < 70000; i++)
        ids[i] = writer_string(writer, name, (size_t)snprintf(name, sizeof name, "name %d", i));
    close_writer(writer);

    struct report *report = open_report();
    size_t length;
    assert_string_equal(report_string(report, 0, &length), "");
    assert_string_equal(report_string(report, a, &length), "a");
    assert_memory_equal(report_string(report, nul, &length), "a\0b", 4);
    assert_int_equal(length, 3);
    assert_memory_equal(report_string(report, big, &length), large, sizeof large);
    assert_int_equal(length, sizeof large);
    assert_memory_equal(report_string(report, same, &length), repeated, sizeof repeated);
    for (int i = 0; i < 70000; i++) {
        size_t expected = (size_t)snprintf(name, sizeof name, "name %d", i);
        assert_string_equal(report_string(report, ids[i], &length), name);
        assert_int_equal(length, expected);
    }
    assert_int_equal(report_find_string(report, "name 4711", 9), ids[4711]);
    assert_int_equal(report_find_string(report, "a\0b", 3), nul);
    assert_int_equal(report_find_string(report, "", 0), 0);
    assert_int_equal(report_find_string(report, "never seen", 10), -1);
    assert_string_equal(report_string(report, 1 << 30, &length), "");
    assert_string_equal(report_string(report, -1, NULL), "");
    assert_string_equal(report_string(report, INT64_MIN, NULL), "");
    report_close(report);
}

static void the_string_table_reads_as_ids(void **state)
{
    (void)state;
    struct writer *writer = open_writer();
    writer_string(writer, "x", 1);
    writer_string(writer, "y", 1);
    close_writer(writer);
    struct report *report = open_report();
    const struct report_table *table = report_table(report, "StringIds");
    assert_int_equal(table->rows, 3);
    int columns[] = { report_column(table, "id"), report_column(table, "value") };
    struct report_columns got;
    assert_int_equal(report_read(report, table, columns, 2, &got, NULL), 0);
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(got.values[0][i], i);
        assert_int_equal(got.values[1][i], i);
    }
    report_columns_free(&got);
    report_close(report);
}

struct tally {
    uint64_t rows[64];
    _Atomic int chunks;
};

static int tally_block(void *context, int worker, const struct report_block *block)
{
    struct tally *tally = context;
    tally->rows[worker] += block->rows;
    tally->chunks++;
    return 0;
}

static void a_span_skips_chunks(void **state)
{
    (void)state;
    struct writer *writer = open_writer();
    for (int64_t i = 0; i < 5; i++) {
        struct row_TACHO_RANGE row = { 0 };
        ROW_SET(&row, TACHO_RANGE, start, i * 1000);
        ROW_SET(&row, TACHO_RANGE, end, i * 1000 + 500);
        writer_append(writer, TABLE_TACHO_RANGE, &row);
        assert_int_equal(writer_flush(writer, NULL), 0);
    }
    close_writer(writer);
    struct report *report = open_report();
    const struct report_table *table = report_table(report, "TACHO_RANGE");
    assert_int_equal(table->first_ns, 0);
    assert_int_equal(table->last_ns, 4500);
    struct tally tally = { 0 };
    struct report_span span = { 1400, 3000 };
    assert_int_equal(report_scan(report, table, (int[]){ 0 }, 1, &span, tally_block, &tally, NULL), 0);
    assert_int_equal(tally.chunks, 3);
    report_close(report);
}

static int stop(void *context, int worker, const struct report_block *block)
{
    (void)context, (void)worker, (void)block;
    return 42;
}

static void a_visit_can_end_the_scan(void **state)
{
    (void)state;
    struct writer *writer = open_writer();
    struct row_PROCESSES row = { 0 };
    writer_append(writer, TABLE_PROCESSES, &row);
    close_writer(writer);
    struct report *report = open_report();
    assert_int_equal(report_scan(report, report_table(report, "PROCESSES"), (int[]){ 0 }, 1, NULL, stop, NULL, NULL),
                     42);
    report_close(report);
}

static void every_table_of_the_schema_is_there(void **state)
{
    (void)state;
    struct writer *writer = open_writer();
    uint64_t row[65] = { 0 };
    for (int t = 0; t < TABLE_COUNT; t++)
        if (t != TABLE_StringIds)
            writer_append(writer, (enum table_id)t, row);
    close_writer(writer);
    struct report *report = open_report();
    assert_int_equal(report_table_count(report), TABLE_COUNT);
    for (int t = 0; t < TABLE_COUNT; t++) {
        const struct report_table *table = report_table(report, schema_tables[t].name);
        assert_non_null(table);
        assert_int_equal(table->rows, 1);
        assert_int_equal(table->column_count, schema_tables[t].column_count);
        for (size_t c = 0; c < table->column_count; c++) {
            assert_string_equal(table->columns[c].name, schema_tables[t].columns[c].name);
            assert_int_equal(table->columns[c].type, schema_tables[t].columns[c].type);
        }
        assert_int_equal(schema_find(table->name), t);
    }
    assert_null(report_table(report, "no such table"));
    assert_int_equal(schema_find("nope"), -1);
    report_close(report);
}

/* 0 under a sanitizer, whose malloc does not count here. */
static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Names that never come back, one name that is in use all the time, and one that comes back late. */
static void strings_of_a_long_capture_do_not_stay_in_memory(void **state)
{
    (void)state;
    enum { NAMES = 300000 };
    struct writer *writer = NULL;
    assert_int_equal(writer_open(path,
                                 &(struct writer_options){ .overwrite = 1, .workers = 2, .string_memory = 1 << 20 },
                                 &writer, NULL),
                     0);
    char name[64];
    int64_t in_use = writer_string(writer, "in use", 6), late = writer_string(writer, "late", 4);
    size_t memory = 0;
    for (int i = 0; i < NAMES; i++) {
        int length = snprintf(name, sizeof name, "a name that is unique to call number %d", i);
        struct row_OSRT_API row = { 0 };
        ROW_SET(&row, OSRT_API, start, i);
        ROW_SET(&row, OSRT_API, nameId, writer_string(writer, name, (size_t)length));
        writer_append(writer, TABLE_OSRT_API, &row);
        assert_int_equal(writer_string(writer, "in use", 6), in_use);
        if (i == NAMES / 2)
            memory = memory_in_use();
    }
    /* a chunk or two may be under way; the names alone would be fifteen */
    assert_in_range(memory_in_use(), 0, memory + (8 << 20));
    assert_in_range(writer_string(writer, "", 0), 0, 0);
    int64_t again = writer_string(writer, "late", 4);
    assert_int_not_equal(again, late);
    close_writer(writer);

    struct report *report = open_report();
    const struct report_table *table = report_table(report, "OSRT_API");
    struct report_columns got;
    assert_int_equal(report_read(report, table,
                                 (int[]){ report_column(table, "start"), report_column(table, "nameId") }, 2, &got,
                                 NULL),
                     0);
    assert_int_equal(got.rows, NAMES);
    for (size_t i = 0; i < got.rows; i++) {
        snprintf(name, sizeof name, "a name that is unique to call number %d", (int)got.values[0][i]);
        assert_string_equal(report_string(report, got.values[1][i], NULL), name);
    }
    report_columns_free(&got);
    assert_string_equal(report_string(report, in_use, NULL), "in use");
    assert_string_equal(report_string(report, late, NULL), "late");
    assert_string_equal(report_string(report, again, NULL), "late");
    assert_int_equal(report_find_string(report, "late", 4), late);
    assert_true(report_strings_repeat(report));
    report_close(report);
}

static void a_small_flush_is_small(void **state)
{
    (void)state;
    struct writer *writer = open_writer();
    writer_string(writer, "range", 5);
    assert_int_equal(writer_flush(writer, NULL), 0);
    uint64_t before = writer_bytes(writer);
    for (int64_t i = 0; i < 10; i++) {
        struct row_NVTX_EVENTS row = { 0 };
        ROW_SET(&row, NVTX_EVENTS, start, INT64_C(7000000000) + i * 1000 + (int64_t)(random_number() % 300));
        ROW_SET(&row, NVTX_EVENTS, end, row.start + 200 + (int64_t)(random_number() % 300));
        ROW_SET(&row, NVTX_EVENTS, eventType, 59);
        ROW_SET(&row, NVTX_EVENTS, globalTid, INT64_C(0x1000000012345678));
        ROW_SET(&row, NVTX_EVENTS, textId, 1);
        ROW_SET(&row, NVTX_EVENTS, domainId, 0);
        writer_append(writer, TABLE_NVTX_EVENTS, &row);
    }
    assert_int_equal(writer_flush(writer, NULL), 0);
    assert_in_range(writer_bytes(writer) - before, 60, 160);
    close_writer(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_comes_back),
        cmocka_unit_test(times_may_be_missing),
        cmocka_unit_test(several_chunks_come_back),
        cmocka_unit_test(reals_keep_their_bits),
        cmocka_unit_test(strings_come_back),
        cmocka_unit_test(the_string_table_reads_as_ids),
        cmocka_unit_test(a_span_skips_chunks),
        cmocka_unit_test(a_visit_can_end_the_scan),
        cmocka_unit_test(every_table_of_the_schema_is_there),
        cmocka_unit_test(strings_of_a_long_capture_do_not_stay_in_memory),
        cmocka_unit_test(a_small_flush_is_small),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
