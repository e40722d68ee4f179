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

/* A letter for each step, capital where something is recorded. */
static void run_as(struct step_schedule schedule, uint32_t steps, uint64_t step_ns)
{
    uint64_t now_ns = 1000000000;

    for (uint32_t i = 0; i < steps; i++, now_ns += step_ns) {
        struct step_plan plan = step_schedule_next(&schedule, now_ns);
        int is_recorded = plan.records != STEP_RECORDS_NOTHING;
        phases[i] = "trdS"[plan.phase];
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
