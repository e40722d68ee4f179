/* How far tests that go around many times step: through all of it in scripts/test --all, in the gate through every
 * 31st round. (Fuzzing at length is for scripts/fuzz.) */
#ifndef TACHO_TESTS_UNIT_ROUNDS_H
#define TACHO_TESTS_UNIT_ROUNDS_H

#include <stdlib.h>
#include <string.h>

/* Odd: two kinds of rounds that alternate both have their turn, and so has each byte of a word. */
static inline int rounds_step(void)
{
    const char *all = getenv("TACHO_TEST_ALL");

    return all && *all && strcmp(all, "0") != 0 ? 1 : 31;
}

#endif
