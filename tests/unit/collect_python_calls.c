/* Python stacks as agents tell of them, and as a program might that writes over its side. */
#include "made_report.h"

#include "analyze/engine/event_columns.h"
#include "collect/capture/capture_new.h"
#include "collect/sources/python/python_calls.h"
#include "wire/wire_python.h"

static const struct collect_options options;
static struct collect_result capture_result;
static struct capture *capture;
static struct process process;

/* A record whose text fills its words to the end, so that reading on is seen by a sanitizer; padded with
 * zeros to a word otherwise. */
static int tell(uint64_t number, const char *text, size_t length)
{
    uint32_t words = WIRE_HEAD_WORDS + 1 + (uint32_t)((length + 7) / 8);
    struct wire_record *record = calloc(words, 8);
    record->type = WIRE_PYTHON_STACK;
    record->words = (uint16_t)words;
    record->body[0] = number;
    memcpy(record->body + 1, text, length);
    int result = python_calls_record(&process, record, words);
    free(record);
    return result;
}

static void begin(void)
{
    capture = capture_new(&options, &capture_result);
    capture->collector.writer = start();
    process = (struct process){ .collector = &capture->collector };
}

static struct report *end(void)
{
    struct writer *writer = capture->collector.writer;
    SOURCES_CALL(process_free, &process);
    SOURCES_CALL(free, &capture->collector);
    capture_free(capture);
    return finish(writer);
}

static const char *const names[] = { "id", "stackDepth", "line", "calledByC", "symbol", "module" };
enum { ID, DEPTH, LINE, ENTRY, SYMBOL, MODULE, COLUMNS };

static void assert_row(struct report *report, const struct report_columns *rows, size_t row, const int64_t numbers[4],
                       const char *symbol, const char *module)
{
    for (int i = 0; i < 4; i++)
        assert_int_equal(columns_is_null(rows, (size_t)i, row) ? 0 : rows->values[i][row], numbers[i]);
    assert_string_equal(report_string(report, rows->values[SYMBOL][row], NULL), symbol);
    assert_string_equal(report_string(report, rows->values[MODULE][row], NULL), module);
}

static void equal_stacks_are_one(void **state)
{
    struct report_columns rows;
    struct error err;
    begin();
    assert_int_equal(tell(11, "3\t/a.py\tf\n*9\t/b.py\tC.g", 22), 0);
    assert_int_equal(tell(12, "3\t/a.py\tf\n*9\t/b.py\tC.g", 22), 0);
    assert_int_equal(tell(13, "4\t/a.py\tf", 9), 0);
    assert_int_equal(python_calls_find(&process, 11), 1);
    assert_int_equal(python_calls_find(&process, 12), 1);
    assert_int_equal(python_calls_find(&process, 13), 2);
    assert_int_equal(python_calls_find(&process, 14), 0);
    assert_int_equal(python_calls_find(&process, 0), 0);
    assert_int_equal(tell(11, "4\t/a.py\tf", 9), 0); /* another one has got its number */
    assert_int_equal(python_calls_find(&process, 11), 2);
    struct report *report = end();
    assert_int_equal(columns_read(report, "TACHO_PYTHON_CALLCHAINS", names, COLUMNS, &rows, &err), 0);
    assert_int_equal(rows.rows, 3);
    assert_row(report, &rows, 0, (int64_t[]){ 1, 0, 3, 0 }, "f", "/a.py");
    assert_row(report, &rows, 1, (int64_t[]){ 1, 1, 9, 1 }, "C.g", "/b.py");
    assert_row(report, &rows, 2, (int64_t[]){ 2, 0, 4, 0 }, "f", "/a.py");
    report_columns_free(&rows);
    report_close(report);
}

static void bad_texts_do_no_harm(void **state)
{
    static const char *const texts[] = { "\n",
                                         "\n\n\n",
                                         "*",
                                         "\t",
                                         "*\t\t",
                                         "99999999999999999999\tx",
                                         "x\ty\tz\tw",
                                         "1\tfile without an end..",
                                         "\xff\xfe\t\xc0\t\x80" };
    begin();
    assert_int_equal(tell(1, "", 0), -1);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        tell(100 + i, texts[i], strlen(texts[i]));
    assert_int_equal(tell(0, "1\ta\tb", 5), 0);
    report_close(end());
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(equal_stacks_are_one),
                                        cmocka_unit_test(bad_texts_do_no_harm) };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
