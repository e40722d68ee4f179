/* Room in lists that grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

struct element {
    uint64_t number, square;
};

static void test_elements_stay(void **state)
{
    struct element *list = NULL;
    size_t room = 0, moves = 0;
    for (size_t i = 0; i < 100000; i++) {
        size_t before = room;
        assert_int_equal(array_reserve(&list, &room, i + 1, sizeof *list), 0);
        assert_true(room > i);
        moves += room != before;
        list[i] = (struct element){ i, i * i };
    }
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(list[i].square, list[i].number * list[i].number);
    assert_true(moves < 20);
    free(list);
}

static void test_what_is_there_is_enough(void **state)
{
    char *list = NULL;
    size_t room = 0;
    assert_int_equal(array_reserve(&list, &room, 5000, 1), 0);
    char *before = list;
    size_t had = room;
    assert_true(had >= 5000);
    assert_int_equal(array_reserve(&list, &room, 5000, 1), 0);
    assert_ptr_equal(list, before);
    assert_int_equal(room, had);
    free(list);
}

static void test_too_much(void **state)
{
    struct element *list = NULL;
    size_t room = 0;
    assert_int_equal(array_reserve(&list, &room, 10, sizeof *list), 0);
    struct element *before = list;
    size_t had = room;
    assert_int_equal(array_reserve(&list, &room, SIZE_MAX / 2, sizeof *list), -1);
    assert_ptr_equal(list, before);
    assert_int_equal(room, had);
    free(list);
}

static void test_maximum(void **state)
{
    struct element *list = NULL;
    size_t room = 0;
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(array_reserve_up_to(&list, &room, i + 1, 1000, sizeof *list), 0);
    assert_int_equal(room, 1000);
    assert_int_equal(array_reserve_up_to(&list, &room, 1001, 1000, sizeof *list), -1);
    assert_int_equal(room, 1000);
    free(list);
}

/* Everything that was never written is 0, also in memory that was used before. */
static void test_zeroed(void **state)
{
    for (size_t step = 13; step < 5000; step = step * 7 + 1) {
        unsigned char *dirt = malloc(100000), *list = NULL;
        size_t room = 0, had = 0;
        memset(dirt, 0xff, 100000);
        free(dirt);
        for (size_t wanted = step; wanted < 20000; wanted += step) {
            assert_int_equal(array_reserve_zeroed(&list, &room, wanted, 1), 0);
            assert_true(room >= wanted);
            for (size_t i = 0; i < room; i++)
                if (list[i] != (i < had ? 0xff : 0))
                    fail_msg("byte %zu of %zu, %zu of them old, is %u", i, room, had, list[i]);
            memset(list, 0xff, room);
            had = room;
        }
        assert_int_equal(array_reserve_zeroed_up_to(&list, &room, had + 3, had + 2, 1), -1);
        assert_int_equal(room, had);
        assert_int_equal(array_reserve_zeroed_up_to(&list, &room, had + 1, had + 2, 1), 0);
        assert_int_equal(room, had + 2);
        assert_int_equal(list[had - 1] << 16 | list[had] << 8 | list[had + 1], 0xff0000);
        free(list);
    }
}

static void test_first_not_below(void **state)
{
    static const uint64_t sorted[] = { 3, 5, 5, 5, UINT64_MAX };
    static const struct {
        uint64_t wanted;
        size_t place;
    } cases[] = { { 0, 0 }, { 3, 0 }, { 4, 1 }, { 5, 1 }, { 6, 4 }, { UINT64_MAX, 4 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(array_first_not_below(sorted, 5, cases[i].wanted), cases[i].place);
    assert_int_equal(array_first_not_below(sorted, 4, UINT64_MAX), 4);
    assert_int_equal(array_first_not_below(NULL, 0, 1), 0);
}

/* All three uses of the search, from all places to all places of lists with repeated numbers, against a linear one. */
static void test_bisect(void **state)
{
    for (size_t step = 1; step < 5; step++) {
        int list[24];
        for (size_t i = 0; i < COUNT_OF(list); i++)
            list[i] = (int)(i / step);
        for (size_t from = 0; from <= COUNT_OF(list); from++)
            for (uint32_t end = 0; end <= COUNT_OF(list); end++)
                for (int wanted = -1; wanted <= (int)COUNT_OF(list); wanted++) {
                    size_t first = from, after = from, last = 0;
                    while (first < end && list[first] < wanted)
                        first++;
                    while (after < end && list[after] <= wanted)
                        after++;
                    for (size_t i = 1; i < end && list[i] <= wanted; i++)
                        last = i;
                    assert_int_equal(BISECT((uint32_t)from, end, i, list[i] < wanted), first);
                    assert_int_equal(BISECT(from, (size_t)end, i, list[i] <= wanted), after);
                    assert_int_equal(BISECT(1, (int)end, i, list[i] <= wanted) - 1, last);
                }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_stay), cmocka_unit_test(test_what_is_there_is_enough),
        cmocka_unit_test(test_too_much),      cmocka_unit_test(test_maximum),
        cmocka_unit_test(test_zeroed),        cmocka_unit_test(test_first_not_below),
        cmocka_unit_test(test_bisect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
