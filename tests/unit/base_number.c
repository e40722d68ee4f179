/* Numbers as text, for tables and for sentences, and times as people write them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/human.h"
#include "base/number.h"

static void expect_fixed(double value, int decimals, const char *expected)
{
    struct text out = { 0 };

    number_add_fixed(&out, value, decimals, 1);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}

/* nsys's own figures show the rule: 14399.25 became 14399.3, and 30894.35, which is a
 * little less in binary, 30894.3. */
static void rounding_is_half_away_from_zero(void **state)
{
    expect_fixed(14399.25, 1, "14,399.3");
    expect_fixed(30894.35, 1, "30,894.3");
    expect_fixed(-14399.25, 1, "-14,399.3");
    expect_fixed(0.05, 1, "0.1");
    expect_fixed(-0.04, 1, "0.0");
    expect_fixed(999.95, 1, "1,000.0");
    expect_fixed(0, 3, "0.000");
    expect_fixed(2.5, 0, "3");
    expect_fixed(NAN, 1, "nan");
    expect_fixed(-INFINITY, 1, "-inf");
    expect_fixed(1e30, 1, "1000000000000000019884624838656.0");
}

static void integers_of_any_size(void **state)
{
    static const struct {
        int64_t value;
        const char *grouped;
    } cases[] = {
        { 0, "0" },
        { 999, "999" },
        { 1000, "1,000" },
        { -1000, "-1,000" },
        { INT64_MAX, "9,223,372,036,854,775,807" },
        { INT64_MIN, "-9,223,372,036,854,775,808" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct text out = { 0 };
        number_add_integer(&out, cases[i].value, 1);
        assert_string_equal(text_string(&out), cases[i].grouped);
        text_free(&out);
    }
}

static void expect_time(int64_t ns, const char *expected)
{
    struct text out = { 0 };

    human_time(&out, ns);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}

static void times_for_sentences(void **state)
{
    expect_time(0, "0 ns");
    expect_time(999, "999 ns");
    expect_time(1500, "1.50 µs");
    expect_time(-2500000, "-2.50 ms");
    expect_time(999499999, "999 ms");
    expect_time(999500000, "1.00 s");
    expect_time(INT64_C(59999) * 1000000, "60.0 s");
    expect_time(INT64_C(600) * 1000000000, "10 min 00 s");
    expect_time(INT64_C(3599999) * 1000000, "59 min 59 s");
    expect_time(INT64_C(7500) * 1000000000, "2 h 05 min");
}

static void expect_moment(int64_t ns, int64_t resolution_ns, const char *expected)
{
    struct text out = { 0 };

    human_moment(&out, ns, resolution_ns);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}

/* Three moments that are 13.5 s to human_time(); one after ten minutes; no more digits than ns have. */
static void moments_that_can_be_found(void **state)
{
    expect_moment(INT64_C(13457500000), 100000, "13.4575 s");
    expect_moment(INT64_C(13457600000), 100000, "13.4576 s");
    expect_moment(INT64_C(13457500000), 1000000000, "13.46 s");
    expect_moment(INT64_C(7384250000000), 100000000, "7384.25 s");
    expect_moment(-2500000, 10000, "-0.00250 s");
    expect_moment(1234567, 0, "0.001234567 s");
    expect_moment(999, 1, "0.000000999 s");
    expect_moment(0, 100000, "0.0000 s");
}

static void times_that_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        { "250", 250 },
        { "-7ns", -7 },
        { "9007199254740993", INT64_C(9007199254740993) },
        { "9007199254740993ns", INT64_C(9007199254740993) },
        { "1.5s", 1500000000 },
        { "2sec", 2000000000 },
        { "-0.25us", -250 },
        { "1e3ms", 1000000000 },
        { "9223372036854775807", INT64_MAX },
        { "-9223372036854775808ns", INT64_MIN },
        { "9223372036854775.807us", INT64_MAX },
    };
    static const char *const bad[] = { "", "s", "1.5 s", "1h", "12x", "nan", "inf", "1e10s", "9223372036854775808" };
    int64_t ns = 0;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_true(human_read_time(cases[i].text, strlen(cases[i].text), &ns));
        assert_int_equal(ns, cases[i].ns);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(human_read_time(bad[i], strlen(bad[i]), &ns));
    assert_true(human_read_time("3s/5s", 2, &ns)); /* no more bytes than asked for */
    assert_int_equal(ns, 3000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_is_half_away_from_zero),
        cmocka_unit_test(integers_of_any_size),
        cmocka_unit_test(times_for_sentences),
        cmocka_unit_test(moments_that_can_be_found),
        cmocka_unit_test(times_that_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
