/* Waits for what another thread or process is about to do: WAIT_UNTIL(condition) goes around, with the statement after
 * it, until the condition holds. The limit is PATIENCE, that of all tests (tests/CMakeLists.txt), never a number of
 * rounds.
 */
#ifndef TACHO_TESTS_UNIT_UNTIL_H
#define TACHO_TESTS_UNIT_UNTIL_H

#include <sched.h>
#include <stdlib.h>
#include <time.h>

static inline time_t until_deadline(void)
{
    const char *patience = getenv("PATIENCE");

    return time(NULL) + (patience ? atoi(patience) : 60);
}

static inline void until_next(time_t deadline, const char *condition)
{
    if (time(NULL) > deadline)
        fail_msg("waited in vain until %s", condition);
    sched_yield();
}

#define WAIT_UNTIL(condition)                                                                                          \
    for (time_t until_end = until_deadline(); !(condition); until_next(until_end, #condition))

#endif
