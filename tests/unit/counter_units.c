/* Units of counters: what ncu prints, and what a report holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "import/ncu.h"
#include "report/counters/counter_units.h"

/* Exact: powers of ten, and what strtod() makes of the same digits. */
#define assert_same(got, wanted)                                                                                       \
    do {                                                                                                               \
        double got_ = (got), wanted_ = (wanted);                                                                       \
        if (got_ != wanted_)                                                                                           \
            fail_msg("%.17g, not %.17g", got_, wanted_);                                                               \
    } while (0)

static void printed_units_have_a_base(void **state)
{
    static const struct {
        const char *unit, *base;
        double factor;
    } units[] = {
        { "ns", "ns", 1 },
        { "usecond", "ns", 1e3 },
        { "msecond", "ns", 1e6 },
        { "s", "ns", 1e9 },
        { "byte", "byte", 1 },
        { "Kbyte", "byte", 1e3 },
        { "Tbyte/s", "byte/s", 1e12 },
        { "Gbyte/second", "byte/s", 1e9 },
        { "byte/nsecond", "byte/s", 1e9 },
        { "Kbyte/block", "byte/block", 1e3 },
        { "cycle/nsecond", "hz", 1e9 },
        { "cycle/usecond", "hz", 1e6 },
        { "Mhz", "hz", 1e6 },
        { "inst/cycle", "inst/cycle", 1 },
        { "sector/us", "sector/s", 1e6 },
        { "%/Kbyte", "%/byte", 1e3 },
        { "Kbyte/cycle", "byte/cycle", 1e3 },
        { "register/thread", "register/thread", 1 },
        { "%", "%", 1 },
        { "", "", 1 },
        { "Mystery", "Mystery", 1 },
    };
    struct text base = { 0 };

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        text_clear(&base);
        assert_same(counter_unit_base(&base, units[i].unit, strlen(units[i].unit)), units[i].factor);
        assert_string_equal(text_string(&base), units[i].base);
    }
    text_free(&base);
}

static void values_are_printed_in_units_of_their_size(void **state)
{
    static const struct {
        const char *base;
        double value;
        const char *unit;
        double size;
    } units[] = {
        { "ns", 999, "ns", 1 },
        { "ns", 1000, "us", 1e3 },
        { "ns", 2.5e9, "s", 1e9 },
        { "byte", 233472, "Kbyte", 1e3 },
        { "byte/block", 205696, "Kbyte/block", 1e3 },
        { "byte/s", 3.2e12, "Tbyte/s", 1e12 },
        { "hz", 1239496049.13, "Ghz", 1e9 },
        { "hz", 1034e9, "Ghz", 1e9 },
        { "sector", 187500, "sector", 1 },
        { "sector/s", 115627e6, "sector/ns", 1e9 },
        { "sector/s", 41.9e6, "sector/us", 1e6 },
        { "sector/s", 999, "sector/s", 1 },
        { "sector/cycle", 5000, "sector/cycle", 1 },
        { "%/byte", 2614, "%/Kbyte", 1e3 },
        { "byte/cycle", 1504, "Kbyte/cycle", 1e3 },
        { "%", 5000, "%", 1 },
        { "", 1e9, "", 1 },
        { "bytes", 1e9, "bytes", 1 },
        { "b", 1e9, "b", 1 },
    };
    struct text unit = { 0 };

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        text_clear(&unit);
        assert_same(counter_unit_scaled(&unit, units[i].base, units[i].value), units[i].size);
        assert_string_equal(text_string(&unit), units[i].unit);
    }
    text_free(&unit);
}

static void numbers_have_separators_or_not(void **state)
{
    static const struct {
        const char *text;
        size_t taken;
        double value;
    } numbers[] = {
        { "12", 2, 12 },
        { "1,234,567.89", 12, 1234567.89 },
        { "-0.5", 4, -0.5 },
        { "1.5e+03", 7, 1500 },
        { "1,024 (512; 512)", 5, 1024 },
        { "12,34", 0, 0 },
        { "1,2345", 0, 0 },
        { ",123", 0, 0 },
        { "PolicySpread", 0, 0 },
        { "", 0, 0 },
        { "-", 0, 0 },
        { "0x10", 0, 0 },
        { "1 2", 0, 0 },
        { "9.0.1", 0, 0 },
        { "1e999", 0, 0 },
    };

    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        double value = 0;
        assert_int_equal(ncu_number((struct json_slice){ numbers[i].text, strlen(numbers[i].text) }, &value),
                         numbers[i].taken);
        if (numbers[i].taken)
            assert_same(value, numbers[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_units_have_a_base),
        cmocka_unit_test(values_are_printed_in_units_of_their_size),
        cmocka_unit_test(numbers_have_separators_or_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
