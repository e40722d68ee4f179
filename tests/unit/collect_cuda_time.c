/* CUPTI's nanoseconds become report time, right to 1 ns beside exact arithmetic, over stretches of all slopes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/sources/cuda/cuda_clock.h"
#include "wire/wire_cuda.h"

/* What the time is, in exact arithmetic as far as a long double (64 bits of mantissa) goes: ticks with
 * their fraction, on the line. */
static long double exact_time(const struct clock_map *map, uint64_t ns, uint64_t ns_per_tick)
{
    long double scale = (long double)(UINT64_C(1) << WIRE_SCALE_SHIFT);
    long double ticks = (long double)ns * scale / (long double)ns_per_tick;
    size_t i = map->count - 1;
    while (i > 0 && ticks < (long double)map->stretches[i].ticks)
        i--;
    const struct clock_stretch *stretch = &map->stretches[i];
    return (long double)stretch->time_ns + (ticks - (long double)stretch->ticks) * (long double)stretch->slope /
                                               (long double)(UINT64_C(1) << CLOCK_SLOPE_SHIFT);
}

/* A counter of the given rate that wanders by up to `wander` parts in a billion, read together with
 * the clock every ten seconds. */
static void make_map(struct clock_map *map, double ns_per_tick, double wander, uint64_t start_ticks)
{
    struct clock_pair pair = { .ticks = start_ticks, .monotonic_ns = 1000000000 }, next = pair;
    next.ticks += (uint64_t)(1e8 / ns_per_tick);
    next.monotonic_ns += 100000000;
    assert_int_equal(clock_map_init(map, WIRE_CLOCK_COUNTER, &pair, &next), 0);
    for (int i = 0; i < 50; i++) {
        double rate = ns_per_tick * (1 + wander * 1e-9 * ((i * 7919) % 200 - 100) / 100);
        next.ticks += (uint64_t)(1e10 / rate);
        next.monotonic_ns += 10000000000;
        clock_map_add(map, &next, 10000000000);
    }
}

static void times_are_right_to_a_nanosecond(void **state)
{
    static const struct {
        double ns_per_tick, wander;
        uint64_t start;
    } clocks[] = {
        { 1.0 / 2.1, 100, UINT64_C(1) << 50 }, /* a time stamp counter at 2.1 GHz, two weeks after boot */
        { 1.0 / 3.7, 50000, 12345 },           /* one that wanders */
        { 32.0, 100, UINT64_C(1) << 40 },      /* an ARM counter at 31.25 MHz: CUPTI's time is finer than a tick */
        { 1.0, 0, UINT64_C(1) << 52 },         /* CLOCK_MONOTONIC */
    };
    for (size_t i = 0; i < COUNT_OF(clocks); i++) {
        struct clock_map map;
        make_map(&map, clocks[i].ns_per_tick, clocks[i].wander, clocks[i].start);
        uint64_t scale = map.stretches[0].slope, first = wire_cuda_time(map.stretches[0].ticks, scale);
        struct cuda_clock clock;
        cuda_clock_init(&clock, &map, scale);
        cuda_clock_refresh(&clock);
        int64_t before = INT64_MIN;
        /* a second each: through all stretches and beyond, and odd places */
        for (uint64_t step = 0; step < 520; step++) {
            uint64_t ns = first + step * 1000000007;
            int64_t time = cuda_clock_time(&clock, ns);
            long double error = (long double)time - exact_time(&map, ns, scale);
            if (error > 1 || error < -1.001L)
                fail_msg("clock %zu: %llu is %lld, off by %Lf", i, (unsigned long long)ns, (long long)time, error);
            assert_true(time >= before);
            before = time;
        }
        clock_map_free(&map);
    }
}

/* The host's events go by ticks: a call and a kernel at the same moment have the same time. */
static void host_and_gpu_are_on_one_line(void **state)
{
    struct clock_map map;
    make_map(&map, 1.0 / 2.1, 20000, 987654321);
    uint64_t scale = map.stretches[0].slope;
    struct cuda_clock clock;
    cuda_clock_init(&clock, &map, scale);
    cuda_clock_refresh(&clock);
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t ticks = map.stretches[0].ticks + i * 10500011;
        int64_t host = clock_map_time(&map, ticks), gpu = cuda_clock_time(&clock, wire_cuda_time(ticks, scale));
        if (host - gpu > 1 || gpu - host > 1)
            fail_msg("ticks %llu: host %lld, gpu %lld", (unsigned long long)ticks, (long long)host, (long long)gpu);
    }
    clock_map_free(&map);
}

static void a_new_stretch_is_seen_after_a_refresh(void **state)
{
    struct clock_map map;
    struct clock_pair first = { .ticks = 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    assert_int_equal(clock_map_init(&map, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    struct cuda_clock clock;
    cuda_clock_init(&clock, &map, UINT64_C(1) << WIRE_SCALE_SHIFT);
    cuda_clock_refresh(&clock);
    assert_int_equal(cuda_clock_time(&clock, 5000), 4000);
    struct clock_pair third = { .ticks = 2000, .monotonic_ns = 2500 }; /* 500 ns behind, to be made up until 3500 */
    clock_map_add(&map, &third, 1000);
    cuda_clock_refresh(&clock);
    assert_int_equal(cuda_clock_time(&clock, 1500), 500);
    assert_int_equal(cuda_clock_time(&clock, 2000), 1000);
    assert_int_equal(cuda_clock_time(&clock, 5000), clock_map_time(&map, 5000));
    assert_int_equal(cuda_clock_time(&clock, 400), -600); /* before the first */
    clock_map_free(&map);
}

static void any_number_has_a_time(void **state)
{
    struct clock_map map;
    make_map(&map, 1.0 / 2.1, 100, 1000);
    static const uint64_t scales[] = { 0, 1, UINT64_MAX };
    for (size_t i = 0; i < COUNT_OF(scales); i++) {
        struct cuda_clock clock;
        cuda_clock_init(&clock, &map, scales[i]);
        cuda_clock_refresh(&clock);
        cuda_clock_time(&clock, UINT64_MAX);
        cuda_clock_time(&clock, 0);
        cuda_clock_time(&clock, UINT64_MAX / 2);
    }
    clock_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_right_to_a_nanosecond),
        cmocka_unit_test(host_and_gpu_are_on_one_line),
        cmocka_unit_test(a_new_stretch_is_seen_after_a_refresh),
        cmocka_unit_test(any_number_has_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
