/* Every format of one table, with names that try to break it, and what may stand behind a format's name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/print/print.h"

static const struct table_column columns[] = {
    { "Time", CELL_REAL, UNIT_PERCENT, 1 },
    { "Total Time", CELL_INT, UNIT_NS, 0 },
    { "Name", CELL_TEXT, UNIT_NONE, 0 },
};

static struct table *two_rows(void)
{
    static const char name[] = "<b>\"a\\b\"\t&'é\x01\xff\n";
    struct table *table = table_new(columns, 3);
    struct table_cell *row = table_add_row(table);

    cell_set_real(&row[0], 99.95);
    cell_set_int(&row[1], INT64_MAX);
    cell_set_text(table, &row[2], name, sizeof name - 1);
    row = table_add_row(table);
    cell_set_real(&row[0], NAN);
    cell_set_text(table, &row[2], "x", 1);
    return table;
}

/* The format may have arguments: "csv:nohdr". */
static void expect(const char *how, struct print_request request, const char *expected)
{
    struct table *table = two_rows();
    const struct print_format *format;
    struct text out = { 0 };
    struct error err;
    char copy[200];

    snprintf(copy, sizeof copy, "%s", how);
    request.time = request.time ? request.time : &time_unit_ns;
    if (print_format_parse(copy, &format, &request, &err) != 0)
        fail_msg("%s", err.text);
    format->table(&out, table, &request);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    table_delete(table);
}

static const struct print_request plain;

static void boxes(void **state)
{
    expect("table", plain,
           "+----------+---------------------------+-------------------------+\n"
           "| Time (%) |      Total Time (ns)      |          Name           |\n"
           "+----------+---------------------------+-------------------------+\n"
           "|    100.0 | 9,223,372,036,854,775,807 | <b>\"a\\b\"\\t&'é\\x01\\xff\\n |\n"
           "|      nan |                           | x                       |\n"
           "+----------+---------------------------+-------------------------+\n");
}

static void separated(void **state)
{
    expect("csv", plain,
           "Time (%),Total Time "
           "(ns),Name\n100.0,9223372036854775807,\"<b>\"\"a\\b\"\"\t&'é\x01\xef\xbf\xbd\n\"\nnan,,x\n");
    expect("csv:nohdr", plain, "100.0,9223372036854775807,\"<b>\"\"a\\b\"\"\t&'é\x01\xef\xbf\xbd\n\"\nnan,,x\n");
    expect("tsv", plain,
           "Time (%)\tTotal Time (ns)\tName\n100.0\t9223372036854775807\t<b>\"a\\b\" &'é\x01\xef\xbf\xbd \nnan\t\tx\n");
    expect("tsv:nohdr:esc", plain, "100.0\t9223372036854775807\t<b>\"a\\b\"\\t&'é\x01\xef\xbf\xbd\\n\nnan\t\tx\n");
}

static void json(void **state)
{
    expect("json", plain,
           "[\n  {\"Time (%)\": 100.0, \"Total Time (ns)\": 9223372036854775807, \"Name\": "
           "\"<b>\\\"a\\\\b\\\"\\u0009&'é\\u0001\\ufffd\\u000a\"},\n"
           "  {\"Time (%)\": null, \"Total Time (ns)\": \"\", \"Name\": \"x\"}\n]\n");
    expect("json", (struct print_request){ .null_is_null = 1, .to_terminal = 1 },
           "[\n  {\"Time (%)\": 100.0, \"Total Time (ns)\": 9223372036854775807, \"Name\": "
           "\"<b>\\\"a\\\\b\\\"\\u0009&'\\u00e9\\u0001\\ufffd\\u000a\"},\n"
           "  {\"Time (%)\": null, \"Total Time (ns)\": null, \"Name\": \"x\"}\n]\n");
    /* A double would have made it …776; seconds keep all nine decimals. */
    expect("json", (struct print_request){ .time = time_unit_find("seconds") },
           "[\n  {\"Time (%)\": 100.0, \"Total Time (s)\": 9223372036.854775807, \"Name\": "
           "\"<b>\\\"a\\\\b\\\"\\u0009&'é\\u0001\\ufffd\\u000a\"},\n"
           "  {\"Time (%)\": null, \"Total Time (s)\": \"\", \"Name\": \"x\"}\n]\n");
}

static void html(void **state)
{
    static const char rows[] = "<tr><td class=\"number\">100.0</td><td class=\"number\">9,223,372,036,854,775,807</td>"
                               "<td>&lt;b&gt;&quot;a\\b&quot;\\t&amp;&#39;é\\x01\\xff\\n</td></tr>\n"
                               "<tr><td class=\"number\">nan</td><td class=\"number\"></td><td>x</td></tr>\n";
    char table[1000], document[2000];

    snprintf(table, sizeof table,
             "<table>\n<thead>\n<tr><th>Time (%%)</th><th>Total Time "
             "(ns)</th><th>Name</th></tr>\n</thead>\n<tbody>\n%s</tbody>\n</table>\n",
             rows);
    expect("htable", plain, table);
    snprintf(
        document, sizeof document,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>A&lt;B</title>\n"
        "<link rel=\"stylesheet\" href=\"http://x/y.css\">\n</head>\n<body>\n<h1>A&lt;B</h1>\n%s</body>\n</html>\n",
        table);
    expect("hdoc:title=A<B:css=http://x/y.css", plain, document);
    expect("hdoc:css=http://x/y.css:title=A<B", plain, document);
}

static void widths(void **state)
{
    expect("column:0:5:.", plain,
           " Tota…           Name          \n"
           " -----  -----------------------\n"
           " 9,22…  <b>\"a\\b\"\\t&'é\\x01\\xff\\n\n"
           "        x                      \n");
    expect("column:nohdr:nofmt:6", plain,
           "  100.0  9223372036854775807  <b>\"a\\b\"\\t&'é\\x01\\xff\\n\n"
           "    nan                       x                      \n");
}

static void too_wide_for_the_terminal(void **state)
{
    struct print_request request = { .time = &time_unit_ns, .terminal_columns = 56 };
    struct table *table = table_new(columns, 3);
    struct table_cell *row = table_add_row(table);
    struct text out = { 0 };

    cell_set_real(&row[0], 1);
    cell_set_int(&row[1], 2);
    cell_set_text(table, &row[2], "abcdefghijklmnopqrstuvwxyz0123456789", 36);
    print_column.table(&out, table, &request);
    assert_string_equal(text_string(&out), " Time (%)  Total Time (ns)              Name            \n"
                                           " --------  ---------------  ----------------------------\n"
                                           "      1.0                2  abcdefghijklmnopqrstuvwxyz0…\n");
    text_clear(&out);
    request.terminal_columns = 44; /* not even short names fit into one line */
    print_column.table(&out, table, &request);
    assert_string_equal(text_string(&out), " Time (%)  Total Time (ns)\n"
                                           "                     Name                \n"
                                           " --------  ---------------\n"
                                           "     ------------------------------------\n"
                                           "      1.0                2\n"
                                           "     abcdefghijklmnopqrstuvwxyz0123456789\n");
    text_free(&out);
    table_delete(table);
}

static void wrong_arguments(void **state)
{
    static const char *const wrong[] = { "cvs",         "csv:nolimit",  "json:nohdr",
                                         "column:wide", "column:-1",    "column:99999999",
                                         "hdoc:title",  "htable:css=x", "" };

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct print_request request = { 0 };
        const struct print_format *format;
        struct error err = { 0 };
        char copy[50];
        snprintf(copy, sizeof copy, "%s", wrong[i]);
        if (print_format_parse(copy, &format, &request, &err) != ERR_BAD_ARGUMENT)
            fail_msg("'%s' was taken", wrong[i]);
    }
}

static void reals_that_read_back(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        { 0.1, "0.1" },   { 1.0 / 3, "0.3333333333333333" },
        { 2, "2.0" },     { 1e300, "1e+300" },
        { -0.5, "-0.5" }, { 123456789012345680.0, "1.2345678901234568e+17" },
    };
    const struct table_column column = { "x", CELL_REAL, UNIT_ID, -1 };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct text out = { 0 };
        print_number(&out, &column, &(struct table_cell){ .kind = CELL_REAL, .real = cases[i].value }, &time_unit_ns,
                     (struct print_number_style){ 0 });
        assert_string_equal(text_string(&out), cases[i].text);
        text_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes),
        cmocka_unit_test(separated),
        cmocka_unit_test(json),
        cmocka_unit_test(html),
        cmocka_unit_test(widths),
        cmocka_unit_test(too_wide_for_the_terminal),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(reals_that_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
