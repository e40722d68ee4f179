/* The clock map against clocks that are known exactly: a counter whose rate wanders. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/core/clock_map.h"

#define SECOND INT64_C(1000000000)
#define ORIGIN (1000 * SECOND)

/* A counter near 2.1 GHz. Its phase against CLOCK_MONOTONIC swings by 20 µs, slowly, as temperature and NTP do: at most
 * 20 µs * 2 pi / 100 s = 1.3 ppm of rate. */
static uint64_t ticks_at(int64_t monotonic_ns)
{
    double s = (double)(monotonic_ns - ORIGIN) / (double)SECOND;
    double swing_ns = 20000.0 * sin(2 * M_PI * s / 100);
    return (uint64_t)(2.1 * ((double)(monotonic_ns - ORIGIN) + swing_ns)) + 77000000000u;
}

static struct clock_pair pair_at(int64_t monotonic_ns)
{
    return (struct clock_pair){
        .ticks = ticks_at(monotonic_ns), .monotonic_ns = monotonic_ns, .utc_ns = 0, .error_ns = 50
    };
}

static void start(struct clock_map *map)
{
    struct clock_pair first = pair_at(ORIGIN), second = pair_at(ORIGIN + 2000000);
    assert_int_equal(clock_map_init(map, WIRE_CLOCK_COUNTER, &first, &second), 0);
}

static void time_zero_is_the_second_pair(void **state)
{
    struct clock_map map;
    start(&map);
    assert_int_equal(clock_map_time(&map, ticks_at(ORIGIN + 2000000)), 0);
    assert_int_equal(clock_map_monotonic(&map, ORIGIN + 2000000), 0);
    clock_map_free(&map);
}

static void follows_a_rate_that_wanders(void **state)
{
    struct clock_map map;
    start(&map);
    for (int s = 1; s <= 300; s++) {
        struct clock_pair pair = pair_at(ORIGIN + s * SECOND);
        clock_map_add(&map, &pair, SECOND);
        for (int i = 0; i < 10; i++) { /* through the second to come, before its pair is known */
            int64_t now = ORIGIN + s * SECOND + i * SECOND / 10;
            int64_t error = clock_map_time(&map, ticks_at(now)) - clock_map_monotonic(&map, now);
            if (llabs(error) > 12000)
                fail_msg("off by %lld ns at %d.%d s", (long long)error, s, i);
        }
    }
    clock_map_free(&map);
}

static void never_runs_backwards(void **state)
{
    struct clock_map map;
    start(&map);
    int64_t last = INT64_MIN;
    for (int s = 1; s <= 50; s++) {
        struct clock_pair pair = pair_at(ORIGIN + s * SECOND);
        pair.monotonic_ns += (s * 7919 % 11 - 5) * 1000; /* readings that are wrong by up to 5 µs */
        clock_map_add(&map, &pair, SECOND);
        for (uint64_t t = 0; t < 2000; t++) {
            int64_t time = clock_map_time(&map, pair.ticks + t * 1050000);
            if (time < last)
                fail_msg("%lld after %lld", (long long)time, (long long)last);
            last = time;
        }
    }
    clock_map_free(&map);
}

static void the_past_stays_as_it_was(void **state)
{
    struct clock_map map;
    int64_t before[40];
    start(&map);
    for (int s = 0; s < 40; s++) {
        struct clock_pair pair = pair_at(ORIGIN + (s + 1) * SECOND);
        clock_map_add(&map, &pair, SECOND);
        before[s] = clock_map_time(&map, pair.ticks + 1050000000);
    }
    for (int s = 0; s < 40; s++)
        assert_int_equal(clock_map_time(&map, ticks_at(ORIGIN + (s + 1) * SECOND) + 1050000000), before[s]);
    clock_map_free(&map);
}

static void ticks_before_the_start_have_negative_times(void **state)
{
    struct clock_map map;
    start(&map);
    int64_t time = clock_map_time(&map, ticks_at(ORIGIN + 2000000) - 2100000);
    if (llabs(time + 1000000) > 100)
        fail_msg("%lld ns, not -1 ms", (long long)time);
    clock_map_free(&map);
}

static void a_pair_from_the_past_changes_nothing(void **state)
{
    struct clock_map map;
    start(&map);
    struct clock_pair late = pair_at(ORIGIN + SECOND), early = pair_at(ORIGIN + SECOND / 2);
    clock_map_add(&map, &late, SECOND);
    int64_t before = clock_map_time(&map, late.ticks + 1000);
    clock_map_add(&map, &early, SECOND);
    assert_int_equal(clock_map_time(&map, late.ticks + 1000), before);
    clock_map_free(&map);
}

static void a_length_of_time_in_ticks(void **state)
{
    struct clock_map map;
    start(&map);
    uint64_t ticks = clock_map_ticks_in(&map, SECOND);
    if (llabs((long long)ticks - 2100000000LL) > 2100000000LL / 10000)
        fail_msg("%llu ticks a second, not 2.1e9", (unsigned long long)ticks);
    clock_map_free(&map);
}

static void real_readings_are_close_together(void **state)
{
    enum wire_clock clock = clock_choose();
    struct clock_pair first = clock_read_pair(clock), second = clock_read_pair(clock);
    assert_true(second.monotonic_ns >= first.monotonic_ns);
    assert_true((int64_t)(second.ticks - first.ticks) >= 0);
    assert_true(first.error_ns >= 0 && second.error_ns >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_zero_is_the_second_pair),
        cmocka_unit_test(follows_a_rate_that_wanders),
        cmocka_unit_test(never_runs_backwards),
        cmocka_unit_test(the_past_stays_as_it_was),
        cmocka_unit_test(ticks_before_the_start_have_negative_times),
        cmocka_unit_test(a_pair_from_the_past_changes_nothing),
        cmocka_unit_test(a_length_of_time_in_ticks),
        cmocka_unit_test(real_readings_are_close_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
