/* What is asked of a run of events, from the index, against looking at each: their sum, the name of the
 * longest, and where a time is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "view/load/event_index.h"
#include "view/load/event_search.h"

enum { COUNT = 3000, LONG_EVERY = 700 };

static int64_t starts[COUNT];
static uint32_t lengths[COUNT], names[COUNT];
static uint16_t tags[COUNT];
static struct view_long longer[COUNT];

/* Lengths that are often equal, so that the first of equals shows; some that are too long for 32
 * bits, and close to each other. */
static void make_events(struct view_events *events, uint64_t *state, int kinds)
{
    int64_t time = 0;

    *events = (struct view_events){
        .count = COUNT, .start_ns = starts, .length_ns = lengths, .name = names, .tag = tags, .longer = longer
    };
    for (uint32_t i = 0; i < COUNT; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        time += (int64_t)(*state >> 61);
        starts[i] = time;
        names[i] = i;
        tags[i] = (uint16_t)((*state >> 30) % (uint64_t)kinds << EVENT_WORK_SHIFT);
        lengths[i] = (uint32_t)(*state >> 40) % 9;
        if ((uint32_t)(*state >> 20) % LONG_EVERY == 0) {
            lengths[i] = LENGTH_IS_LONG;
            longer[events->long_count++] = (struct view_long){ i, (INT64_C(1) << 40) + (int64_t)(*state >> 50) % 3 };
        }
    }
    assert_int_equal(index_build(events), 0);
}

static void check_works(const struct view_events *events, uint32_t from, uint32_t to)
{
    struct index_work expected[WORK_KINDS] = { 0 }, got[WORK_KINDS] = { 0 };

    for (uint32_t i = from; i < to; i++) {
        struct index_work *work = &expected[event_work(events, i)];
        if (!work->count++ || lengths[i] > work->longest_ns) {
            work->longest_ns = lengths[i];
            work->name = names[i];
        }
        work->sum_ns += (uint64_t)event_length(events, i);
    }
    index_add_works(events, from, to, got);
    for (int kind = 0; kind < WORK_KINDS; kind++) {
        assert_int_equal(got[kind].count, expected[kind].count);
        assert_int_equal(got[kind].sum_ns, expected[kind].sum_ns);
        assert_int_equal(got[kind].longest_ns, expected[kind].longest_ns);
        if (expected[kind].longest_ns != LENGTH_IS_LONG)
            assert_int_equal(got[kind].name, expected[kind].name);
    }
}

static void kinds_of_runs(void **state)
{
    struct view_events events;
    uint64_t random = 1;

    for (int kinds = 1; kinds <= WORK_KINDS; kinds += 3) {
        make_events(&events, &random, kinds);
        assert_int_equal(index_works(&events), (1u << kinds) - 1);
        for (int round = 0; round < 500; round++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            uint32_t from = (uint32_t)(random >> 33) % COUNT;
            check_works(&events, from, from + (uint32_t)(random >> 13) % (COUNT - from));
        }
        index_free(events.index);
    }
}

static void runs_of_events(void **state)
{
    struct view_events events;
    uint64_t random = 1;

    make_events(&events, &random, 1);
    assert_true(events.long_count > 1);
    for (int round = 0; round < 20000; round++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t from = (uint32_t)(random >> 33) % COUNT, to = from + 1 + (uint32_t)(random >> 13) % (COUNT - from),
                 longest = from;
        uint64_t sum = 0;
        for (uint32_t i = from; i < to; i++) {
            sum += (uint64_t)event_length(&events, i);
            longest = event_length(&events, i) > event_length(&events, longest) ? i : longest;
        }
        assert_int_equal(index_sum(&events, from, to), sum);
        assert_int_equal(index_longest(&events, from, to).name, longest);
        int64_t time = starts[from] + (int64_t)(random >> 20) % 5000;
        uint32_t place = from;
        while (place < to && starts[place] < time)
            place++;
        for (uint32_t guess = 0; guess < 2 * COUNT; guess = guess * 3 + 1)
            assert_int_equal(events_gallop(&events, from, to, time, guess), place);
    }
    index_free(events.index);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(runs_of_events), cmocka_unit_test(kinds_of_runs) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
