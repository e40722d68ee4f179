/* The steps that the adviser reads of a long capture, most of whose steps lack operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/advice/advice_window.c"

enum { STEPS = 600, MANY_EVENTS = 600 * 8000, MS = 1000000 };
static struct step list[STEPS];
static struct step_process process = { .count = STEPS };
static const struct steps steps = { .list = list, .count = STEPS, .processes = &process, .process_count = 1 };

/* Runs of eight steps in 72 are in full, as the schedule of steps makes them; all steps take ms milliseconds. */
static int make_steps(void **state)
{
    int64_t now_ns = 0;

    memset(list, 0, sizeof list);
    for (size_t i = 0; i < STEPS; i++) {
        list[i] = (struct step){ .start_ns = now_ns, .end_ns = now_ns + 5 * MS, .number = (int64_t)i };
        list[i].is_chosen = i % 72 >= 1 && i % 72 <= 8;
        now_ns += 5 * MS;
    }
    return 0;
}

static void make_longer(size_t first, size_t count, int64_t ms)
{
    for (size_t i = first; i < first + count; i++)
        list[i].end_ns += ms * MS;
}

static void the_window_lies_where_all_steps_are_in_full(void **state)
{
    struct report_span span;

    assert_int_equal(window_of_steps(&steps, MANY_EVENTS, &span), 0);
    size_t first = (size_t)(span.from_ns / (5 * MS)); /* the step before the first of the window */
    assert_int_equal(first % 72, 0);
    assert_int_equal(span.to_ns, list[first + 9].end_ns);
}

/* The run whose steps take as long as the median of those in full, which are slower than others. */
static void it_is_typical_for_steps_in_full(void **state)
{
    static const int64_t more_ms[] = { 9, 8, 4, 9, 8, 3, 1, 1, 2 }; /* the median is 4 */
    struct report_span span;

    for (size_t run = 0; run < COUNT_OF(more_ms); run++)
        make_longer(run * 72 + 1, 8, more_ms[run]);
    assert_int_equal(window_of_steps(&steps, MANY_EVENTS, &span), 0);
    assert_int_equal(span.from_ns, list[2 * 72].start_ns);
    assert_int_equal(span.to_ns, list[2 * 72 + 9].end_ns);
}

/* Without so many in a row, steps count as those of any capture. */
static void steps_that_are_in_full_one_by_one(void **state)
{
    struct report_span span;

    for (size_t i = 0; i < STEPS; i++)
        list[i].is_chosen = i % 5 == 0;
    assert_int_equal(window_of_steps(&steps, MANY_EVENTS, &span), 0);
    assert_true(span.to_ns > span.from_ns && span.to_ns <= list[STEPS - 1].end_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_window_lies_where_all_steps_are_in_full, make_steps),
        cmocka_unit_test_setup(it_is_typical_for_steps_in_full, make_steps),
        cmocka_unit_test_setup(steps_that_are_in_full_one_by_one, make_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
