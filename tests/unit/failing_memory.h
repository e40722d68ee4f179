/* Lets one allocation fail, for tests of error paths. The linker sends the calls of malloc() and its like to the
 * functions below (--wrap, tests/CMakeLists.txt). Worker threads count down together, so which allocation fails may
 * differ from run to run. */
#ifndef TACHO_TESTS_UNIT_FAILING_MEMORY_H
#define TACHO_TESTS_UNIT_FAILING_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>

/* Counts down with each allocation; the one that finds 0 fails. Below 0 none fails. */
static _Atomic long allocations_left = -1;

/* Lets the allocation after the next `count` fail. */
static void failing_memory_begin(long count)
{
    atomic_store(&allocations_left, count);
}

/* Returns whether an allocation has failed. */
static int failing_memory_end(void)
{
    return atomic_exchange(&allocations_left, -1) < 0;
}

static int allocation_fails(void)
{
    return atomic_load(&allocations_left) >= 0 && atomic_fetch_sub(&allocations_left, 1) == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(block, size);
}

#endif
