/* Finds the thread that worked while another one waited: see wall_busy.h. */
#include "wall_busy.h"

#include "analyze/engine/event_columns.h"
#include "base/array.h"
#include "base/saturating.h"

enum { LEAST_PART = 10 }; /* of the time: less is housekeeping */

struct report_span wall_work_before(const struct wall_threads *threads, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    static const struct report_span none = { 0, 0 };
    int64_t born_ns = wall_life_start(threads, thread, to_ns);
    const struct wall_wait *wait;

    if (born_ns == INT64_MIN)
        return none;
    from_ns = born_ns > from_ns ? born_ns : from_ns;
    to_ns = wall_life_end(threads, thread, to_ns);
    while (to_ns > from_ns && (wait = wall_wait_before(&threads->waits, thread, to_ns)) && wait->end_ns >= to_ns)
        to_ns = wait->start_ns;
    if (to_ns <= from_ns)
        return none;
    wait = wall_wait_before(&threads->waits, thread, to_ns);
    return (struct report_span){ wait && wait->end_ns > from_ns ? wait->end_ns : from_ns, to_ns };
}

static int64_t wall_work_of(const struct wall_threads *threads, const struct thread_life *life, int64_t from_ns,
                            int64_t to_ns)
{
    int64_t sum_ns = 0;

    for (;;) {
        struct report_span work = wall_work_before(threads, life->thread, from_ns, to_ns);
        if (work.from_ns >= work.to_ns)
            return sum_ns;
        sum_ns = saturating_add(sum_ns, saturating_duration(work.from_ns, work.to_ns));
        to_ns = work.from_ns;
    }
}

int64_t wall_busiest_other(const struct wall_threads *threads, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    const struct thread_lives *lives = &threads->lives;
    int64_t process = global_process(thread), most_ns = saturating_duration(from_ns, to_ns) / LEAST_PART, busiest = 0;
    size_t first = BISECT(0, lives->count, k, lives->list[k].thread < process);

    for (size_t i = first; i < lives->count && i - first < WALL_MOST_ASKED; i++) {
        const struct thread_life *life = &lives->list[i];
        if (global_process(life->thread) != process)
            break;
        int64_t work_ns = life->thread == thread || life->end_ns <= from_ns || life->start_ns >= to_ns
                              ? 0
                              : wall_work_of(threads, life, from_ns, to_ns);
        if (work_ns > most_ns) {
            most_ns = work_ns;
            busiest = life->thread;
        }
    }
    return busiest;
}
