/* Occupancy and its limits, beside figures that ncu printed on several GPUs and that people have published. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/counters/counter_sections.h"
#include "abi/counters/launch_metrics.h"

static const struct launch_gpu
    turing = { .capability = 75, .sm_count = 40, .max_warps = 32, .max_blocks = 16, .registers = 65536 },
    a800 = { .capability = 80, .sm_count = 108, .max_warps = 64, .max_blocks = 32, .registers = 65536 },
    ada = { .capability = 89, .sm_count = 24, .max_warps = 48, .max_blocks = 24, .registers = 65536 },
    h100 = { .capability = 90, .sm_count = 132, .max_warps = 64, .max_blocks = 32, .registers = 65536 };

static double value(const struct launch_facts *launch, const struct launch_gpu *gpu, const char *name)
{
    double values[LAUNCH_METRICS];

    launch_metrics(launch, gpu, values);
    for (size_t i = 0; i < LAUNCH_METRICS; i++)
        if (strcmp(launch_metric_name(i), name) == 0)
            return values[i];
    fail_msg("no %s", name);
    return 0;
}

#define EXPECT(launch, gpu, name, expected)                                                                            \
    do {                                                                                                               \
        double got = value(launch, gpu, name);                                                                         \
        if (!(fabs(got - (expected)) < 0.05))                                                                          \
            fail_msg("%s: %g, expected %g", name, got, (double)(expected));                                            \
    } while (0)

/* 46 registers, blocks of 512 on an A800: ncu printed 2, 4 and 32 blocks, 32 warps, 50 %. */
static void registers_limit_an_a800(void **state)
{
    struct launch_facts launch = { .grid = { 1000, 1, 1 },
                                   .block = { 512, 1, 1 },
                                   .registers = 46,
                                   .static_bytes = 0,
                                   .dynamic_bytes = 0,
                                   .shared_config_bytes = 167936 };

    EXPECT(&launch, &a800, "launch__occupancy_limit_registers", 2);
    EXPECT(&launch, &a800, "launch__occupancy_limit_warps", 4);
    EXPECT(&launch, &a800, "launch__occupancy_limit_blocks", 32);
    EXPECT(&launch, &a800, "sm__maximum_warps_avg_per_active_cycle", 32);
    EXPECT(&launch, &a800, "sm__maximum_warps_per_active_cycle_pct", 50);
    EXPECT(&launch, &a800, "smsp__maximum_warps_avg_per_active_cycle", 8);
}

/* 56 registers, blocks of 1024 on an RTX 4060: 1, 1 and 24 blocks, 8 by shared memory, 66.7 %. */
static void warps_limit_an_rtx_4060(void **state)
{
    struct launch_facts launch = { .grid = { 480, 1, 1 },
                                   .block = { 32, 32, 1 },
                                   .registers = 56,
                                   .static_bytes = 0,
                                   .dynamic_bytes = 0,
                                   .shared_config_bytes = 8192 };

    EXPECT(&launch, &ada, "launch__occupancy_limit_registers", 1);
    EXPECT(&launch, &ada, "launch__occupancy_limit_warps", 1);
    EXPECT(&launch, &ada, "launch__occupancy_limit_blocks", 24);
    EXPECT(&launch, &ada, "launch__occupancy_limit_shared_mem", 8);
    EXPECT(&launch, &ada, "sm__maximum_warps_per_active_cycle_pct", 66.7);
}

/* Blocks of 256 on a Turing: 16 blocks by registers (8 with 32 of them), 4 by warps, 32 and 25 by shared memory. */
static void a_turing_has_no_memory_of_the_driver(void **state)
{
    struct launch_facts launch = { .grid = { 2097152, 1, 1 },
                                   .block = { 256, 1, 1 },
                                   .registers = 16,
                                   .static_bytes = 1024,
                                   .dynamic_bytes = 0,
                                   .shared_config_bytes = 32768 };

    EXPECT(&launch, &turing, "launch__occupancy_limit_registers", 16);
    EXPECT(&launch, &turing, "launch__occupancy_limit_warps", 4);
    EXPECT(&launch, &turing, "launch__occupancy_limit_shared_mem", 32);
    EXPECT(&launch, &turing, "sm__maximum_warps_per_active_cycle_pct", 100);
    EXPECT(&launch, &turing, "launch__thread_count", 536870912);
    launch.static_bytes = 1028;
    launch.registers = 32;
    EXPECT(&launch, &turing, "launch__occupancy_limit_shared_mem", 25);
    EXPECT(&launch, &turing, "launch__occupancy_limit_registers", 8);
}

/* 255 registers, blocks of 128 on an H100: 2 blocks, 12.5 %. */
static void an_h100_with_all_registers(void **state)
{
    struct launch_facts launch = { .grid = { 132, 2, 1 },
                                   .block = { 128, 1, 1 },
                                   .registers = 255,
                                   .static_bytes = 0,
                                   .dynamic_bytes = 0,
                                   .shared_config_bytes = 233472 };

    EXPECT(&launch, &h100, "launch__occupancy_limit_registers", 2);
    EXPECT(&launch, &h100, "sm__maximum_warps_per_active_cycle_pct", 12.5);
    EXPECT(&launch, &h100, "launch__shared_mem_per_block_driver", 1024);
    EXPECT(&launch, &h100, "launch__waves_per_multiprocessor", 1);
    EXPECT(&launch, &h100, "launch__tpc_count", 66);
}

/* The kernel reduce of tests/gpu/programs/counted.cu on an H200, replayed: 8 blocks of 8 warps fit; 128 / (132 x 8)
 * waves. */
static void a_replayed_launch_has_the_memory_it_needs(void **state)
{
    struct launch_facts launch = {
        .grid = { 128, 1, 1 }, .block = { 256, 1, 1 }, .registers = 16, .static_bytes = 1024, .shared_config_bytes = 0
    };
    struct launch_gpu h200 = h100;

    h200.shared_bytes = 233472;
    EXPECT(&launch, &h200, "sm__maximum_warps_per_active_cycle_pct", 100);
    EXPECT(&launch, &h200, "launch__waves_per_multiprocessor", 0.12);
    assert_true(isnan(value(&launch, &h200, "launch__occupancy_limit_shared_mem")));
}

static void what_is_not_known_stays_unknown(void **state)
{
    struct launch_facts launch = { .grid = { 10, 1, 1 },
                                   .block = { 128, 1, 1 },
                                   .registers = 0,
                                   .static_bytes = 0,
                                   .dynamic_bytes = 0,
                                   .shared_config_bytes = 0 };

    EXPECT(&launch, &h100, "launch__grid_size", 10);
    assert_true(isnan(value(&launch, &h100, "launch__registers_per_thread")));
    assert_true(isnan(value(&launch, &h100, "launch__occupancy_limit_registers")));
    assert_true(isnan(value(&launch, &h100, "sm__maximum_warps_per_active_cycle_pct")));
    assert_true(isnan(value(&launch, &(struct launch_gpu){ 0 }, "launch__waves_per_multiprocessor")));
}

static void names_are_those_of_launch_metrics(void **state)
{
    for (size_t i = 0; i < LAUNCH_METRICS; i++)
        assert_int_equal(counter_kind_of(launch_metric_name(i), NULL), COUNTER_LAUNCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_limit_an_a800),
        cmocka_unit_test(warps_limit_an_rtx_4060),
        cmocka_unit_test(a_turing_has_no_memory_of_the_driver),
        cmocka_unit_test(an_h100_with_all_registers),
        cmocka_unit_test(a_replayed_launch_has_the_memory_it_needs),
        cmocka_unit_test(what_is_not_known_stays_unknown),
        cmocka_unit_test(names_are_those_of_launch_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
