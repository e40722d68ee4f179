/* Waits for what another thread or process is about to do: WAIT_UNTIL(condition) goes around, with the statement after
 * it, until the condition holds. The limit is PATIENCE, that of all tests (tests/CMakeLists.txt), never a number of
 * rounds.
 */
#ifndef TACHO_TESTS_UNIT_UNTIL_H
#define TACHO_TESTS_UNIT_UNTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static inline time_t until_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static inline time_t until_deadline(void)
{
    const char *patience = getenv("PATIENCE");

    return until_now() + (patience ? atoi(patience) : 60);
}

static inline void until_next(time_t deadline, const char *condition)
{
    if (until_now() > deadline)
        fail_msg("waited in vain until %s", condition);
    nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

#define WAIT_UNTIL(condition)                                                                                          \
    for (time_t until_end = until_deadline(); !(condition); until_next(until_end, #condition))

#endif
