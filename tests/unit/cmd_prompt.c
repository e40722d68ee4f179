/* The line editor: keys as a terminal sends them, and the line that they make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/prompt/line_edit.h"

#define UP "\033[A"
#define DOWN "\033[B"
#define RIGHT "\033[C"
#define LEFT "\033[D"

static const char *const word_list[] = { ".tables", "globalTid", "NVTX_EVENTS", "OSRT_API", "OSRT_CALLCHAINS", NULL };
static const struct line_words words = { word_list };

static enum line_event type(struct line_edit *edit, const char *keys)
{
    enum line_event event = LINE_NOTHING;

    for (; *keys; keys++)
        event = line_edit_key(edit, (unsigned char)*keys);
    return event;
}

/* Types on an empty line, with a | where the cursor is to be. */
static void check_typed(const struct history *history, const char *keys, const char *expected)
{
    struct line_edit edit = { 0 };
    struct text got = { 0 };

    line_edit_begin(&edit, history, &words);
    type(&edit, keys);
    text_add_bytes(&got, text_string(&edit.line), edit.at);
    text_add_char(&got, '|');
    text_add(&got, text_string(&edit.line) + edit.at);
    assert_string_equal(text_string(&got), expected);
    text_free(&got);
    line_edit_free(&edit);
}

static void test_keys(void **state)
{
    static const struct {
        const char *keys, *line;
    } cases[] = {
        { "abc", "abc|" },
        { "abc" LEFT LEFT "X", "aX|bc" },
        { "abc" LEFT RIGHT RIGHT "X", "abcX|" },
        { "abc\x01X", "X|abc" },
        { "abc\033[HX\033[FY", "XabcY|" },
        { "abc\033OHX\033[4~Y", "XabcY|" },
        { "abc\x7f", "ab|" },
        { "\x7f" LEFT, "|" },
        { "abc\x01\033[3~", "|bc" },
        { "abc\x01\x04", "|bc" },
        { "one two three\x17", "one two |" },
        { "one two  \x17\x17", "|" },
        { "one two three\033b\033bX", "one X|two three" },
        { "one two\x01\033fX", "oneX| two" },
        { "one two\x01\033[1;5CX", "oneX| two" },
        { "one two\x01\033d", "| two" },
        { "one two\033b\x15", "|two" },
        { "one two\033b\x0b", "one |" },
        { "one two\x17\x01\x19", "two|one " },
        /* characters of several bytes are one step; µ has two, € three, the last one four */
        { "aµ" LEFT "b", "ab|µ" },
        { "€€\x7f", "€|" },
        { "\xf0\x9f\x98\x80" LEFT "x", "x|\xf0\x9f\x98\x80" },
        /* what is no text is dropped: stray bytes, control characters, sequences that nobody knows */
        { "a\xff\x80\x1e"
          "b",
          "ab|" },
        { "a\xc3(b", "a(b|" },
        { "a\033[5~b", "ab|" },
        { "a\033[200~b\tc\033[201~d", "ab cd|" }, /* a paste: its tab completes nothing */
        { "a\xc3\"b", "a\"b|" },
        { "a\033[1;2;3;4;5;6;7;8;9;10b", "a|" },
    };
    const struct history none = { 0 };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_typed(&none, cases[i].keys, cases[i].line);
}

static void test_events(void **state)
{
    static const struct {
        const char *keys;
        enum line_event event;
    } cases[] = {
        { "a", LINE_CHANGED },    { "a\r", LINE_DONE },          { "\n", LINE_DONE },      { "a\x03", LINE_CANCEL },
        { "\x04", LINE_END },     { "a\x01\x04", LINE_CHANGED }, { "\x1a", LINE_SUSPEND }, { "\x0c", LINE_CLEAR },
        { "\033", LINE_NOTHING }, { "\033[", LINE_NOTHING },
    };
    const struct history none = { 0 };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct line_edit edit = { 0 };
        line_edit_begin(&edit, &none, NULL);
        assert_int_equal(type(&edit, cases[i].keys), cases[i].event);
        line_edit_free(&edit);
    }
}

static void test_history(void **state)
{
    char *lines[] = { "SELECT 1;", "select count(*) FROM OSRT_API;", "SELECT 2;" };
    const struct history history = { .lines = lines, .count = 3 };

    check_typed(&history, UP, "SELECT 2;|");
    check_typed(&history, UP UP UP UP, "SELECT 1;|");
    check_typed(&history, "new" UP DOWN, "new|");
    check_typed(&history, "new" UP UP DOWN DOWN DOWN, "new|");
    check_typed(&history,
                UP "\x7f\x7f"
                   "3;",
                "SELECT 3;|");
    check_typed(&history, "\x10\x10\x0e", "SELECT 2;|");
    check_typed(&history,
                "\x12"
                "sel",
                "SELECT 2;|");
    check_typed(&history,
                "\x12"
                "sel\x12",
                "select count(*) FROM OSRT_API;|");
    check_typed(&history,
                "\x12"
                "osrt",
                "select count(*) FROM OSRT_API;|");
    check_typed(&history,
                "\x12"
                "osrt\x7f\x7f\x7f\x7f"
                "2\x05 -- again",
                "SELECT 2; -- again|");
    check_typed(&history,
                "mine\x12"
                "zzz",
                "mine|");
    check_typed(&history,
                "\x12"
                "1" UP,
                "SELECT 1;|"); /* the oldest one: there is none above it */
}

static void test_completion(void **state)
{
    const struct history none = { 0 };
    struct line_edit edit = { 0 };

    check_typed(&none, "SELECT glo\t", "SELECT globalTid |");
    check_typed(&none, "from nv\t", "from NVTX_EVENTS |");
    check_typed(&none, "from os\t", "from OSRT_|");
    check_typed(&none, "from osrt_c\t", "from OSRT_CALLCHAINS |");
    check_typed(&none, ".ta\t", ".tables |");
    check_typed(&none, "sum(end) nothing\t", "sum(end) nothing|");
    check_typed(&none, "(glo) x\033b\x02\x02\t", "(globalTid |) x");
    check_typed(&none, " \t", " |");
    line_edit_begin(&edit, &none, &words);
    assert_int_equal(type(&edit, "OSRT_\t"), LINE_LIST);
    assert_string_equal(text_string(&edit.found), "OSRT_API\nOSRT_CALLCHAINS\n");
    line_edit_free(&edit);
}

/* ---- the history's file ---------------------------------------------------------------------------------------- */

static void open_in(struct history *history, const char *folder)
{
    setenv("XDG_STATE_HOME", folder, 1);
    history_open(history, "test");
}

static void test_history_file(void **state)
{
    char folder[] = "/tmp/tacho-history-XXXXXX", path[128];
    struct history first, second, third;
    struct stat status;

    assert_non_null(mkdtemp(folder));
    open_in(&first, folder);
    open_in(&second, folder);
    history_add(&first, "one");
    history_add(&second, "two"); /* at the same time */
    history_add(&first, "three");
    history_add(&first, "three");
    history_add(&first, "");
    history_close(&first);
    history_close(&second);
    open_in(&third, folder);
    assert_int_equal(third.count, 3);
    assert_string_equal(third.lines[0], "one");
    assert_string_equal(third.lines[1], "two");
    assert_string_equal(third.lines[2], "three");
    snprintf(path, sizeof path, "%s/tacho/test_history", folder);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    for (int i = 0; i < 2 * HISTORY_LINES; i++) {
        char line[32];
        snprintf(line, sizeof line, "line %d", i);
        history_add(&third, line);
    }
    assert_int_equal(third.count, HISTORY_LINES);
    history_close(&third);
    open_in(&first, folder); /* cuts the file */
    history_close(&first);
    open_in(&second, folder);
    assert_int_equal(second.count, HISTORY_LINES);
    assert_string_equal(second.lines[0], "line 1000");
    assert_string_equal(second.lines[HISTORY_LINES - 1], "line 1999");
    history_close(&second);
    unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0); /* nothing else was left in it */
    rmdir(folder);
}

static void test_no_folder(void **state)
{
    struct history history;

    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    history_open(&history, "test");
    history_add(&history, "one");
    assert_int_equal(history.count, 1);
    history_close(&history);
    open_in(&history, "/proc/nowhere");
    history_add(&history, "one");
    assert_int_equal(history.count, 1);
    history_close(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),       cmocka_unit_test(test_events),       cmocka_unit_test(test_history),
        cmocka_unit_test(test_completion), cmocka_unit_test(test_history_file), cmocka_unit_test(test_no_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
