/* Calls with a faster form, on captures made by hand. All times are in ms; the program lives for 100. */
#include <stdio.h>
#include <string.h>

#include "analyze/model/places/slow_calls.h"
#include "analyze/registry.h"
#include "base/text.h"
#include "made_report.h"

enum { MS = 1000000, PID = 1, WHOLE = 100, SAMPLE = 10 };

static struct writer *start_python(void)
{
    struct writer *writer = start();
    struct row_TACHO_PROCESS process = { 0 };
    struct row_TACHO_THREAD thread = { 0 };
    struct row_ANALYSIS_DETAILS capture = { 0 };

    ROW_SET(&process, TACHO_PROCESS, start, 0);
    ROW_SET(&process, TACHO_PROCESS, end, WHOLE * MS);
    ROW_SET(&process, TACHO_PROCESS, globalPid, made_thread(PID, 0));
    writer_append(writer, TABLE_TACHO_PROCESS, &process);
    ROW_SET(&thread, TACHO_THREAD, start, 0);
    ROW_SET(&thread, TACHO_THREAD, end, WHOLE * MS);
    ROW_SET(&thread, TACHO_THREAD, globalTid, made_thread(PID, PID));
    writer_append(writer, TABLE_TACHO_THREAD, &thread);
    ROW_SET(&capture, ANALYSIS_DETAILS, globalVid, 1);
    ROW_SET(&capture, ANALYSIS_DETAILS, duration, WHOLE * MS);
    ROW_SET(&capture, ANALYSIS_DETAILS, startTime, 0);
    ROW_SET(&capture, ANALYSIS_DETAILS, stopTime, WHOLE * MS);
    writer_append(writer, TABLE_ANALYSIS_DETAILS, &capture);
    return writer;
}

struct made_frame {
    const char *function, *file;
    int64_t line;
};
#define OWN "/home/me/own.py"
#define PANDAS "/usr/lib/python3/dist-packages/pandas"

/* The innermost frame first; ends with one without a function. */
static void stack(struct writer *writer, int64_t id, const struct made_frame *frames)
{
    for (int64_t depth = 0; frames[depth].function; depth++) {
        struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, id);
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, symbol, made_string(writer, frames[depth].function));
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, module, made_string(writer, frames[depth].file));
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, depth);
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, line, frames[depth].line);
        writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
    }
}

/* Ten samples, one in the middle of each tenth: "1122333344". */
static void samples(struct writer *writer, const char *stacks)
{
    for (int64_t i = 0; stacks[i]; i++) {
        struct row_TACHO_PYTHON_SAMPLE row = { 0 };
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, (SAMPLE * i + SAMPLE / 2) * MS);
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, made_thread(PID, PID));
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, threadState, 1);
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, stacks[i] - '0');
        writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
    }
}

static void os_call(struct writer *writer, const char *name, int64_t from, int64_t to)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, from * MS);
    ROW_SET(&row, OSRT_API, end, to * MS);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, made_thread(PID, PID));
    ROW_SET(&row, OSRT_API, nameId, made_string(writer, name));
    writer_append(writer, TABLE_OSRT_API, &row);
}

/* "50 own.py:6 slow, 30 own.py:9 save": the impact in ms and the place of each row. */
static const char *found_in(struct writer *writer)
{
    static char out[512];
    const struct analysis_request all = { 0 };
    struct report *report = finish(writer);
    struct table *table = NULL;
    struct error err;
    size_t used = 0;

    if (analysis_run(&rule_slow_calls, report, &all, &table, &err) != 0)
        fail_msg("%s", err.text);
    size_t impact = table_find_column(table, "Impact"), where = table_find_column(table, "Where");
    *out = 0;
    for (size_t i = 0; i < table_row_count(table); i++) {
        const struct table_cell *row = table_row(table, i);
        used += (size_t)snprintf(out + used, sizeof out - used, "%s%d %.*s", i ? ", " : "",
                                 (int)(row[impact].integer / MS), (int)row[where].text.length, row[where].text.bytes);
    }
    table_delete(table);
    report_close(report);
    return out;
}

/* pandas calls the program's own function for each row: what that does belongs to the line that calls pandas. */
static void what_a_slow_call_calls_belongs_to_its_caller(void **state)
{
    struct writer *writer = start_python();

    stack(writer, 1,
          (struct made_frame[]){ { "slow.<locals>.<lambda>", OWN, 7 },
                                 { "DataFrame.apply", PANDAS "/core/frame.py", 9000 },
                                 { "slow", OWN, 6 },
                                 { 0 } });
    stack(writer, 2,
          (struct made_frame[]){ { "FrameApply.wrap", PANDAS "/core/apply.py", 800 },
                                 { "DataFrame.apply", PANDAS "/core/frame.py", 9000 },
                                 { "slow", OWN, 6 },
                                 { 0 } });
    stack(writer, 3, (struct made_frame[]){ { "slow", OWN, 8 }, { 0 } });
    samples(writer, "1212133333");
    assert_string_equal(found_in(writer), "50 own.py:6 slow");
}

/* Decorators stand between the program and the function that it called. */
static void decorators_hide_nothing(void **state)
{
    struct writer *writer = start_python();

    stack(writer, 1,
          (struct made_frame[]){ { "CSVFormatter.save", PANDAS "/io/formats/csvs.py", 250 },
                                 { "NDFrame.to_csv", PANDAS "/core/generic.py", 3700 },
                                 { "deprecate.<locals>.wrapper", PANDAS "/util/_decorators.py", 211 },
                                 { "save", OWN, 9 },
                                 { 0 } });
    stack(writer, 2, (struct made_frame[]){ { "main", OWN, 20 }, { 0 } });
    samples(writer, "2222111222");
    assert_string_equal(found_in(writer), "30 own.py:9 save");
}

/* The program's own functions may have any name, and most functions of libraries are as fast as they can be. */
static void names_alone_say_nothing(void **state)
{
    struct writer *writer = start_python();

    stack(writer, 1, (struct made_frame[]){ { "apply", OWN, 5 }, { "main", OWN, 20 }, { 0 } });
    stack(writer, 2,
          (struct made_frame[]){ { "DataFrame.merge", PANDAS "/core/frame.py", 100 }, { "main", OWN, 21 }, { 0 } });
    samples(writer, "1111122222");
    assert_string_equal(found_in(writer), "");
}

/* Six waits of 8 ms for the disk, at a line; one that sleeps is a row of its own. */
static void waits_are_calls_too(void **state)
{
    struct writer *writer = start_python();

    stack(writer, 1, (struct made_frame[]){ { "insert", OWN, 7 }, { "main", OWN, 20 }, { 0 } });
    stack(writer, 2, (struct made_frame[]){ { "poll", OWN, 12 }, { "main", OWN, 21 }, { 0 } });
    samples(writer, "1111112222");
    for (int64_t i = 0; i < 6; i++)
        os_call(writer, "fdatasync", SAMPLE * i + 1, SAMPLE * i + 9);
    os_call(writer, "clock_nanosleep", 65, 95);
    assert_string_equal(found_in(writer), "48 own.py:7 insert, 30 own.py:12 poll");
}

/* A method that one source of stacks names without its class is the same function. */
static void loading_is_one_cause(void **state)
{
    struct writer *writer = start_python();

    stack(writer, 1,
          (struct made_frame[]){
              { "Pictures.__getitem__", OWN, 7 },
              { "_BaseDataLoaderIter.__next__", "/x/site-packages/torch/utils/data/dataloader.py", 600 },
              { "train", OWN, 20 },
              { 0 } });
    stack(writer, 2, (struct made_frame[]){ { "__getitem__", OWN, 8 }, { 0 } });
    stack(writer, 3, (struct made_frame[]){ { "train", OWN, 22 }, { 0 } });
    samples(writer, "1122333333");
    assert_string_equal(found_in(writer), "40 own.py:7 Pictures.__getitem__");
}

static void rows_are_found_by_file_and_name(void **state)
{
    static const char frame[] = PANDAS "/core/frame.py";

    int at = slow_call_find(frame, strlen(frame), "DataFrame.apply");
    assert_int_not_equal(at, NO_SLOW_CALL);
    assert_int_equal(slow_call_find(frame, strlen(frame), "apply"), at);
    assert_int_equal(slow_call_find(frame, strlen(frame), "DataFrame.reapply"), NO_SLOW_CALL);
    assert_int_equal(slow_call_find(OWN, strlen(OWN), "apply"), NO_SLOW_CALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_slow_call_calls_belongs_to_its_caller),
        cmocka_unit_test(decorators_hide_nothing),
        cmocka_unit_test(names_alone_say_nothing),
        cmocka_unit_test(waits_are_calls_too),
        cmocka_unit_test(loading_is_one_cause),
        cmocka_unit_test(rows_are_found_by_file_and_name),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
