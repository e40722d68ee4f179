/* Tables as text: layout, rounding, units, and names that try to harm the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/print/display.h"
#include "cmd/print/print.h"

static const struct table_column columns[] = {
    { "Time", CELL_REAL, UNIT_PERCENT, 1 },
    { "Total Time", CELL_INT, UNIT_NS, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },
    { "Name", CELL_TEXT, UNIT_NONE, 0 },
};

static struct table *table_of_one(double share, int64_t total, int64_t pid, const char *name, size_t length)
{
    struct table *table = table_new(columns, 4);
    struct table_cell *row = table_add_row(table);

    cell_set_real(&row[0], share);
    cell_set_int(&row[1], total);
    cell_set_int(&row[2], pid);
    cell_set_text(table, &row[3], name, length);
    return table;
}

static void expect_table(const struct print_format *format, struct table *table, const struct print_time_unit *time,
                         int to_terminal, const char *expected)
{
    struct text out = { 0 };

    format->table(&out, table, &(struct print_request){ .time = time, .to_terminal = to_terminal });
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    table_delete(table);
}

static void layout_of_columns(void **state)
{
    expect_table(&print_column, table_of_one(12.25, 1234567, 1234567, "name", 4), &time_unit_ns, 0,
                 " Time (%)  Total Time (ns)    PID    Name\n"
                 " --------  ---------------  -------  ----\n"
                 "     12.3        1,234,567  1234567  name\n");
}

static void empty_cells_and_empty_tables(void **state)
{
    struct table *table = table_new(columns, 4);

    table_add_row(table);
    expect_table(&print_csv, table, &time_unit_ns, 0, "Time (%),Total Time (ns),PID,Name\n,,,\n");
    expect_table(&print_column, table_new(columns, 4), &time_unit_ns, 0,
                 " Time (%)  Total Time (ns)  PID  Name\n"
                 " --------  ---------------  ---  ----\n");
}

static void units_of_time(void **state)
{
    expect_table(&print_column, table_of_one(1, 1234567, 5, "x", 1), time_unit_find("usec"), 0,
                 " Time (%)  Total Time (us)  PID  Name\n"
                 " --------  ---------------  ---  ----\n"
                 "      1.0        1,234.567    5  x   \n");
    expect_table(&print_csv, table_of_one(1, 1234567, 5, "x", 1), time_unit_find("sec"), 0,
                 "Time (%),Total Time (s),PID,Name\n1.0,0.001234567,5,x\n");
    assert_ptr_equal(time_unit_find("micro"), time_unit_find("us"));
    /* the first that fits, as in the order of the list */
    assert_ptr_equal(time_unit_find("m"), time_unit_find("microseconds"));
    assert_null(time_unit_find("hours"));
    assert_null(time_unit_find(""));
}

static void csv_quotes_what_it_must(void **state)
{
    expect_table(&print_csv, table_of_one(1, 2, 3, "a,\"b\"\nc", 7), &time_unit_ns, 0,
                 "Time (%),Total Time (ns),PID,Name\n1.0,2,3,\"a,\"\"b\"\"\nc\"\n");
    /* On a terminal the newline would be spelt out, but the field still holds a comma and quotes. */
    expect_table(&print_csv, table_of_one(1, 2, 3, "a,\"b\"\nc", 7), &time_unit_ns, 1,
                 "Time (%),Total Time (ns),PID,Name\n1.0,2,3,\"a,\"\"b\"\"\\nc\"\n");
}

static void expect_display(const char *bytes, size_t length, size_t limit, const char *expected,
                           size_t expected_columns)
{
    struct text out = { 0 };
    size_t taken = display_add(&out, bytes, length, limit);

    assert_string_equal(text_string(&out), expected);
    assert_int_equal(taken, expected_columns);
    text_free(&out);
}
#define DISPLAY(bytes, limit, expected, taken) expect_display(bytes, sizeof bytes - 1, limit, expected, taken)

static void names_cannot_reach_the_terminal(void **state)
{
    DISPLAY("\033[2J\033]0;owned\007", 0, "\\x1b[2J\\x1b]0;owned\\x07", 23);
    DISPLAY("a\nb\tc\rd", 0, "a\\nb\\tc\\rd", 10);
    DISPLAY("nul\0inside", 0, "nul\\x00inside", 13);
    DISPLAY("\x9b"
            "31m",
            0, "\\x9b31m", 7);                                                    /* a single-byte CSI is no UTF-8 */
    DISPLAY("\xc2\x9b"
            "31m",
            0, "\\x9b31m", 7);                                                    /* nor is its UTF-8 form harmless */
    DISPLAY("\xe2\x80\xae"
            "txt",
            0, "\\u{202e}txt", 11);                                               /* right-to-left override */
    DISPLAY("\xc0\xaf\xed\xa0\x80\xff", 0, "\\xc0\\xaf\\xed\\xa0\\x80\\xff", 24); /* overlong, surrogate, never valid */
    DISPLAY("cut \xe2\x82", 0, "cut \\xe2\\x82", 12);                             /* ends inside a character */
    DISPLAY("\x7f", 0, "\\x7f", 4);
}

static void widths_of_unicode(void **state)
{
    DISPLAY("grün", 0, "grün", 4);
    DISPLAY("日本", 0, "日本", 4);
    DISPLAY("e\xcc\x81", 0, "e\xcc\x81", 1); /* e and a combining acute */
    DISPLAY("日本語", 5, "日本…", 5);
    DISPLAY("日本語", 6, "日本語", 6);
    DISPLAY("abcdef", 5, "abcd…", 5);
    DISPLAY("abcde", 5, "abcde", 5);
    DISPLAY("abcd\033", 5, "abcd…", 5); /* an escape is not cut in two */
}

static void long_names_are_cut(void **state)
{
    char name[150];
    struct text expected = { 0 };

    memset(name, 'x', sizeof name);
    text_add(&expected, " Time (%)  Total Time (ns)  PID  ");
    text_add_repeat(&expected, ' ', 48);
    text_add(&expected, "Name");
    text_add_repeat(&expected, ' ', 48);
    text_add(&expected, "\n --------  ---------------  ---  ");
    text_add_repeat(&expected, '-', 100);
    text_add(&expected, "\n      1.0                2    3  ");
    text_add_repeat(&expected, 'x', 99);
    text_add(&expected, "…\n");
    expect_table(&print_column, table_of_one(1, 2, 3, name, sizeof name), &time_unit_ns, 0, text_string(&expected));
    text_free(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_of_columns),
        cmocka_unit_test(empty_cells_and_empty_tables),
        cmocka_unit_test(units_of_time),
        cmocka_unit_test(csv_quotes_what_it_must),
        cmocka_unit_test(names_cannot_reach_the_terminal),
        cmocka_unit_test(widths_of_unicode),
        cmocka_unit_test(long_names_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
