/* Hash maps: random operations against a plain list that is searched from one end to the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rounds.h"

static int memory_is_short; /* what map.h asks for is refused */

static void *calloc_unless_short(size_t count, size_t bytes)
{
    return memory_is_short ? NULL : calloc(count, bytes);
}
#define calloc calloc_unless_short
#include "base/hash_index.h"
#include "base/map.h"

struct item { /* a key of 0 is as good as any */
    uint64_t key;
    uint32_t value;
    uint8_t is_used;
};

static uint64_t worst_hash(uint64_t key)
{
    return 61; /* near the end of the first slots, so that searches go around it */
}

static uint64_t poor_hash(uint64_t key)
{
    return key >> 2;
}

MAP(good_map, struct item, uint64_t, key, is_used, hash_number, map_is_same_number)
MAP(poor_map, struct item, uint64_t, key, is_used, poor_hash, map_is_same_number)
MAP(worst_map, struct item, uint64_t, key, is_used, worst_hash, map_is_same_number)
#undef calloc

enum { TRUTH_MAX = 400, OPERATIONS = 5000 };

struct truth {
    struct item list[TRUTH_MAX];
    size_t count;
};

static struct item *truth_find(struct truth *truth, uint64_t key)
{
    for (size_t i = 0; i < truth->count; i++)
        if (truth->list[i].key == key)
            return &truth->list[i];
    return NULL;
}

static uint64_t random_number(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* One map against the truth: keys of few values, so that most are met again. */
#define RANDOM_OPERATIONS(map_name)                                                                                    \
    static void map_name##_is_walked(const struct map_name *map, struct truth *truth)                                  \
    {                                                                                                                  \
        size_t met = 0;                                                                                                \
        for (const struct item *item = map_name##_next(map, NULL); item; item = map_name##_next(map, item), met++) {   \
            const struct item *expected = truth_find(truth, item->key);                                                \
            assert_non_null(expected);                                                                                 \
            assert_int_equal(item->value, expected->value);                                                            \
        }                                                                                                              \
        assert_int_equal(met, truth->count);                                                                           \
        assert_int_equal(map->count, truth->count);                                                                    \
    }                                                                                                                  \
                                                                                                                       \
    static void test_##map_name(void **state)                                                                          \
    {                                                                                                                  \
        for (uint64_t round = 1; round <= 20; round += (uint64_t)rounds_step(20)) {                                    \
            struct map_name map = { 0 };                                                                               \
            struct truth truth = { .count = 0 };                                                                       \
            uint64_t seed = round;                                                                                     \
            for (uint32_t i = 0; i < OPERATIONS; i++) {                                                                \
                uint64_t key = random_number(&seed) % (8 * round), what = random_number(&seed) % 8;                    \
                key *= round & 1 ? 1 : UINT64_C(1) << 40;                                                              \
                struct item *item = map_name##_find(&map, key), *expected = truth_find(&truth, key);                   \
                assert_int_equal(item != NULL, expected != NULL);                                                      \
                if (item)                                                                                              \
                    assert_int_equal(item->value, expected->value);                                                    \
                if (item && what < 4) {                                                                                \
                    map_name##_remove(&map, item);                                                                     \
                    *expected = truth.list[--truth.count];                                                             \
                } else if (item) {                                                                                     \
                    item->value = expected->value = i;                                                                 \
                } else {                                                                                               \
                    struct item added = { key, i, 1 };                                                                 \
                    item = map_name##_add(&map, &added);                                                               \
                    assert_non_null(item);                                                                             \
                    assert_int_equal(item->key, key);                                                                  \
                    truth.list[truth.count++] = added;                                                                 \
                }                                                                                                      \
                if (i % 500 == 0)                                                                                     \
                    map_name##_is_walked(&map, &truth);                                                                \
                if (i % 1999 == 0) {                                                                                   \
                    map_name##_clear(&map);                                                                            \
                    truth.count = 0;                                                                                   \
                }                                                                                                      \
            }                                                                                                          \
            map_name##_is_walked(&map, &truth);                                                                        \
            map_name##_free(&map);                                                                                     \
            assert_null(map_name##_find(&map, 0));                                                                     \
        }                                                                                                              \
    }
RANDOM_OPERATIONS(good_map)
RANDOM_OPERATIONS(poor_map)
RANDOM_OPERATIONS(worst_map)

static void test_empty(void **state)
{
    struct good_map map = { 0 };
    assert_null(good_map_find(&map, 1));
    assert_null(good_map_next(&map, NULL));
    good_map_clear(&map);
    good_map_free(&map);
}

static void test_same_key_many_times(void **state)
{
    struct worst_map map = { 0 };
    unsigned met = 0;
    for (uint32_t i = 0; i < 300; i++)
        assert_non_null(worst_map_add(&map, &(struct item){ i % 3, i, 1 }));
    for (struct item *item = worst_map_find(&map, 2); item; item = worst_map_find_next(&map, item), met++)
        assert_int_equal(item->value % 3, 2);
    assert_int_equal(met, 100);
    for (unsigned i = 0; i < 100; i++)
        worst_map_remove(&map, worst_map_find(&map, 2));
    assert_null(worst_map_find(&map, 2));
    assert_int_equal(map.count, 200);
    worst_map_free(&map);
}

/* What could not be added leaves the map as it was. */
static void test_memory_is_short(void **state)
{
    struct good_map map = { 0 };
    memory_is_short = 1;
    assert_null(good_map_add(&map, &(struct item){ 1, 1, 1 }));
    assert_int_equal(good_map_reserve(&map, 1), -1);
    memory_is_short = 0;
    for (uint32_t i = 0; i < 32; i++)
        assert_non_null(good_map_add(&map, &(struct item){ i, i, 1 }));
    memory_is_short = 1;
    assert_null(good_map_add(&map, &(struct item){ 32, 32, 1 }));
    assert_int_equal(map.count, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(good_map_find(&map, i)->value, i);
    good_map_remove(&map, good_map_find(&map, 7));
    assert_non_null(good_map_add(&map, &(struct item){ 33, 33, 1 })); /* into the room of the one that went */
    memory_is_short = 0;
    good_map_free(&map);
}

static void test_reserve(void **state)
{
    struct good_map map = { 0 };
    assert_int_equal(good_map_reserve(&map, 1000), 0);
    const struct item *slots = map.slots;
    memory_is_short = 1;
    for (uint32_t i = 0; i < 1000; i++)
        assert_non_null(good_map_add(&map, &(struct item){ i, i, 1 }));
    memory_is_short = 0;
    assert_ptr_equal(map.slots, slots);
    assert_int_equal(good_map_reserve(&map, SIZE_MAX), -1);
    assert_ptr_equal(map.slots, slots);
    assert_int_equal(map.count, 1000);
    good_map_free(&map);
}

static void test_index(void **state)
{
    static const char *const items[] = { "red", "green", "blue", "white" }; /* all of one hash */
    struct hash_index index = { 0 };
    unsigned met = 0;
    for (uint32_t i = 0; i < 4; i++)
        assert_non_null(hash_index_add(&index, &(struct hash_entry){ 0, i + 1 }));
    for (struct hash_entry *found = hash_index_find(&index, 0); found; found = hash_index_find_next(&index, found))
        met += strcmp(items[hash_entry_number(found)], "blue") == 0;
    assert_int_equal(met, 1);
    assert_null(hash_index_find(&index, 1));
    hash_index_free(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_map),
        cmocka_unit_test(test_poor_map),
        cmocka_unit_test(test_worst_map),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_same_key_many_times),
        cmocka_unit_test(test_memory_is_short),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
