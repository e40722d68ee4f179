/* The scanner of traces: exact times, escapes, and what it makes of text that ends anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_scan.h"

/* A copy of the text with zeros behind it, as the scanner wants it. */
static char *copy_of(const char *text, size_t length)
{
    char *copy = calloc(1, length + SCAN_GUARD);
    assert_non_null(copy);
    memcpy(copy, text, length);
    return copy;
}

static int scan_all(const char *text, size_t length, int whole, size_t *taken)
{
    char *copy = copy_of(text, length);
    struct json_scan scan = { .at = copy, .end = copy + length, .whole = whole };
    struct json_slice value;
    int found = json_scan_value(&scan, PLACE_OBJECT, &value);
    *taken = (size_t)(scan.at - copy);
    free(copy);
    return found;
}

static struct json_slice slice_of(const char *text)
{
    return (struct json_slice){ text, strlen(text) };
}

static void times_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } times[] = {
        { "0", 0 },
        { "0.001", 1 },
        { "3844976963093.907", 3844976963093907 },
        { "12.5", 12500 },
        { "12.34", 12340 },
        { "1.0009", 1000 },
        { "-7.25", -7250 },
        { "9007199254740993.001", INT64_C(9007199254740993001) },
        { "\"5.5\"", 5500 },
        { "1.5e3", 1500000 },
    };
    int64_t ns;
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        assert_int_equal(json_slice_ns(slice_of(times[i].text), &ns), 1);
        assert_int_equal(ns, times[i].ns);
    }
    static const char *const none[] = { "",      "-",    "NaN", "null", "1.2.3", "99999999999999999999999",
                                        "1e300", "\"\"", "true" };
    for (size_t i = 0; i < COUNT_OF(none); i++)
        assert_int_equal(json_slice_ns(slice_of(none[i]), &ns), 0);
}

static void integers_that_fit(void **state)
{
    int64_t number;
    assert_int_equal(json_slice_integer(slice_of("140303604056064"), &number), 1);
    assert_int_equal(number, INT64_C(140303604056064));
    assert_int_equal(json_slice_integer(slice_of("-1"), &number), 1);
    assert_int_equal(number, -1);
    assert_int_equal(json_slice_integer(slice_of("18446744073709551615"), &number), 0);
    assert_int_equal(json_slice_integer(slice_of("[1]"), &number), 0);
}

static void escapes_are_resolved(void **state)
{
    static const struct {
        const char *json, *text;
    } texts[] = {
        { "\"plain\"", "plain" },
        { "\"a\\\"b\\\\c\\/d\\n\"", "a\"b\\c/d\n" },
        { "\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac" },
        { "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80" },
        { "\"\\ud83dx\"", "\xef\xbf\xbdx" },
        { "\"\\u12\"", "\\u12" },
        { "\"\\q\"", "\\q" },
    };
    struct text scratch = { 0 };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct json_slice got = json_slice_text(slice_of(texts[i].json), &scratch);
        assert_int_equal(got.length, strlen(texts[i].text));
        assert_memory_equal(got.bytes, texts[i].text, got.length);
    }
    text_free(&scratch);
}

/* Wherever the text is cut, the scanner asks for more, and takes all of it once it is there. */
static void a_cut_is_seen(void **state)
{
    static const char text[] = "{\"a\": [1, \"x\\\\\", {\"b\": \"y, \\\"z\\\"}\"}], \"c\": -1.5e3, \"d\": null}";
    size_t length = sizeof text - 1, taken;
    for (size_t cut = 0; cut < length; cut++)
        assert_int_equal(scan_all(text, cut, 0, &taken), SCAN_CUT);
    assert_int_equal(scan_all(text, length, 0, &taken), SCAN_OK);
    assert_int_equal(taken, length);
}

static void quotes_that_should_be_escaped(void **state)
{
    static const char text[] = "\"f(\"x\", 1)\", \"next\"";
    char *copy = copy_of(text, sizeof text - 1);
    struct json_scan scan = { .at = copy, .end = copy + sizeof text - 1 };
    struct json_slice value;
    assert_int_equal(json_scan_string(&scan, PLACE_OBJECT, &value), SCAN_OK);
    assert_int_equal(value.length, strlen("\"f(\"x\", 1)\""));
    assert_int_equal(scan.repaired, 2);
    free(copy);
}

static void what_is_no_value(void **state)
{
    size_t taken;
    assert_int_equal(scan_all("}", 1, 1, &taken), SCAN_BAD);
    assert_int_equal(scan_all("[1}", 3, 1, &taken), SCAN_BAD);
    char deep[200];
    memset(deep, '[', sizeof deep);
    assert_int_equal(scan_all(deep, sizeof deep, 1, &taken), SCAN_BAD);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_exact),
        cmocka_unit_test(integers_that_fit),
        cmocka_unit_test(escapes_are_resolved),
        cmocka_unit_test(a_cut_is_seen),
        cmocka_unit_test(quotes_that_should_be_escaped),
        cmocka_unit_test(what_is_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
