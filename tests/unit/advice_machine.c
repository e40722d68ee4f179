/* Rules on how a program uses the machine, its CPUs and its multiprocessors, on small captures made by hand, with
 * savings that can be worked out on paper, in µs. */
#include "made_advice.h"

enum { STEPS = 10, STEP = 500 };

/* ---- CPUs ------------------------------------------------------------------------------------------------------ */

enum { PREEMPTED = 6, WAITING = 7 }; /* ENUM_SAMPLING_THREAD_STATE */

static void context_switch(struct writer *writer, int64_t thread, int64_t time, int64_t cpu, int is_in, int64_t why)
{
    struct row_SCHED_EVENTS row = { 0 };

    ROW_SET(&row, SCHED_EVENTS, start, time * US);
    ROW_SET(&row, SCHED_EVENTS, cpu, cpu);
    ROW_SET(&row, SCHED_EVENTS, isSchedIn, is_in);
    ROW_SET(&row, SCHED_EVENTS, globalTid, thread);
    if (!is_in)
        ROW_SET(&row, SCHED_EVENTS, threadState, why);
    writer_append(writer, TABLE_SCHED_EVENTS, &row);
}

/* Steps of 500 µs with a kernel of 100. In each the thread that launches loses CPU 3 for 200 µs, and goes on on CPU 4.
 * Another thread takes CPU 3 after 1 µs if there is one, and gives it back after 100. */
static struct report *lose_the_cpu(struct adviser *adviser, int64_t taker, int64_t why)
{
    struct writer *writer = start();

    for (int i = 0; i < STEPS; i++) {
        int64_t at = STEP * i;
        step(writer, at, at + STEP - 1, i);
        launch(writer, at, at + 5, at + 105, i + 1, 7);
        context_switch(writer, made_thread(1, MAIN), at + 450, 3, 1, 0);
        context_switch(writer, made_thread(1, MAIN), at + 200, 3, 0, why);
        context_switch(writer, made_thread(1, MAIN), at + 400, 4, 1, 0);
        context_switch(writer, made_thread(1, MAIN), at + 449, 4, 0, PREEMPTED);
        if (taker) {
            context_switch(writer, taker, at + 201, 3, 1, 0);
            context_switch(writer, taker, at + 301, 3, 0, WAITING);
        }
    }
    return advise(adviser, writer, &rule_preemption, WITH_STEPS);
}

/* Each step takes 200 µs less, and the last µs on CPU 4, for which nobody is seen, is less than 1 % of it. */
static void expect_lost_cpu(int64_t taker, int64_t why, const char *what)
{
    struct adviser adviser;
    struct report *report = lose_the_cpu(&adviser, taker, why);

    assert_int_equal(adviser.step_ns, STEP * US);
    assert_int_equal(adviser.count, what ? 1 : 0);
    if (what)
        expect(&adviser.causes[0], 200, 200, what, "");
    done(&adviser, report);
}

static void a_thread_of_the_process_takes_the_cpu(void **state)
{
    expect_lost_cpu(made_thread(1, 2), PREEMPTED,
                    "no CPU for 200 µs in each step: 1 thread of this process ran instead, 2; it ran on 2 CPUs");
}

static void another_process_takes_the_cpu(void **state)
{
    expect_lost_cpu(made_thread(8, 9), PREEMPTED,
                    "no CPU for 200 µs in each step: 1 thread of other processes ran instead, 9; it ran on 2 CPUs");
}

static void a_thread_that_waits_needs_no_cpu(void **state)
{
    expect_lost_cpu(made_thread(1, 2), WAITING, NULL);
}

/* Those 200 µs, and the µs on CPU 4. */
static void nobody_is_seen_to_take_the_cpu(void **state)
{
    struct adviser adviser;
    struct report *report = lose_the_cpu(&adviser, 0, PREEMPTED);

    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 201, 201,
           "no CPU for 201 µs in each step: an unrecorded program ran, or a CPU quota was used up; it ran on 2 CPUs",
           "");
    done(&adviser, report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_of_the_process_takes_the_cpu),
        cmocka_unit_test(another_process_takes_the_cpu),
        cmocka_unit_test(a_thread_that_waits_needs_no_cpu),
        cmocka_unit_test(nobody_is_seen_to_take_the_cpu),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
