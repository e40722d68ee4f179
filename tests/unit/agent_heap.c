/* The heap in the agent: distances between samples, compared with libm's logarithm, and the table of blocks, from
 * several threads at once. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/core/arena_window.h"
#include "agent/core/own_process.h"
#include "agent/heap/heap_blocks.h"
#include "agent/heap/heap_calls.h"
#include "agent/heap/heap_distance.h"

/* ---- In place of the rest of the agent ------------------------------------------------------------------------- */

struct agent_switch agent_switch;
struct agent agent;
static _Atomic int maps_left;
static void *_Atomic maps[4096]; /* all since the begin of the test; NULL: unmapped */
static _Atomic size_t map_count;

void *window_map(int descriptor, uint64_t offset, size_t bytes)
{
    size_t at = atomic_fetch_add(&map_count, 1);
    void *memory = at < sizeof maps / sizeof *maps && atomic_fetch_sub(&maps_left, 1) > 0 ? calloc(1, bytes) : NULL;

    if (memory)
        atomic_store(&maps[at], memory);
    return memory;
}

void window_unmap(void *memory, size_t bytes)
{
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        void *found = memory;
        if (atomic_compare_exchange_strong(&maps[i], &found, NULL))
            break;
    }
    atomic_fetch_add(&maps_left, 1);
    free(memory);
}

pid_t agent_filtered_child(void)
{
    return 0;
}

/* The agent keeps its tables for as long as the process lives. */
static int end(void **state)
{
    heap_blocks_forget();
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        free(atomic_exchange(&maps[i], NULL));
    atomic_store(&map_count, 0);
    return 0;
}

static int begin(void **state)
{
    atomic_store(&agent_switch.state, AGENT_ATTACHED);
    heap_blocks_forget();
    atomic_store(&maps_left, 16);
    return heap_blocks_prepare();
}

/* ---- Distances ------------------------------------------------------------------------------------------------- */

static void distances_are_exponential(void **state)
{
    for (uint64_t mean = 1; mean < UINT64_C(1) << 40; mean *= 1000) {
        uint64_t random = heap_distance_seed(3);
        for (int i = 0; i < 10000; i++) {
            uint64_t drawn = heap_distance_draw(&random, mean);
            uint64_t mixed = (random ^ random >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
            mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
            double expected = -(double)mean * log(((double)((mixed ^ mixed >> 31) | 1)) * 0x1p-64);
            if (fabs((double)drawn - expected) > 1 + 1e-6 * (double)mean)
                fail_msg("distance %llu, not %f", (unsigned long long)drawn, expected);
        }
    }
}

/* What samples say of the blocks of a line, whose turn it is after a block of 16 KiB of another one: estimate by truth.
 */
static double estimate_of_turns(uint32_t thread)
{
    enum { RATE = 65536, TURNS = 12000 };
    uint64_t random = heap_distance_seed(thread), left = heap_distance_draw(&random, RATE);
    double estimate = 0, truth = 0;

    for (uint32_t turn = 0; turn < 2 * TURNS; turn++) {
        uint64_t size = turn % 2 ? 1000 + turn * UINT64_C(2654435761) % 6000 : 16384;
        truth += turn % 2 ? (double)size : 0;
        if (left > size) {
            left -= size;
            continue;
        }
        estimate += turn % 2 ? (double)size / (1 - exp(-(double)size / RATE)) : 0;
        left = heap_distance_draw(&random, RATE);
    }
    return estimate / truth;
}

/* Some 640 samples of each thread: the mean of all is known to 0.3 %. */
static void lines_that_alternate_are_as_likely_as_others(void **state)
{
    enum { RUNS = 200 };
    double sum = 0;

    for (uint32_t thread = 0; thread < RUNS; thread++)
        sum += estimate_of_turns(thread);
    if (fabs(sum / RUNS - 1) > 0.01)
        fail_msg("%f of the truth", sum / RUNS);
}

/* ---- Blocks ---------------------------------------------------------------------------------------------------- */

enum { BLOCKS = 300000 };

/* Addresses as an allocator gives them: multiples of 16, some of them far apart. */
static uintptr_t address_of(uint64_t number)
{
    return 0x7f0000000000u + (number % 7 << 34) + number * 48;
}

static void blocks_are_found_once(void **state)
{
    for (uint64_t i = 1; i <= BLOCKS; i++)
        assert_int_equal(heap_blocks_add(address_of(i), i), 0);
    assert_int_equal(heap_blocks_take(address_of(BLOCKS + 7)), 0);
    for (uint64_t i = BLOCKS; i > 0; i--) {
        assert_int_equal(heap_blocks_take(address_of(i)), i);
        assert_int_equal(heap_blocks_take(address_of(i)), 0);
    }
}

static void no_memory_is_told(void **state)
{
    uint64_t added = 0;
    atomic_store(&maps_left, 0);
    while (heap_blocks_add(address_of(added + 1), added + 1) == 0)
        added++;
    assert_true(added > 8000 && added <= 16384); /* the first table alone */
    for (uint64_t i = 1; i <= added; i++)
        assert_int_equal(heap_blocks_take(address_of(i)), i);
}

enum { THREADS = 4, ROUNDS = 20 };

/* Each thread has blocks of its own, whose addresses lie between those of the others. */
static void *add_and_take(void *first)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (uint64_t i = (uintptr_t)first; i < 20000; i += THREADS)
            if (heap_blocks_add(address_of(i + 1), i + 1) != 0)
                return "no room";
        for (uint64_t i = (uintptr_t)first; i < 20000; i += THREADS)
            if (heap_blocks_take(address_of(i + 1)) != i + 1)
                return "lost";
    }
    return NULL;
}

static void threads_do_not_meet(void **state)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_and_take, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *fault;
        pthread_join(threads[i], &fault);
        if (fault)
            fail_msg("%s", (const char *)fault);
    }
    for (uint64_t i = 0; i < 20000; i++)
        assert_int_equal(heap_blocks_take(address_of(i + 1)), 0);
}

static void the_filter_has_a_place_for_each_address(void **state)
{
    assert_int_equal(heap_filter_index(0), 0);
    for (uint64_t i = 0; i < BLOCKS; i++)
        assert_true(heap_filter_index(address_of(i)) < HEAP_FILTER_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_exponential),
        cmocka_unit_test(lines_that_alternate_are_as_likely_as_others),
        cmocka_unit_test_setup_teardown(blocks_are_found_once, begin, end),
        cmocka_unit_test_setup_teardown(no_memory_is_told, begin, end),
        cmocka_unit_test_setup_teardown(threads_do_not_meet, begin, end),
        cmocka_unit_test(the_filter_has_a_place_for_each_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
