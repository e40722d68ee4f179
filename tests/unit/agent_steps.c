/* The schedules of steps: which steps are timed, traced and detailed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/steps/step_schedule.c"

enum { STEPS_MAX = 1 << 20 };
static char phases[STEPS_MAX + 1];

/* By how much recording makes each step longer, and each second one besides. */
static uint64_t longer_ns, second_ns;
/* So many steps at the start take half as long again. */
static uint32_t slow_steps;

/* A letter for each step, capital where something is recorded. */
static void run_as(struct step_schedule schedule, uint32_t steps, uint64_t step_ns)
{
    uint64_t now_ns = 1000000000;

    for (uint32_t i = 0; i < steps; i++, now_ns += step_ns) {
        struct step_plan plan = step_schedule_next(&schedule, now_ns);
        int is_recorded = plan.records != STEP_RECORDS_NOTHING;
        now_ns += (is_recorded && plan.records != STEP_RECORDS_FEW ? longer_ns : 0) + (i % 2 ? second_ns : 0) +
                  (i < slow_steps ? step_ns / 2 : 0);
        assert_int_equal(plan.records == STEP_RECORDS_FEW, plan.phase == WIRE_STEP_LOWERED);
        phases[i] = "trdSl"[plan.phase];
        if (plan.phase == WIRE_STEP_SETTLING && !is_recorded)
            phases[i] = 's';
        else
            assert_int_equal(is_recorded, plan.phase != WIRE_STEP_TIMED);
    }
    phases[steps] = 0;
}

static void run(uint32_t steps, uint64_t step_ns)
{
    run_as((struct step_schedule){ 0 }, steps, step_ns);
}

static uint32_t count(char phase)
{
    uint32_t found = 0;
    for (const char *at = phases; *at; at++)
        found += *at == phase;
    return found;
}

static void long_steps(void **state)
{
    run(62, 100000000);
    assert_string_equal(phases, "SSSdSrrSstttt"
                                "SddSrrrrSstttttttt"
                                "SdddSrrrrrrrrSstttttttttttttttt");
}

/* Even a program of thirteen steps has some of each kind. */
static void few_steps(void **state)
{
    run(13, 100000000);
    assert_int_equal(count('d'), 1);
    assert_int_equal(count('r'), 2);
    assert_int_equal(count('t'), 4);
}

/* Blocks of short steps last 20 and 50 ms. */
static void short_steps(void **state)
{
    run(3000, 100000);
    assert_int_equal(memcmp(phases, "SSSdSrrr", 8), 0);
    assert_int_equal(strspn(phases + 5, "r"), 200);
    assert_int_equal(strspn(phases + 5 + 200 + 2, "t"), 500);
}

/* The more steps, the fewer of them are recorded. */
static void many_steps(void **state)
{
    run(STEPS_MAX, 10000000);
    assert_true(count('r') > 200 && count('r') < 400);
    assert_true(count('d') > 40 && count('d') < 80);
    assert_true(count('t') > STEPS_MAX - 600);
}

/* Recording never begins or ends beside a step that counts. */
static void changes_lie_between_settling_steps(void **state)
{
    run(4096, 10000000);
    for (const char *at = phases; at[1]; at++) {
        int before = *at == 't' || *at == 's', after = at[1] == 't' || at[1] == 's';
        if (before != after)
            assert_true(at[1] == 'S' || at[1] == 's');
        if (!before && after)
            assert_int_equal(*at, 'S');
    }
}

/* A capture without --advise records all but a few steps, and details of one. */
static void probes(void **state)
{
    const struct step_schedule plain_one = { .is_plain = 1 };

    run_as(plain_one, 160, 10000000);
    assert_string_equal(phases, "SSSSSdSrrrrrrrrrrrrrrrrrrrrSstttttt"
                                "Srrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr"
                                "SsttttttttttSrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr");
    run_as(plain_one, 28, 10000000); /* too few steps to leave some out */
    assert_int_equal(count('t'), 0);
    run_as(plain_one, STEPS_MAX, 10000000);
    assert_in_range(count('t') + count('s'), 20, 100);
    assert_int_equal(count('d'), 1);
}

/* Minutes of a program are not left out, and steps of microseconds do not change phase all the time. */
static void probes_of_long_and_short_steps(void **state)
{
    const struct step_schedule plain_one = { .is_plain = 1 };

    run_as(plain_one, 1000, UINT64_C(20) * 60 * 1000000000);
    assert_int_equal(count('t') + count('s'), 0);
    run_as(plain_one, STEPS_MAX, 20000);
    assert_int_equal(strspn(phases + 7, "r"), 7500);
    assert_int_equal(strspn(phases + 7 + 7500 + 2, "t"), 1000);
    assert_in_range(count('t'), 3000, STEPS_MAX / 100);
}

static int no_longer(void **state)
{
    longer_ns = second_ns = 0;
    slow_steps = 0;
    return 0;
}

/* Steps that recording makes a fifth longer have operators in windows, once fifty have been recorded in full. */
static void windows(void **state)
{
    const struct step_schedule may_lower = { .is_plain = 1, .may_lower = 1 };
    const char *at = phases;

    longer_ns = 2000000;
    run_as(may_lower, 2000, 10000000);
    static const char *const blocks[] = {
        "SSSSSdS",
        "rrrrrrrrrrrrrrrrrrrr",
        "Sstttttt", /* the first probe */
        "S",
        "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr",
        "llllllllllllllllllllllllllllllllllllllllllllllllll",
        "Sstttttttttt",
        "S",
        "rrrrrrrr",
        "lllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll", /* an eighth of 72 */
        "S",
        "rrrrrrrr",
        "lllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll",
    };
    for (size_t i = 0; i < COUNT_OF(blocks); at += strlen(blocks[i++]))
        assert_memory_equal(at, blocks[i], strlen(blocks[i]));
    assert_in_range(count('r'), 50 + (2000 - 160) / 9 - 16, 50 + (2000 - 160) / 9 + 16);
}

/* A program whose first 27 steps read from a cold disk is faster in the probe and after it. */
static void a_program_that_gets_faster_has_no_windows(void **state)
{
    longer_ns = 1000;
    slow_steps = 27;
    run_as((struct step_schedule){ .is_plain = 1, .may_lower = 1 }, 2000, 10000000);
    assert_int_equal(count('l'), 0);
}

/* Steps of 100 µs do not change phase every millisecond. */
static void windows_of_short_steps(void **state)
{
    longer_ns = 50000;
    run_as((struct step_schedule){ .is_plain = 1, .may_lower = 1 }, 60000, 100000);
    const char *window = strstr(strstr(phases + 20000, "lSr"), "r");
    assert_int_equal(strspn(window, "r"), 8 * 26);
    assert_int_equal(strspn(window + 8 * 26, "l"), 63 * 26 + 25);
}

/* Recording that costs little, or a capture that is to have all of it, has no windows. */
static void no_windows(void **state)
{
    longer_ns = 1000000;
    run_as((struct step_schedule){ .is_plain = 1, .may_lower = 1 }, 2000, 10000000);
    assert_int_equal(count('l'), 0);
    longer_ns = 5000000;
    run_as((struct step_schedule){ .is_plain = 1 }, 2000, 10000000);
    assert_int_equal(count('l'), 0);
    run_as((struct step_schedule){ .may_lower = 1 }, 2000, 10000000);
    assert_int_equal(count('l'), 0);
}

/* A loop with marks that take turns: each second one takes five times as long. */
static void unlike_steps_have_no_windows(void **state)
{
    longer_ns = 5000000;
    second_ns = 40000000;
    run_as((struct step_schedule){ .is_plain = 1, .may_lower = 1 }, 2000, 10000000);
    assert_int_equal(count('l'), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_steps),
        cmocka_unit_test(few_steps),
        cmocka_unit_test(short_steps),
        cmocka_unit_test(many_steps),
        cmocka_unit_test(changes_lie_between_settling_steps),
        cmocka_unit_test(probes),
        cmocka_unit_test(probes_of_long_and_short_steps),
        cmocka_unit_test_teardown(windows, no_longer),
        cmocka_unit_test_teardown(a_program_that_gets_faster_has_no_windows, no_longer),
        cmocka_unit_test_teardown(windows_of_short_steps, no_longer),
        cmocka_unit_test_teardown(no_windows, no_longer),
        cmocka_unit_test_teardown(unlike_steps_have_no_windows, no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
