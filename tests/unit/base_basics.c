/* The helpers of src/base: errors, arena, intern table, text, thread pool, clocks, paths. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/text.h"

static void errors_carry_code_and_sentence(void **state)
{
    (void)state;
    struct error err;
    errno = 42;
    assert_int_equal(error_set(&err, ERR_NO_DATA, "no %s here", "rows"), ERR_NO_DATA);
    assert_int_equal(errno, 42);
    assert_int_equal(err.code, ERR_NO_DATA);
    assert_string_equal(err.text, "no rows here");
    assert_int_equal(error_set(NULL, ERR_IO, "nobody listens"), ERR_IO);

    errno = ENOENT;
    assert_int_equal(error_set_errno(&err, "cannot open %s", "x"), ERR_NOT_FOUND);
    assert_string_equal(err.text, "cannot open x: No such file or directory");
    assert_int_equal(errno, ENOENT);
    errno = EDQUOT;
    assert_int_equal(error_set_errno(NULL, "-"), ERR_NO_SPACE);
    errno = EMLINK;
    assert_int_equal(error_set_errno(NULL, "-"), ERR_IO);

    char *endless = malloc(5000);
    memset(endless, 'x', 4999);
    endless[4999] = 0;
    errno = EACCES;
    assert_int_equal(error_set_errno(&err, "%s", endless), ERR_DENIED);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    free(endless);
    assert_string_equal(error_name(ERR_CORRUPT), "the file is damaged");
    assert_string_equal(error_name(-12345), "unknown error");
}

static void arena_pieces_do_not_overlap(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    unsigned char *pieces[500];
    size_t sizes[500];
    for (size_t i = 0; i < 500; i++) {
        sizes[i] = i % 50 == 49 ? 100000 : i * 7 % 300;
        pieces[i] = arena_alloc(&arena, sizes[i]);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)(i % 256), sizes[i]);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(pieces[i][k], i % 256);
    assert_string_equal(arena_copy(&arena, "abcdef", 3), "abc");
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_copy(&arena, "", SIZE_MAX));
    arena_free(&arena);
    assert_null(arena.blocks);
}

static void interning_gives_each_string_one_number(void **state)
{
    (void)state;
    struct intern intern = { 0 };
    assert_int_equal(intern_find(&intern, "x", 1), -1);
    char name[32];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 20000; i++) {
            int length = snprintf(name, sizeof name, "name-%d", i);
            assert_int_equal(intern_add(&intern, name, (size_t)length), i);
        }
    assert_int_equal(intern.count, 20000);
    assert_int_equal(intern_add(&intern, "", 0), 20000);
    assert_int_equal(intern_add(&intern, "a\0b", 3), 20001);
    assert_int_equal(intern_add(&intern, "a\0c", 3), 20002);
    assert_int_equal(intern_find(&intern, "a\0b", 3), 20001);
    assert_int_equal(intern_find(&intern, "a", 1), -1);
    assert_string_equal(intern.strings[777].bytes, "name-777");
    intern_free(&intern);
}

static void text_grows(void **state)
{
    (void)state;
    struct text text = { 0 };
    assert_string_equal(text_string(&text), "");
    for (int i = 0; i < 1000; i++)
        text_addf(&text, "%d,", i % 10);
    assert_int_equal(text.length, 2000);
    assert_int_equal(text_failed(&text), 0);
    text_clear(&text);
    text_add(&text, "a");
    text_add_char(&text, 'b');
    text_add_repeat(&text, 'c', 3);
    text_add_bytes(&text, "\0d", 2);
    assert_int_equal(text.length, 7);
    char *taken = text_take(&text);
    assert_memory_equal(taken, "abccc\0d", 8);
    free(taken);
    assert_string_equal(text_string(&text), "");
    taken = text_take(&text);
    assert_string_equal(taken, "");
    free(taken);
    text_free(&text);
}

struct loop {
    struct parallel *pool;
    _Atomic int *turns;
    _Atomic int busy[8];
    _Atomic int clashes, inner;
};

static void inner_turn(void *argument, int worker, size_t i)
{
    struct loop *loop = argument;
    if (worker == 0 && i < 3)
        loop->inner++;
}

static void turn(void *argument, int worker, size_t i)
{
    struct loop *loop = argument;
    if (atomic_exchange(&loop->busy[worker], 1))
        loop->clashes++;
    loop->turns[i]++;
    if (i % 1000 == 0)
        parallel_for(loop->pool, 3, inner_turn, loop); /* must not wait for itself */
    loop->busy[worker] = 0;
}

static void every_turn_is_taken_once(void **state)
{
    (void)state;
    enum { TURNS = 20000 };
    struct loop loop = { .pool = parallel_new(4), .turns = calloc(TURNS, sizeof *loop.turns) };
    assert_int_equal(parallel_workers(loop.pool), 4);
    for (int round = 1; round <= 20; round++) {
        parallel_for(loop.pool, TURNS, turn, &loop);
        for (size_t i = 0; i < TURNS; i++)
            assert_int_equal(loop.turns[i], round);
    }
    assert_int_equal(loop.clashes, 0);
    assert_int_equal(loop.inner, 20 * 20 * 3);
    parallel_delete(loop.pool);
    loop.pool = NULL;
    parallel_for(NULL, TURNS, turn, &loop);
    assert_int_equal(loop.turns[TURNS - 1], 21);
    assert_int_equal(parallel_workers(NULL), 1);
    free(loop.turns);
    parallel_delete(parallel_new(0));
}

static void clocks_go_forward(void **state)
{
    (void)state;
    int64_t before = clock_monotonic_ns();
    uint64_t ticks = clock_ticks();
    for (volatile int i = 0; i < 100000; i++)
        ;
    assert_true(clock_ticks() > ticks);
    assert_true(clock_monotonic_ns() > before);
    assert_true(clock_utc_ns() > INT64_C(1500000000000000000));
}

/* Time that passes without this thread does not count. */
static void limits_are_of_cpu_time(void **state)
{
    (void)state;
    struct clock_limit limit = clock_limit_begin(20000000);

    nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
    assert_false(clock_limit_is_over(&limit));
    while (!clock_limit_is_over(&limit))
        ;
    assert_true(clock_thread_ns() >= limit.end_ns);
}

/* The file format depends on these values: they are XXH3's published ones for the empty input and never change. */
static void hashes_are_those_of_the_format(void **state)
{
    (void)state;
    assert_true(hash_bytes("", 0) == UINT64_C(0x2D06800538D394C2));
    assert_true(hash_bytes_seeded("", 0, 0) == hash_bytes("", 0));
    assert_true(hash_bytes_seeded("abc", 3, 1) != hash_bytes_seeded("abc", 3, 2));
}

static void beginnings_of_strings(void **state)
{
    static const char *const libraries[] = { "libc.so", "libm.so", NULL };

    assert_true(text_begins_with("aten::item", "aten::"));
    assert_true(text_begins_with("aten::", "aten::"));
    assert_true(text_begins_with("x", ""));
    assert_false(text_begins_with("aten:", "aten::"));
    assert_true(text_begins_with_one("libm.so.6", libraries));
    assert_false(text_begins_with_one("libm-2.31.so", libraries));
    assert_true(text_bytes_begin_with("torch/nn", 6, "torch/"));
    assert_false(text_bytes_begin_with("torch/nn", 5, "torch/")); /* what is behind the bytes does not count */
}

static void base_names_of_paths(void **state)
{
    static const char *const cases[][2] = {
        { "/usr/bin/python3", "python3" }, { "python3", "python3" }, { "./a", "a" }, { "/opt/", "/opt/" }, { "", "" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(path_base_name(cases[i][0]), cases[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_carry_code_and_sentence),
        cmocka_unit_test(arena_pieces_do_not_overlap),
        cmocka_unit_test(interning_gives_each_string_one_number),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(beginnings_of_strings),
        cmocka_unit_test(every_turn_is_taken_once),
        cmocka_unit_test(clocks_go_forward),
        cmocka_unit_test(limits_are_of_cpu_time),
        cmocka_unit_test(hashes_are_those_of_the_format),
        cmocka_unit_test(base_names_of_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
