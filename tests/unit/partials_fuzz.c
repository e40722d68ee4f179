/* Damaged partial results: the fuzzer's entry with fixed seeds, the same every time. Under ASan and UBSan this finds
 * overflows and reads out of bounds; without, it still finds crashes, endless loops and refusals without a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../fuzz/fuzz_partials.c"

enum { SEEDS = 3000, MOST_BYTES = 64 };

static void damaged_results_are_harmless(void **state)
{
    uint64_t chance = 18;

    for (int i = 0; i < SEEDS; i++) {
        uint8_t bytes[MOST_BYTES];
        for (size_t b = 0; b < sizeof bytes; b++)
            bytes[b] = (uint8_t)(next_random(&chance) >> 24);
        LLVMFuzzerTestOneInput(bytes, next_random(&chance) % (sizeof bytes + 1));
    }
}

/* Of a valid one, the figures and the median are those of its numbers, three times. */
static void a_valid_result_is_merged(void **state)
{
    struct text valid = { 0 };
    struct table *table;
    struct error err;

    add_valid(&valid, 1234567);
    const struct analysis_partial same = { text_string(&valid), valid.length };
    const struct analysis_partial thrice[] = { same, same, same };
    assert_int_equal(summary_merge(&shape, thrice, 3, &table, &err), 0);
    assert_int_equal(table_row_count(table), MOST_GROUPS);
    table_delete(table);
    text_free(&valid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_results_are_harmless),
        cmocka_unit_test(a_valid_result_is_merged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
