/* Keys, their figures, and orders by thread and time, beside the slow and plain way to get the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "base/array.h"

static uint64_t random_state;

static uint64_t random_number(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return random_state >> 20;
}

static void keys_count_from_0_in_order(void **state)
{
    struct keys keys = { .width = 2 };

    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(keys_add(&keys, (int64_t[]){ i, -i }), i);
    for (int64_t i = 999; i >= 0; i--)
        assert_int_equal(keys_add(&keys, (int64_t[]){ i, -i }), i);
    assert_int_equal(keys_add(&keys, (int64_t[]){ 1, 1 }), 1000);
    assert_int_equal(keys_get(&keys, 7)[1], -7);
    keys_free(&keys);
}

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

enum { VALUES = 5000, GROUPS = 7 };

static void figures_are_those_of_sorted_values(void **state)
{
    static int64_t values[VALUES], sorted[VALUES];
    static uint32_t groups[VALUES];
    struct keys_figures figures[GROUPS];

    random_state = 5;
    for (int i = 0; i < VALUES; i++) {
        groups[i] = random_number() % 11 == 0 ? NO_KEY : (uint32_t)(random_number() % (GROUPS - 1));
        values[i] = (int64_t)(random_number() % (random_number() % 2 ? 50 : 1000000)) - 20;
    }
    assert_int_equal(keys_summarize(figures, GROUPS, groups, values, VALUES), 0);
    for (uint32_t group = 0; group < GROUPS; group++) {
        size_t count = 0;
        int64_t total = 0;
        for (int i = 0; i < VALUES; i++)
            if (groups[i] == group) {
                sorted[count++] = values[i];
                total += values[i];
            }
        qsort(sorted, count, sizeof sorted[0], compare_values);
        assert_int_equal(figures[group].figures.count, count);
        assert_true(figures[group].figures.total == total);
        if (!count)
            continue;
        assert_int_equal(figures[group].figures.min, sorted[0]);
        assert_int_equal(figures[group].figures.max, sorted[count - 1]);
        assert_true(figures[group].median == ((double)sorted[(count - 1) / 2] + (double)sorted[count / 2]) / 2);
    }
    assert_int_equal(figures[GROUPS - 1].figures.count, 0);
}

static void rows_lie_by_thread_and_time(void **state)
{
    static int64_t threads[VALUES], times[VALUES];
    static uint32_t order[VALUES];

    random_state = 9;
    for (uint32_t i = 0; i < VALUES; i++) {
        threads[i] = (int64_t)(random_number() % 5) - 2;
        times[i] = random_number() % 50 == 0 ? INT64_MAX - (int64_t)(random_number() % 3)
                                             : (int64_t)(random_number() % 3000) - 1500;
        if (random_number() % 100 == 0)
            times[i] = INT64_MIN;
        order[i] = i;
    }
    assert_int_equal(order_by_thread(order, VALUES, threads, times), 0);
    for (uint32_t i = 1; i < VALUES; i++) {
        uint32_t a = order[i - 1], b = order[i];
        if (threads[a] != threads[b])
            assert_true(threads[a] < threads[b]);
        else if (times[a] != times[b])
            assert_true(times[a] < times[b]);
        else
            assert_true(a < b); /* as it was */
    }
}

/* Rows whose times are in order may still be of threads that are not, and the last row may be the only one that is
 * late. */
static void rows_in_order_stay(void **state)
{
    int64_t threads[] = { 1, 1, 2, 2, 2, 3 }, times[] = { 5, 5, 1, 2, 2, 0 };
    uint32_t order[6];

    for (int late = 0; late < 3; late++) {
        static const uint32_t wanted[3][6] = { { 0, 1, 2, 3, 4, 5 }, { 5, 0, 1, 2, 3, 4 }, { 5, 0, 1, 2, 3, 4 } };
        for (uint32_t i = 0; i < 6; i++)
            order[i] = i;
        threads[5] = late == 0 ? 3 : late == 1 ? 0 : 1;
        times[5] = late == 1 ? 9 : 0;
        assert_int_equal(order_by_thread(order, 6, threads, times), 0);
        for (int i = 0; i < 6; i++)
            assert_int_equal(order[i], wanted[late][i]);
    }
}

/* Runs in order, from one to more than are merged: each as long as the others, with times that runs share. */
static void runs_are_merged(void **state)
{
    static const size_t lengths[] = { 1, 3, 60, 1700, 2500, 4999 };
    static int64_t times[VALUES];
    static uint32_t order[VALUES];

    for (size_t l = 0; l < COUNT_OF(lengths); l++) {
        for (uint32_t i = 0; i < VALUES; i++) {
            order[i] = i;
            times[i] = (int64_t)(i % lengths[l] / 2) * 1000000 - (int64_t)(i / lengths[l] % 2);
        }
        assert_int_equal(order_by_time(order, VALUES, times), 0);
        for (int i = 1; i < VALUES; i++)
            assert_true(times[order[i - 1]] < times[order[i]] ||
                        (times[order[i - 1]] == times[order[i]] && order[i - 1] < order[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_count_from_0_in_order),
        cmocka_unit_test(figures_are_those_of_sorted_values),
        cmocka_unit_test(rows_lie_by_thread_and_time),
        cmocka_unit_test(rows_in_order_stay),
        cmocka_unit_test(runs_are_merged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
