/* How far tests that go around many times step: through all rounds in scripts/test --all, in the gate through some of
 * them. (Fuzzing at length is for scripts/fuzz.) */
#ifndef TACHO_TESTS_UNIT_ROUNDS_H
#define TACHO_TESTS_UNIT_ROUNDS_H

#include <stdlib.h>
#include <string.h>

/* The step in the gate is at most ROUNDS_MOST, and short enough for ROUNDS_LEAST rounds. */
enum { ROUNDS_MOST = 31, ROUNDS_LEAST = 7, ROUNDS_ENDLESS = 1 << 20 };

static inline int rounds_all(void)
{
    const char *all = getenv("TACHO_TEST_ALL");

    return all && *all && strcmp(all, "0") != 0;
}

/* Odd: two kinds of rounds that alternate both have their turn, and so has each byte of a word. */
static inline int rounds_step(int rounds)
{
    int step = rounds / ROUNDS_LEAST | 1;

    return rounds_all() ? 1 : step < ROUNDS_MOST ? step : ROUNDS_MOST;
}

#endif
