/* Figures of numbers: against values computed by hand and by slower, plainer ways; the same
 * on any number of workers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/engine/group.h"
#include "base/array.h"

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Puts the numbers under one key, spread over workers, and returns the only group; *keep is to be deleted. */
static struct group group_of(const int64_t *values, size_t count, int workers, struct groups **keep)
{
    struct groups *groups = groups_new(workers);
    struct group_key key = { { 7, 8, 9, 10 } };
    struct group *list;
    size_t list_count;
    struct error err;

    for (size_t i = 0; i < count; i++)
        assert_int_equal(groups_add(groups, (int)(i % (size_t)workers), &key, values[i]), 0);
    assert_int_equal(groups_finish(groups, NULL, NULL, &list, &list_count, &err), 0);
    assert_int_equal(list_count, 1);
    *keep = groups;
    return list[0];
}

static void check_exact(const int64_t *values, size_t count, double mean, double median, double deviation)
{
    struct groups *keep;
    struct group group = group_of(values, count, 1, &keep);

    assert_int_equal(group.figures.count, count);
    assert_true(statistics_mean(&group.figures) == mean);
    assert_true(group.median == median);
    assert_float_equal(statistics_deviation(&group.figures), deviation, 1e-9 * (1 + deviation));
    groups_delete(keep);
}

/* From a textbook: 2, 4, 4, 4, 5, 5, 7, 9 has mean 5, squares around it 32, so a sample deviation of sqrt(32 / 7). */
static void known_figures(void **state)
{
    check_exact((int64_t[]){ 2, 4, 4, 4, 5, 5, 7, 9 }, 8, 5, 4.5, 2.1380899352993952);
    check_exact((int64_t[]){ 42 }, 1, 42, 42, 0);
    check_exact((int64_t[]){ 1, 2 }, 2, 1.5, 1.5, 0.70710678118654757);
    check_exact((int64_t[]){ -3, 0, 3 }, 3, 0, 0, 3);
    check_exact((int64_t[]){ 5, 5, 5, 5 }, 4, 5, 5, 0);
}

/* A naive sum of squares in doubles gives 0 or nonsense here. */
static void deviation_of_large_numbers_that_differ_little(void **state)
{
    int64_t base = INT64_C(3600) * 1000000000 * 1000;

    check_exact((int64_t[]){ base + 4, base + 7, base + 13, base + 16 }, 4, (double)base + 10, (double)base + 10,
                5.477225575051661);
}

static void median_of_any_shape(void **state)
{
    static const struct {
        size_t count;
        uint64_t modulus;
        int64_t offset;
        unsigned outliers;
    } shapes[] = {
        { 33, 100, 0, 0 },          { 1000, 5, 0, 0 },  { 1001, 1u << 30, 0, 0 }, { 5000, 64, -32, 3 },
        { 4999, UINT64_MAX, 0, 0 }, { 20000, 2, 0, 1 }, { 30000, 1000, 0, 100 },  { 40, 2, 1, 0 },
        { 65536, 3000, 17, 5 },
    };

    for (size_t shape = 0; shape < COUNT_OF(shapes); shape++) {
        size_t count = shapes[shape].count;
        int64_t *values = malloc(count * sizeof *values);
        for (size_t i = 0; i < count; i++)
            values[i] = (int64_t)(next_random() % shapes[shape].modulus) + shapes[shape].offset;
        for (unsigned i = 0; i < shapes[shape].outliers; i++)
            values[next_random() % count] = INT64_C(1) << 50;
        struct groups *keep;
        struct group group = group_of(values, count, 1, &keep);
        qsort(values, count, sizeof *values, compare_values);
        double expected = ((double)values[(count - 1) / 2] + (double)values[count / 2]) / 2;
        if (group.median != expected)
            fail_msg("shape %zu: median %f, expected %f", shape, group.median, expected);
        assert_int_equal(group.figures.min, values[0]);
        assert_int_equal(group.figures.max, values[count - 1]);
        groups_delete(keep);
        free(values);
    }
}

static void number_of_workers_changes_nothing(void **state)
{
    enum { COUNT = 10007 };
    int64_t *values = malloc(COUNT * sizeof *values);
    struct groups *keep;

    for (size_t i = 0; i < COUNT; i++)
        values[i] = (int64_t)(next_random() % 1000000007);
    struct group one = group_of(values, COUNT, 1, &keep);
    double deviation = statistics_deviation(&one.figures);
    groups_delete(keep);
    for (int workers = 2; workers <= 9; workers++) {
        struct group many = group_of(values, COUNT, workers, &keep);
        assert_true(many.figures.total == one.figures.total);
        assert_true(many.median == one.median);
        assert_true(statistics_deviation(&many.figures) == deviation);
        groups_delete(keep);
    }
    free(values);
}

static void many_keys_stay_apart(void **state)
{
    enum { KEYS = 50000, WORKERS = 3 };
    struct groups *groups = groups_new(WORKERS);
    struct group *list;
    size_t count;
    struct error err;

    for (int64_t round = 0; round < 3; round++)
        for (int64_t i = 0; i < KEYS; i++) {
            struct group_key key = { { i, -i, i % 7, i << 32 } };
            assert_int_equal(groups_add(groups, (int)((i + round) % WORKERS), &key, i + round), 0);
        }
    assert_int_equal(groups_finish(groups, NULL, NULL, &list, &count, &err), 0);
    assert_int_equal(count, KEYS);
    for (size_t i = 0; i < count; i++) {
        int64_t key = list[i].key.part[0];
        assert_int_equal(list[i].figures.count, 3);
        assert_int_equal((int64_t)list[i].figures.total, 3 * key + 3);
        assert_true(list[i].median == (double)(key + 1));
    }
    groups_delete(groups);
}

static void keep_last_digit(void *context, struct group_key *key)
{
    key->part[0] %= 10;
}

static void keys_that_become_one_are_one_group(void **state)
{
    struct groups *groups = groups_new(2);
    struct group *list;
    size_t count;
    struct error err;

    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(groups_add(groups, (int)(i % 2), &(struct group_key){ { i } }, i), 0);
    assert_int_equal(groups_finish(groups, keep_last_digit, NULL, &list, &count, &err), 0);
    assert_int_equal(count, 10);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(list[i].figures.count, 100);
        assert_true(list[i].median == (double)(495 + list[i].key.part[0]));
    }
    groups_delete(groups);
}

/* Times of a damaged report: nonsense, but a number, and no overflow that a sanitizer would stop at. */
static void numbers_beyond_reason(void **state)
{
    struct statistics figures = { 0 };

    for (int i = 0; i < 50; i++)
        statistics_add(&figures, INT64_MAX - i);
    assert_true(statistics_deviation(&figures) >= 0);
    for (int i = 0; i < 50; i++)
        statistics_add(&figures, INT64_MIN + i);
    assert_true(statistics_deviation(&figures) >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_figures),         cmocka_unit_test(deviation_of_large_numbers_that_differ_little),
        cmocka_unit_test(median_of_any_shape),   cmocka_unit_test(number_of_workers_changes_nothing),
        cmocka_unit_test(many_keys_stay_apart),  cmocka_unit_test(keys_that_become_one_are_one_group),
        cmocka_unit_test(numbers_beyond_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
