/* Which name an address gets from the symbols of a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "symbols/names/symbol_names.h"

static const uint64_t addresses[] = { 0x1000, 0x1010, 0x1017, 0x1020, 0x2000, 0x2005, 0x2010, 0x2020 };
enum { COUNT = COUNT_OF(addresses) };

static void expect(const struct symbol_names_entry *symbols, size_t count, const char *const expected[COUNT])
{
    struct symbol_names names;
    assert_int_equal(symbol_names_begin(&names, addresses, COUNT), 0);
    for (size_t i = 0; i < count; i++) {
        struct symbol_names_entry symbol = symbols[i];
        symbol.room = strlen(symbol.text);
        symbol_names_add(&names, &symbol);
    }
    symbol_names_settle(&names);
    for (size_t i = 0; i < COUNT; i++) {
        const char *name = symbol_names_get(&names, i);
        assert_string_equal(name ? name : "none", expected[i] ? expected[i] : "none");
    }
    symbol_names_free(&names);
}

/* As _init and _fini are: their sections are short, and entries of a linkage table without names follow. */
static void test_a_label_ends_with_its_section(void **state)
{
    static const struct symbol_names_entry symbols[] = {
        { .start = 0x1000, .end = 0x1017, .text = "_init", .rank = 8 },
        { .start = 0x2000, .size = 6, .end = 0x3000, .text = "main", .rank = 18 },
    };
    expect(symbols, 2, (const char *const[COUNT]){ "_init", "_init", NULL, NULL, "main", "main", NULL, NULL });
}

static void test_a_label_reaches_to_the_next_function(void **state)
{
    static const struct symbol_names_entry symbols[] = {
        { .start = 0x0fff, .text = "label", .rank = 8 },
        { .start = 0x2000, .size = 6, .text = "main", .rank = 18 },
        { .start = 0x2010, .text = "last", .rank = 8 },
    };
    expect(symbols, 3,
           (const char *const[COUNT]){ "label", "label", "label", "label", "main", "main", "last", "last" });
}

static void test_the_innermost_function_and_the_better_name(void **state)
{
    static const struct symbol_names_entry symbols[] = {
        { .start = 0x1000, .size = 0x2000, .text = "all", .rank = 18 },
        { .start = 0x2000, .size = 0x10, .text = "weak", .rank = 17 },
        { .start = 0x2000, .size = 0x10, .text = "strong", .rank = 18 },
    };
    expect(symbols, 3, (const char *const[COUNT]){ "all", "all", "all", "all", "strong", "strong", "all", "all" });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_label_ends_with_its_section),
        cmocka_unit_test(test_a_label_reaches_to_the_next_function),
        cmocka_unit_test(test_the_innermost_function_and_the_better_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
