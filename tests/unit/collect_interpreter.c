/* The search for a Python interpreter in a process: a program that has none is searched once, however many processes
 * run it. The process is this one, which is not named like Python: such a program is searched always. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/sources/python/python_find.h"

struct reads {
    int count;
    int fails_from; /* as the memory of a process that becomes another program; 0: never */
};

static int read_own(void *context, uint64_t address, void *buffer, size_t size)
{
    struct reads *reads = context;
    reads->count++;
    if (reads->fails_from && reads->count >= reads->fails_from)
        return -1;
    memcpy(buffer, (const void *)(uintptr_t)address, size);
    return 0;
}

static int reads_of_search(struct python_others *others, int fails_from)
{
    struct reads reads = { .fails_from = fails_from };
    struct python_memory memory = { read_own, &reads };
    uint64_t symbols[PYTHON_SYMBOL_COUNT];
    assert_int_equal(python_find(getpid(), &memory, others, symbols), 0);
    return reads.count;
}

static void a_program_is_searched_once(void **state)
{
    struct python_others others = { 0 };
    int first = reads_of_search(&others, 0);
    assert_true(first > PYTHON_SYMBOL_COUNT);
    assert_int_equal(reads_of_search(&others, 0), 0);
    assert_int_equal(reads_of_search(&(struct python_others){ 0 }, 0), first);
}

static void a_search_that_failed_is_made_again(void **state)
{
    int whole = reads_of_search(&(struct python_others){ 0 }, 0);
    for (int fails_from = 1; fails_from <= whole; fails_from++) {
        struct python_others others = { 0 };
        reads_of_search(&others, fails_from);
        assert_int_equal(reads_of_search(&others, 0), whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_searched_once),
        cmocka_unit_test(a_search_that_failed_is_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
