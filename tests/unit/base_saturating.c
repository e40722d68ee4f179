/* Arithmetic that stays at the ends of its range: against the same in 128 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/saturating.h"

static const int64_t numbers[] = { 0,
                                   1,
                                   -1,
                                   2,
                                   -2,
                                   7,
                                   INT32_MAX,
                                   INT32_MIN,
                                   INT64_C(1) << 62,
                                   -(INT64_C(1) << 62),
                                   INT64_MAX,
                                   INT64_MAX - 1,
                                   INT64_MIN,
                                   INT64_MIN + 1 };
enum { COUNT = COUNT_OF(numbers) };

static int64_t clamp(__int128 exact)
{
    return exact > INT64_MAX ? INT64_MAX : exact < INT64_MIN ? INT64_MIN : (int64_t)exact;
}

static void sums_differences_and_products(void **state)
{
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++) {
            __int128 a = numbers[i], b = numbers[j];
            assert_int_equal(saturating_add(numbers[i], numbers[j]), clamp(a + b));
            assert_int_equal(saturating_subtract(numbers[i], numbers[j]), clamp(a - b));
            assert_int_equal(saturating_multiply(numbers[i], numbers[j]), clamp(a * b));
            assert_int_equal(saturating_duration(numbers[i], numbers[j]), clamp(b - a));
        }
}

static void whole_numbers(void **state)
{
    static const struct {
        double value;
        int64_t whole;
    } cases[] = {
        { 0, 0 },
        { 2.9, 2 },
        { -2.9, -2 },
        { 1e300, INT64_MAX },
        { -1e300, INT64_MIN },
        { 0x1p63, INT64_MAX },
        { -0x1p63, INT64_MIN },
        { 0x1.fffffffffffffp62, INT64_C(0x7ffffffffffffc00) },
        { __builtin_inf(), INT64_MAX },
        { -__builtin_inf(), INT64_MIN },
        { __builtin_nan(""), 0 },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(saturating_from_double(cases[i].value), cases[i].whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sums_differences_and_products),
                                        cmocka_unit_test(whole_numbers) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
