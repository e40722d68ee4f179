/* Room in lists that grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

static void test_first_not_below(void **state)
{
    static const uint64_t sorted[] = { 3, 5, 5, 5, UINT64_MAX };
    static const struct {
        uint64_t wanted;
        size_t place;
    } cases[] = { { 0, 0 }, { 3, 0 }, { 4, 1 }, { 5, 1 }, { 6, 4 }, { UINT64_MAX, 4 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(array_first_not_below(sorted, 5, cases[i].wanted), cases[i].place);
    assert_int_equal(array_first_not_below(sorted, 4, UINT64_MAX), 4);
    assert_int_equal(array_first_not_below(NULL, 0, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_stay),
        cmocka_unit_test(test_what_is_there_is_enough),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_first_not_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
