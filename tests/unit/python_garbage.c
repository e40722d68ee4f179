/* Collections of Python's garbage collector, out of rounds that saw it: whether one runs, and the numbers of those that
 * have ended. Rounds are 2 ms apart unless a test says otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "collect/sources/python/python_garbage.h"

enum { MS = 1000000, THREAD = 4711, INTERPRETER = 0x1000 };

struct round {
    int64_t at_ms;
    int collects;      /* 1: a collection runs */
    int64_t counts[3]; /* collections that have ended, by generation; each has freed ten objects */
    uint32_t tid;
};

static struct python_collector collector_of(const struct round *round)
{
    struct python_collector collector = { .is_collecting = round->collects };
    for (int i = 0; i < PYTHON_GENERATIONS; i++) {
        collector.generations[i].collections = round->counts[i];
        collector.generations[i].collected = 10 * round->counts[i];
        collector.generations[i].uncollectable = round->counts[i];
    }
    return collector;
}

/* Returns the number of collections; those are in list. */
static int play(const struct round *rounds, size_t count, struct python_collection *list)
{
    struct python_garbage garbage = { 0 };
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        struct python_collector collector = collector_of(&rounds[i]);
        list[found] = (struct python_collection){ 0 };
        found += python_garbage_round(&garbage, INTERPRETER, &collector, rounds[i].tid, rounds[i].at_ms * MS,
                                      &list[found]);
    }
    return found;
}

static void expect_collection(const struct python_collection *seen, int64_t start_ms, int64_t end_ms, int generation)
{
    assert_int_equal(seen->start_ns, start_ms * MS);
    assert_int_equal(seen->end_ns, end_ms * MS);
    assert_int_equal(seen->generation, generation);
    assert_int_equal(seen->collected, generation < 0 ? 0 : 10);
    assert_int_equal(seen->uncollectable, generation < 0 ? 0 : 1);
    assert_int_equal(seen->tid, THREAD);
}

static void a_collection_reaches_half_way_to_other_rounds(void **state)
{
    static const struct round rounds[] = {
        { 100, 0, { 5, 3, 1 }, THREAD }, { 102, 1, { 5, 3, 1 }, THREAD }, { 104, 1, { 5, 3, 1 }, 0 },
        { 106, 0, { 5, 3, 2 }, 0 },      { 108, 0, { 5, 3, 2 }, THREAD },
    };
    struct python_collection seen[COUNT_OF(rounds) + 1];
    assert_int_equal(play(rounds, COUNT_OF(rounds), seen), 1);
    expect_collection(&seen[0], 101, 105, 2);
}

/* The second runs when the first is seen to have ended. */
static void two_collections_in_a_row_are_two(void **state)
{
    static const struct round rounds[] = {
        { 100, 0, { 5, 3, 1 }, THREAD },
        { 102, 1, { 5, 3, 1 }, THREAD },
        { 104, 1, { 6, 3, 1 }, THREAD },
        { 106, 0, { 6, 4, 1 }, THREAD },
    };
    struct python_collection seen[COUNT_OF(rounds) + 1];
    assert_int_equal(play(rounds, COUNT_OF(rounds), seen), 2);
    expect_collection(&seen[0], 101, 103, 0);
    expect_collection(&seen[1], 103, 105, 1);
}

/* One that ran between two rounds is not known to have taken any time. */
static void what_no_round_saw_is_left_out(void **state)
{
    static const struct round rounds[] = { { 100, 0, { 5, 3, 1 }, THREAD }, { 102, 0, { 9, 4, 2 }, THREAD } };
    struct python_collection seen[COUNT_OF(rounds) + 1];
    assert_int_equal(play(rounds, COUNT_OF(rounds), seen), 0);
}

/* The numbers had changed when the first round came. */
static void a_collection_may_have_no_generation(void **state)
{
    static const struct round rounds[] = { { 100, 0, { 5, 3, 1 }, THREAD },
                                           { 102, 1, { 5, 3, 2 }, THREAD },
                                           { 104, 0, { 5, 3, 2 }, THREAD } };
    struct python_collection seen[COUNT_OF(rounds) + 1];
    assert_int_equal(play(rounds, COUNT_OF(rounds), seen), 1);
    expect_collection(&seen[0], 101, 103, -1);
}

/* Rounds pause in steps that are only timed. */
static void a_pause_adds_five_milliseconds_at_most(void **state)
{
    static const struct round rounds[] = { { 100, 0, { 5, 3, 1 }, THREAD },
                                           { 200, 1, { 5, 3, 1 }, THREAD },
                                           { 400, 0, { 6, 3, 1 }, THREAD } };
    struct python_collection seen[COUNT_OF(rounds) + 1];
    assert_int_equal(play(rounds, COUNT_OF(rounds), seen), 1);
    expect_collection(&seen[0], 195, 205, 0);
}

/* A thread that nobody knows may have run it: there is no row to put it in. */
static void a_collection_without_a_thread_is_left_out(void **state)
{
    static const struct round rounds[] = { { 100, 0, { 5, 3, 1 }, 0 },
                                           { 102, 1, { 5, 3, 1 }, 0 },
                                           { 104, 0, { 6, 3, 1 }, 0 } };
    struct python_collection seen[COUNT_OF(rounds) + 1];
    assert_int_equal(play(rounds, COUNT_OF(rounds), seen), 0);
}

/* Each interpreter has its own collector. A ninth one takes the place of the first. */
static void interpreters_are_told_apart(void **state)
{
    struct python_garbage garbage = { 0 };
    struct python_collection ended;
    struct python_collector idle = { 0 }, busy = { .is_collecting = 1 };
    for (uint64_t i = 0; i < PYTHON_GARBAGE_INTERPRETERS; i++)
        assert_int_equal(python_garbage_round(&garbage, INTERPRETER + i, &busy, THREAD, MS, &ended), 0);
    assert_int_equal(python_garbage_round(&garbage, INTERPRETER + 1, &idle, THREAD, 3 * MS, &ended), 1);
    assert_int_equal(python_garbage_round(&garbage, INTERPRETER + 100, &idle, THREAD, 3 * MS, &ended), 0);
    assert_int_equal(python_garbage_round(&garbage, INTERPRETER, &idle, THREAD, 5 * MS, &ended), 0);
    assert_int_equal(python_garbage_round(&garbage, INTERPRETER + 2, &idle, THREAD, 5 * MS, &ended), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collection_reaches_half_way_to_other_rounds),
        cmocka_unit_test(two_collections_in_a_row_are_two),
        cmocka_unit_test(what_no_round_saw_is_left_out),
        cmocka_unit_test(a_collection_may_have_no_generation),
        cmocka_unit_test(a_pause_adds_five_milliseconds_at_most),
        cmocka_unit_test(a_collection_without_a_thread_is_left_out),
        cmocka_unit_test(interpreters_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
