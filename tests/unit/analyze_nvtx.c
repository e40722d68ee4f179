/* The NVTX and OS runtime reports on small captures made by hand: domains, open ranges,
 * nesting, and what is not counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/registry.h"
#include "cmd/print/print.h"
#include "made_report.h"

enum { OPEN = -1, PUSHPOP = 59, STARTEND = 60, MARK = 34, DOMAIN_CREATE = 75 };

static int64_t thread(int64_t pid, int64_t tid)
{
    return INT64_C(1) << 48 | pid << 24 | tid;
}

/* A name that starts with '#' is a registered string. */
static void event(struct writer *writer, int type, int64_t begin, int64_t end, const char *name, int64_t global_tid,
                  int64_t domain)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, begin);
    if (end != OPEN)
        ROW_SET(&row, NVTX_EVENTS, end, end);
    ROW_SET(&row, NVTX_EVENTS, eventType, type);
    if (name && *name == '#')
        ROW_SET(&row, NVTX_EVENTS, textId, writer_string(writer, name + 1, strlen(name + 1)));
    else if (name)
        ROW_SET(&row, NVTX_EVENTS, text, writer_string(writer, name, strlen(name)));
    ROW_SET(&row, NVTX_EVENTS, globalTid, global_tid);
    ROW_SET(&row, NVTX_EVENTS, domainId, domain);
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static void call(struct writer *writer, int64_t begin, int64_t end, const char *name, int event_class)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, begin);
    ROW_SET(&row, OSRT_API, end, end);
    ROW_SET(&row, OSRT_API, eventClass, event_class);
    ROW_SET(&row, OSRT_API, globalTid, thread(1, 1));
    ROW_SET(&row, OSRT_API, nameId, writer_string(writer, name, strlen(name)));
    writer_append(writer, TABLE_OSRT_API, &row);
}

/* Runs a report with an option (NULL: none) and compares it as csv, without the header. */
static void expect_with(struct report *report, const char *name, const struct analysis_option *option,
                        const char *expected)
{
    struct analysis_request request = { .options = option, .option_count = option != NULL };
    struct table *table;
    struct error err;
    struct text out = { 0 };

    if (analysis_run(analysis_find(name), report, &request, &table, &err) != 0)
        fail_msg("%s", err.text);
    print_csv.table(&out, table, &(struct print_request){ .time = &time_unit_ns });
    assert_string_equal(strchr(text_string(&out), '\n') + 1, expected);
    text_free(&out);
    table_delete(table);
}

static void expect(struct report *report, const char *name, const char *expected)
{
    expect_with(report, name, NULL, expected);
}

/* Two processes use the same domain number for different domains; one names it only after its ranges. */
static void domains_belong_to_their_process(void **state)
{
    struct writer *writer = start();

    event(writer, DOMAIN_CREATE, 0, OPEN, "left", thread(1, 1), 5);
    event(writer, PUSHPOP, 10, 20, "work", thread(1, 1), 5);
    event(writer, PUSHPOP, 10, 40, "work", thread(2, 2), 5);
    event(writer, PUSHPOP, 10, 50, "work", thread(2, 2), 0);
    event(writer, DOMAIN_CREATE, 60, OPEN, "right", thread(2, 3), 5);
    event(writer, PUSHPOP, 70, 71, "#work", thread(1, 9), 5);
    struct report *report = finish(writer);
    expect(report, "nvtx_sum",
           "49.4,40,1,40.0,40.0,40,40,0.0,PushPop,:work\n"
           "37.0,30,1,30.0,30.0,30,30,0.0,PushPop,right:work\n"
           "13.6,11,2,5.5,5.5,1,10,6.4,PushPop,left:work\n");
    report_close(report);
}

/* An open range counts up to the last moment of the table, which here is a mark. */
static void open_ranges_end_with_the_capture(void **state)
{
    struct writer *writer = start();

    event(writer, PUSHPOP, 0, OPEN, "outer", thread(1, 1), 0);
    event(writer, STARTEND, 100, OPEN, "async", thread(1, 1), 0);
    event(writer, PUSHPOP, 200, 300, "inner", thread(1, 1), 0);
    event(writer, MARK, 1000, OPEN, "mark", thread(1, 1), 0);
    struct report *report = finish(writer);
    expect(report, "nvtx_pushpop_sum",
           "90.9,1000,1,1000.0,1000.0,1000,1000,0.0,:outer\n9.1,100,1,100.0,100.0,100,100,0.0,:inner\n");
    expect(report, "nvtx_startend_sum", "100.0,900,1,900.0,900.0,900,900,0.0,:async\n");
    report_close(report);
}

/* Calls of an operator, with and without numbers behind its name, are one row in each domain, with statistics of all of
 * them; a name that only looks alike is another. */
static void operators_fold_by_name(void **state)
{
    struct writer *writer = start();

    event(writer, DOMAIN_CREATE, 0, OPEN, "mine", thread(1, 1), 5);
    event(writer, PUSHPOP, 0, 10, "aten::add, seq = 12, op_id = 34", thread(1, 1), 0);
    event(writer, PUSHPOP, 20, 50, "#aten::add, op_id = 35, sizes = [[2, 3], []]", thread(1, 2), 0);
    event(writer, PUSHPOP, 60, 80, "aten::add", thread(2, 1), 0);
    event(writer, PUSHPOP, 60, 160, "aten::add, op_id = 36", thread(1, 1), 5);
    event(writer, PUSHPOP, 60, 65, "aten::add, twice", thread(1, 1), 0);
    event(writer, PUSHPOP, 60, 64, NULL, thread(1, 1), 0);
    struct report *report = finish(writer);
    expect_with(report, "nvtx_sum", &(struct analysis_option){ "fold", "true" },
                "59.2,100,1,100.0,100.0,100,100,0.0,PushPop,mine:aten::add\n"
                "35.5,60,3,20.0,20.0,10,30,10.0,PushPop,aten::add\n"
                "3.0,5,1,5.0,5.0,5,5,0.0,PushPop,\"aten::add, twice\"\n"
                "2.4,4,1,4.0,4.0,4,4,0.0,PushPop,\n");
    expect_with(report, "nvtx_pushpop_sum", &(struct analysis_option){ "rows", "1" },
                "59.2,100,1,100.0,100.0,100,100,0.0,\"mine:aten::add, op_id = 36\"\n");
    report_close(report);
}

/* Rows come in the order in which ranges ended, as a collector writes them. The second
 * thread starts at the same time. */
static void trace_finds_the_nesting(void **state)
{
    struct writer *writer = start();

    event(writer, PUSHPOP, 10, 20, "b", thread(1, 1), 0);
    event(writer, PUSHPOP, 30, 35, "d", thread(1, 1), 0);
    event(writer, PUSHPOP, 30, 40, "c", thread(1, 1), 0);
    event(writer, PUSHPOP, 0, 100, "a", thread(1, 1), 0);
    event(writer, PUSHPOP, 0, 50, "other", thread(1, 2), 0);
    event(writer, PUSHPOP, 100, 110, "next", thread(1, 1), 0);
    struct report *report = finish(writer);
    expect(report, "nvtx_pushpop_trace",
           "0,100,100,20,80,:a,1,1,0,2,4,,:4,:a\n"
           "0,50,50,0,50,:other,1,2,0,0,5,,:5,:other\n"
           "10,20,10,0,10,:b,1,1,1,0,1,4,:4:1,--:b\n"
           "30,40,10,5,5,:c,1,1,1,1,3,4,:4:3,--:c\n"
           "30,35,5,0,5,:d,1,1,2,0,2,3,:4:3:2,----:d\n"
           "100,110,10,0,10,:next,1,1,0,0,6,,:6,:next\n");
    report_close(report);
}

/* Deeper than a thousand levels the stack shows its innermost ranges only, or its text would grow with the square. */
static void trace_of_a_very_deep_stack(void **state)
{
    enum { DEPTH = 3000 };
    struct writer *writer = start();
    struct analysis_request request = { 0 };
    struct table *table;
    struct error err;

    for (int i = 0; i < DEPTH; i++)
        event(writer, PUSHPOP, i, 10 * DEPTH - i, "deep", thread(1, 1), 0);
    struct report *report = finish(writer);
    assert_int_equal(analysis_run(analysis_find("nvtx_pushpop_trace"), report, &request, &table, &err), 0);
    assert_int_equal(table_row_count(table), DEPTH);
    const struct table_cell *last = table_row(table, DEPTH - 1);
    assert_int_equal(last[8].integer, DEPTH - 1);
    assert_memory_equal(last[12].text.bytes, "…:2001:", strlen("…:2001:"));
    table_delete(table);
    report_close(report);
}

/* nsys keeps notes about the start and end of tracing in the same table, with other classes. */
static void osrt_counts_calls_only(void **state)
{
    struct writer *writer = start();

    call(writer, 0, 0, "[Unknown]", 31);
    call(writer, 10, 30, "read", 27);
    call(writer, 40, 50, "read", 27);
    call(writer, 60, 61, "write", 27);
    struct report *report = finish(writer);
    expect(report, "osrt_sum", "96.8,30,2,15.0,15.0,10,20,7.1,read\n3.2,1,1,1.0,1.0,1,1,0.0,write\n");
    report_close(report);
}

static void without_data_there_is_a_sentence(void **state)
{
    struct writer *writer = start();
    struct analysis_request request = { 0 };
    struct table *table;
    struct error err;

    call(writer, 10, 30, "read", 27);
    struct report *report = finish(writer);
    assert_int_equal(analysis_run(analysis_find("nvtx_sum"), report, &request, &table, &err), ERR_NO_DATA);
    assert_string_equal(err.text, "the report does not contain NV Tools Extension (NVTX) data");
    report_close(report);
}

static void options_that_mean_nothing(void **state)
{
    struct writer *writer = start();
    struct analysis_request request = { .options = &(struct analysis_option){ "base", NULL }, .option_count = 1 };
    struct table *table;
    struct error err;

    call(writer, 10, 30, "read", 27);
    struct report *report = finish(writer);
    assert_int_equal(analysis_run(analysis_find("osrt_sum"), report, &request, &table, &err), ERR_BAD_ARGUMENT);
    report_close(report);
}

static void names_that_nsys_had_before(void **state)
{
    assert_ptr_equal(analysis_find("nvtxsum"), analysis_find("nvtx_sum"));
    assert_ptr_equal(analysis_find("osrtsum"), analysis_find("osrt_sum"));
    assert_null(analysis_find("nvtx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_belong_to_their_process),  cmocka_unit_test(operators_fold_by_name),
        cmocka_unit_test(open_ranges_end_with_the_capture), cmocka_unit_test(trace_finds_the_nesting),
        cmocka_unit_test(trace_of_a_very_deep_stack),       cmocka_unit_test(osrt_counts_calls_only),
        cmocka_unit_test(without_data_there_is_a_sentence), cmocka_unit_test(options_that_mean_nothing),
        cmocka_unit_test(names_that_nsys_had_before),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
