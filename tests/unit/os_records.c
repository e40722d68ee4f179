/* Records of OS calls, made by hand, become the right rows of OSRT_API, and nonsense becomes none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/sources/osrt/osrt_records.h"
#include "report/reader/reader.h"
#include "wire/wire_osrt.h"

#define TID ((int64_t)1 << 48 | (int64_t)77 << 24 | 78)

struct capture {
    char path[32];
    struct clock_map clock;
    struct writer *writer;
    struct osrt osrt;
    struct report *report;
    struct report_columns columns;
};

enum { START, END, CLASS, THREAD, NAME, VALUE, LEVEL, CHAIN, ERROR, INCOMPLETE, HOLDER, LOCK, VARIABLE, COLUMNS };
static const char *const names[COLUMNS] = { "start",       "end",          "eventClass",     "globalTid",  "nameId",
                                            "returnValue", "nestingLevel", "callchainId",    "errnoValue", "incomplete",
                                            "lockHolder",  "lockAddress",  "lockCallchainId" };

/* Report time is ticks - 1000. */
static int begin(void **state)
{
    struct capture *capture = calloc(1, sizeof *capture);
    strcpy(capture->path, "/tmp/tacho-unit-XXXXXX");
    close(mkstemp(capture->path));
    struct clock_pair first = { 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    struct error err = { 0 };
    if (clock_map_init(&capture->clock, WIRE_CLOCK_MONOTONIC, &first, &second) ||
        writer_open(capture->path, &(struct writer_options){ .overwrite = 1, .workers = 1 }, &capture->writer, &err))
        return -1;
    osrt_init(&capture->osrt, capture->writer, &capture->clock);
    *state = capture;
    return 0;
}

static void finish(struct capture *capture, size_t rows)
{
    struct error err = { 0 };
    if (writer_close(capture->writer, &err) || report_open(capture->path, &capture->report, &err))
        fail_msg("%s", err.text);
    const struct report_table *table = report_table(capture->report, "OSRT_API");
    assert_int_equal(table ? table->rows : 0, rows);
    if (!table)
        return;
    int columns[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        columns[i] = report_column(table, names[i]);
    if (report_read(capture->report, table, columns, COLUMNS, &capture->columns, &err))
        fail_msg("%s", err.text);
}

static int end(void **state)
{
    struct capture *capture = *state;
    if (capture->columns.values)
        report_columns_free(&capture->columns);
    report_close(capture->report);
    clock_map_free(&capture->clock);
    unlink(capture->path);
    free(capture);
    return 0;
}

static int is_null(const struct capture *capture, int column, size_t row)
{
    return capture->columns.nulls[column] && (capture->columns.nulls[column][row / 64] >> row % 64 & 1);
}

static void assert_value(const struct capture *capture, int column, size_t row, int64_t expected)
{
    assert_false(is_null(capture, column, row));
    assert_int_equal(capture->columns.values[column][row], expected);
}

static void assert_name(const struct capture *capture, size_t row, const char *expected)
{
    assert_string_equal(report_string(capture->report, capture->columns.values[NAME][row], NULL), expected);
}

struct record {
    struct wire_record head;
    uint64_t body[3];
};

static struct record call(unsigned function, unsigned level, uint64_t ticks, uint64_t duration, int error,
                          int64_t value)
{
    return (struct record){
        .head = { .type = WIRE_OSRT_CALL, .words = 4, .a = (uint16_t)function, .b = (uint16_t)level, .ticks = ticks },
        .body = { duration << 16 | (unsigned)error, (uint64_t)value }
    };
}

static int add(struct capture *capture, struct record record)
{
    return osrt_record(&capture->osrt, TID, &record.head, record.head.words, (struct call_chains){ 0 });
}

static void calls_become_rows(void **state)
{
    struct capture *capture = *state;
    assert_int_equal(add(capture, call(OSRT_read, 0, 5000, 250, 0, 42)), 0);
    assert_int_equal(add(capture, call(OSRT_open, 3, 6000, 1 << 20, 2, -1)), 0);
    finish(capture, 2);
    assert_value(capture, START, 0, 4000);
    assert_value(capture, END, 0, 4250);
    assert_value(capture, CLASS, 0, 27);
    assert_value(capture, THREAD, 0, TID);
    assert_name(capture, 0, "read");
    assert_value(capture, VALUE, 0, 42);
    assert_value(capture, LEVEL, 0, 0);
    assert_value(capture, CHAIN, 0, 0);
    assert_true(is_null(capture, ERROR, 0));
    assert_true(is_null(capture, INCOMPLETE, 0));
    assert_value(capture, END, 1, 5000 + (1 << 20));
    assert_name(capture, 1, "open");
    assert_value(capture, VALUE, 1, -1);
    assert_value(capture, LEVEL, 1, 3);
    assert_value(capture, ERROR, 1, 2);
}

/* A wait for a lock has a word more: its address. */
static void locks_have_an_address(void **state)
{
    struct capture *capture = *state;
    struct record record = call(OSRT_pthread_mutex_lock, 0, 5000, 1, 0, 0);
    assert_int_equal(add(capture, record), 0);
    record.head.words = 5;
    record.body[2] = 0x5581aa00f040;
    assert_int_equal(osrt_record(&capture->osrt, TID, &record.head, 5, (struct call_chains){ .lock = 9 }), 0);
    finish(capture, 2);
    assert_true(is_null(capture, LOCK, 0));
    assert_true(is_null(capture, VARIABLE, 0));
    assert_value(capture, VARIABLE, 1, 9);
    assert_value(capture, LOCK, 1, 0x5581aa00f040);
}

/* A lock's record has the thread that held it above its result; a result of another function is just that. */
static void locks_name_their_holder(void **state)
{
    struct capture *capture = *state;
    assert_int_equal(add(capture, call(OSRT_pthread_mutex_timedlock, 0, 5000, 1, 110, INT64_C(77) << 32 | 110)), 0);
    assert_int_equal(add(capture, call(OSRT_pthread_rwlock_wrlock, 0, 5001, 1, 0, INT64_C(78) << 32)), 0);
    assert_int_equal(add(capture, call(OSRT_pthread_mutex_lock, 0, 5002, 1, 0, 0)), 0);
    assert_int_equal(add(capture, call(OSRT_pthread_mutex_lock, 0, 5003, 1, 125, -1)), 0);
    assert_int_equal(add(capture, call(OSRT_read, 0, 5004, 1, 0, INT64_C(77) << 32)), 0);
    finish(capture, 5);
    assert_value(capture, HOLDER, 0, (TID & ~INT64_C(0xffffff)) | 77);
    assert_value(capture, VALUE, 0, 110);
    assert_value(capture, HOLDER, 1, (TID & ~INT64_C(0xffffff)) | 78);
    assert_value(capture, VALUE, 1, 0);
    for (size_t row = 2; row < 5; row++)
        assert_true(is_null(capture, HOLDER, row));
    assert_value(capture, VALUE, 2, 0);
    assert_value(capture, VALUE, 3, -1);
    assert_value(capture, VALUE, 4, INT64_C(77) << 32);
}

/* One function to a reader, whatever the linker calls it. */
static void several_symbols_are_one_function(void **state)
{
    struct capture *capture = *state;
    assert_int_equal(add(capture, call(OSRT_read, 0, 5000, 1, 0, 0)), 0);
    assert_int_equal(add(capture, call(OSRT___read_chk, 0, 5001, 1, 0, 0)), 0);
    finish(capture, 2);
    assert_name(capture, 1, "read");
    assert_int_equal(capture->columns.values[NAME][0], capture->columns.values[NAME][1]);
}

static void death_inside_a_call_makes_a_row(void **state)
{
    struct capture *capture = *state;
    assert_int_equal(osrt_incomplete(&capture->osrt, TID, OSRT_poll, 3000, 9000), 0);
    /* the clock of death is the coarser one */
    assert_int_equal(osrt_incomplete(&capture->osrt, TID, OSRT_poll, 3000, 10), 0);
    finish(capture, 2);
    assert_value(capture, START, 0, 2000);
    assert_value(capture, END, 0, 9000);
    assert_name(capture, 0, "poll");
    assert_value(capture, INCOMPLETE, 0, 1);
    assert_true(is_null(capture, ERROR, 0));
    assert_value(capture, END, 1, 2000);
}

static void nonsense_makes_no_row(void **state)
{
    struct capture *capture = *state;
    struct record record = call(OSRT_FUNCTION_COUNT, 0, 5000, 1, 0, 0);
    assert_int_equal(add(capture, record), -1);
    record = call(OSRT_read, 0, 5000, 1, 0, 0);
    assert_int_equal(osrt_record(&capture->osrt, TID, &record.head, 3, (struct call_chains){ 0 }), -1);
    assert_int_equal(osrt_incomplete(&capture->osrt, TID, UINT32_MAX, 3000, 9000), -1);
    assert_int_equal(osrt_incomplete(&capture->osrt, TID, OSRT_read, 0, 9000), -1);
    finish(capture, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_become_rows, begin, end),
        cmocka_unit_test_setup_teardown(locks_name_their_holder, begin, end),
        cmocka_unit_test_setup_teardown(locks_have_an_address, begin, end),
        cmocka_unit_test_setup_teardown(several_symbols_are_one_function, begin, end),
        cmocka_unit_test_setup_teardown(death_inside_a_call_makes_a_row, begin, end),
        cmocka_unit_test_setup_teardown(nonsense_makes_no_row, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
