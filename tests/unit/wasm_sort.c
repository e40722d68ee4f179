/* Sorting inside the page (src/wasm/lacking.c) keeps equals in their order, as glibc's does: answers
 * of both engines must agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wasm/include/lacking.h"
#include "wasm/lacking.c"

struct item {
    uint32_t key, place;
    char rest[32];
};

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static int by_key_backwards(const void *a, const void *b, void *calls)
{
    ++*(size_t *)calls;
    return by_key(b, a);
}

/* count items of size bytes with few different keys, each with its place. */
static char *make_items(size_t count, size_t size)
{
    char *items = calloc(count + 1, size);
    for (size_t i = 0; i < count; i++) {
        struct item item = { .key = (uint32_t)(i * 2654435761u % 17), .place = (uint32_t)i };
        memset(item.rest, (int)i, sizeof item.rest);
        memcpy(items + i * size, &item, size);
    }
    return items;
}

static void check_order(const char *items, size_t count, size_t size, int direction)
{
    for (size_t i = 0; i < count; i++) {
        struct item here = { 0 }, before = { 0 };
        memcpy(&here, items + i * size, size);
        for (size_t byte = sizeof(uint32_t) * 2; byte < size; byte++)
            assert_int_equal(((const char *)&here)[byte], (char)here.place); /* it moved as a whole */
        if (i == 0)
            continue;
        memcpy(&before, items + (i - 1) * size, size);
        assert_true(direction > 0 ? before.key <= here.key : before.key >= here.key);
        assert_true(before.key != here.key || before.place < here.place);
    }
}

static void any_count_and_size(void **state)
{
    for (size_t size = 8; size <= sizeof(struct item); size += 4)
        for (size_t count = 0; count < 400; count += 1 + count / 9) {
            char *items = make_items(count, size);
            lacking_qsort(items, count, size, by_key);
            check_order(items, count, size, 1);
            free(items);
        }
}

static void with_context(void **state)
{
    enum { COUNT = 100000 };
    size_t calls = 0;
    char *items = make_items(COUNT, sizeof(struct item));
    qsort_r(items, COUNT, sizeof(struct item), by_key_backwards, &calls);
    check_order(items, COUNT, sizeof(struct item), -1);
    assert_in_range(calls, COUNT, COUNT * 20); /* n log n */
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_count_and_size), cmocka_unit_test(with_context) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
