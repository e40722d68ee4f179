/* Damaged partial results: the fuzzer's entry with fixed seeds, the same every time. Under ASan and UBSan this finds
 * overflows and reads out of bounds; without, it still finds crashes, endless loops and refusals without a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../fuzz/fuzz_partials.c"
#include "report/format/format.h"

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

/* A result of groups without texts, all the same: count, least, greatest, sum (below 2^64) and no list. */
static void add_same(struct text *out, size_t groups, uint64_t count, int64_t min, int64_t max, uint64_t total)
{
    text_add_varint(out, groups);
    for (size_t i = 0; i < groups; i++) {
        for (int text = 0; text < 1 + SUMMARY_TEXTS; text++)
            text_add_varint(out, 0);
        text_add_varint(out, count);
        text_add_varint(out, zigzag(min));
        text_add_varint(out, zigzag(max));
        text_add_varint(out, total);
        text_add_varint(out, 0);
        text_add_varint(out, 0); /* the squares */
        text_add_varint(out, 0);
        text_add_varint(out, 0); /* the numbers */
    }
}

/* Sums that no numbers can have, and a group so often that the sum would overflow. */
static void figures_that_cannot_be_are_damage(void **state)
{
    const struct {
        size_t groups;
        uint64_t count;
        int64_t min, max;
        uint64_t total;
    } damaged[] = {
        { 1, 3, 5, 9, 14 },
        { 1, 3, 5, 9, 28 },
        { 1, 0, 0, 0, 1 },
        { 1, 2, 9, 5, 14 },
        { 2, UINT64_C(1) << 40, 0, INT64_MAX, 7 },
        { 3, UINT64_MAX / 2, 0, INT64_MAX, 7 },
    };

    for (size_t i = 0; i < COUNT_OF(damaged); i++) {
        struct text text = { 0 };
        struct table *table = NULL;
        struct error err;
        add_same(&text, damaged[i].groups, damaged[i].count, damaged[i].min, damaged[i].max, damaged[i].total);
        const struct analysis_partial partial = { text_string(&text), text.length };
        assert_int_equal(summary_merge(&shape, &partial, 1, &table, &err), ERR_CORRUPT);
        assert_null(table);
        text_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_results_are_harmless),
        cmocka_unit_test(a_valid_result_is_merged),
        cmocka_unit_test(figures_that_cannot_be_are_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
