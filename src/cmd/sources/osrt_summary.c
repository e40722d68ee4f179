/* OS runtime calls in the last lines: those that took most time, and how much of it was waiting. */
#include "osrt_summary.h"

#include <string.h>

#include "base/human.h"
#include "base/saturating.h"

/* Calls that are waiting, not work: for locks, other threads and processes, time, and for something to come. */
/* clang-format off */
static const char *const waiting_calls[] = {
    "poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2", "pthread_cond_wait",
    "pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_mutex_lock", "pthread_mutex_timedlock",
    "pthread_mutex_clocklock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_timedrdlock",
    "pthread_rwlock_timedwrlock", "pthread_barrier_wait", "pthread_join", "pthread_timedjoin_np", "pthread_spin_lock",
    "sem_wait", "sem_timedwait", "sem_clockwait", "sleep", "usleep", "nanosleep", "clock_nanosleep", "pause",
    "sigsuspend", "sigwait", "sigwaitinfo", "sigtimedwait", "wait", "wait3", "wait4", "waitpid", "waitid", "accept",
    "accept4", "flock", "lockf", "thrd_join", "thrd_sleep", "mtx_lock", "cnd_wait", "cnd_timedwait", NULL,
};
/* clang-format on */

static int is_waiting(const struct table_cell *name)
{
    for (const char *const *call = waiting_calls; *call; call++)
        if (strlen(*call) == name->text.length && memcmp(*call, name->text.bytes, name->text.length) == 0)
            return 1;
    return 0;
}

/* The sum of all waiting, over all threads, and the three largest parts. */
static void add_waits(struct text *out, const struct table *table)
{
    size_t name = table_column_count(table) - 1;
    struct text largest = { 0 };
    int64_t sum = 0;
    int named = 0;

    for (size_t i = 0; i < table_row_count(table); i++) {
        const struct table_cell *row = table_row(table, i);
        if (!is_waiting(&row[name]))
            continue;
        sum = saturating_add(sum, row[SUMMARY_TOTAL].integer);
        if (named++ < 3) {
            text_add(&largest, named > 1 ? ", " : ": ");
            text_add_bytes(&largest, row[name].text.bytes, row[name].text.length);
            text_add_char(&largest, ' ');
            human_time(&largest, row[SUMMARY_TOTAL].integer);
        }
    }
    if (named) {
        text_add(out, "  waiting, all threads together ");
        human_time(out, sum);
        text_add(out, text_string(&largest));
        text_add(out, named > 3 ? ", …\n" : "\n");
    }
    text_free(&largest);
}

const struct source_summary osrt_summary = {
    .analysis = "osrt_sum",
    .heading = "OS runtime calls",
    .add_line = add_waits,
};
