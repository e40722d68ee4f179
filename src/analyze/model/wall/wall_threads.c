/* When threads lived, worked and waited, and who ended their waits: see wall_threads.h. */
#include "wall_threads.h"

#include <stdlib.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/saturating.h"
#include "report/reader/unite.h"

/* The end of a process or a thread is known up to LATE_NS later than whoever waited for it. Images of a process that
 * follow each other by exec() are one life. Between processes, shorter waits than EXCHANGE_NS say little about who
 * ended them. */
enum { LATE_NS = 20000000, EXEC_NS = 50000000, EXCHANGE_NS = 200000 };

void wall_threads_free(struct wall_threads *threads)
{
    wall_waits_free(&threads->waits);
    thread_lives_free(&threads->lives);
    thread_spans_free(&threads->gone);
    free(threads->processes);
    *threads = (struct wall_threads){ 0 };
}

/* ---- processes and threads ------------------------------------------------------------------------------------- */

static int wall_processes_by_id(const void *a, const void *b)
{
    const struct wall_process *x = a, *y = b;

    return COMPARE(x->id, y->id) ?: COMPARE(x->start_ns, y->start_ns);
}

/* Images that follow each other in a process are one. */
static void wall_join_images(struct wall_threads *threads)
{
    size_t kept = 0;

    if (threads->process_count)
        qsort(threads->processes, threads->process_count, sizeof *threads->processes, wall_processes_by_id);
    for (size_t i = 0; i < threads->process_count; i++) {
        struct wall_process *last = kept ? &threads->processes[kept - 1] : NULL, *next = &threads->processes[i];
        if (!last || last->id != next->id)
            threads->processes[kept++] = *next;
        else if (next->end_ns > last->end_ns)
            last->end_ns = next->end_ns;
    }
    threads->process_count = kept;
}

static int wall_read_processes(struct wall_threads *threads, struct report *report, struct error *err)
{
    enum { PROCESS, PARENT, START, END };
    static const char *const names[] = { "globalPid", "parentGlobalPid", "start", "end", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const struct wall_process process = { row_int(&rows, PROCESS), row_int_or(&rows, PARENT, 0),
                                              row_int_or(&rows, START, 0), row_int_or(&rows, END, INT64_MIN) };
        if (ARRAY_PUSH(threads->processes, threads->process_room, threads->process_count, process) != 0 &&
            (code = error_short_memory(err, "for the processes")) != 0)
            break;
    }
    row_cursor_close(&rows);
    wall_join_images(threads);
    return code;
}

const struct wall_process *wall_process_find(const struct wall_threads *threads, int64_t id)
{
    size_t at = BISECT(0, threads->process_count, i, threads->processes[i].id < id);

    return at < threads->process_count && threads->processes[at].id == id ? &threads->processes[at] : NULL;
}

int64_t wall_main_thread(int64_t process)
{
    return process | global_pid_number(process);
}

/* The program: of the processes whose parent is not in the report, the one that lived longest. */
static const struct wall_process *wall_root(const struct wall_threads *threads)
{
    const struct wall_process *root = NULL;

    for (size_t i = 0; i < threads->process_count; i++) {
        const struct wall_process *process = &threads->processes[i];
        if (wall_process_find(threads, process->parent))
            continue;
        if (!root ||
            saturating_duration(process->start_ns, process->end_ns) > saturating_duration(root->start_ns, root->end_ns))
            root = process;
    }
    return root;
}

int64_t wall_life_start(const struct wall_threads *threads, int64_t thread, int64_t time_ns)
{
    const struct thread_lives *lives = &threads->lives;
    size_t behind = BISECT(0, lives->count, i,
                           lives->list[i].thread < thread ||
                               (lives->list[i].thread == thread && lives->list[i].start_ns < time_ns));
    int64_t start = INT64_MIN;

    for (; behind > 0 && lives->list[behind - 1].thread == thread; behind--) {
        const struct thread_life *life = &lives->list[behind - 1];
        if (start != INT64_MIN && saturating_duration(life->end_ns, start) > EXEC_NS)
            break;
        start = life->start_ns;
    }
    return start;
}

/* ---- who ended a wait ------------------------------------------------------------------------------------------ */

/* Of several answers the latest counts, and of these the thread that had been at work for longest. */
struct wall_answer {
    struct wall_moment moment;
    int64_t at_work_ns;
};

static void wall_note_answer(struct wall_answer *best, struct wall_answer answer)
{
    if (!best->moment.thread || answer.moment.time_ns > best->moment.time_ns ||
        (answer.moment.time_ns == best->moment.time_ns && answer.at_work_ns > best->at_work_ns))
        *best = answer;
}

int64_t wall_gone_at(const struct wall_threads *threads, int64_t thread, int64_t time_ns)
{
    const struct thread_spans *gone = &threads->gone;
    size_t at = BISECT(0, gone->count, i, gone->list[i].thread < thread);
    int is_known = at < gone->count && gone->list[at].thread == thread;

    return is_known && gone->list[at].start_ns < time_ns ? gone->list[at].start_ns : time_ns;
}

int64_t wall_life_end(const struct wall_threads *threads, int64_t thread, int64_t time_ns)
{
    const struct thread_lives *lives = &threads->lives;
    size_t behind = BISECT(0, lives->count, i,
                           lives->list[i].thread < thread ||
                               (lives->list[i].thread == thread && lives->list[i].start_ns < time_ns));
    int is_known = behind > 0 && lives->list[behind - 1].thread == thread;

    if (is_known && lives->list[behind - 1].end_ns < time_ns)
        time_ns = lives->list[behind - 1].end_ns;
    return wall_gone_at(threads, thread, time_ns);
}

/* When the thread was at work last, up to this time. */
static struct wall_answer wall_answer_of(const struct wall_threads *threads, int64_t thread, int64_t time_ns)
{
    time_ns = wall_life_end(threads, thread, time_ns);
    const struct wall_wait *wait = wall_wait_before(&threads->waits, thread, time_ns);

    if (wait && wait->end_ns >= time_ns) {
        time_ns = wait->start_ns;
        wait = wall_wait_before(&threads->waits, thread, time_ns);
    }
    int64_t start_ns = wall_life_start(threads, thread, time_ns);
    if (start_ns == INT64_MIN)
        return (struct wall_answer){ 0 };
    int64_t since_ns = wait && wait->end_ns > start_ns ? wait->end_ns : start_ns;
    return (struct wall_answer){ { thread, time_ns }, saturating_duration(since_ns, time_ns) };
}

struct wall_moment wall_last_work(const struct wall_threads *threads, int64_t thread, int64_t time_ns)
{
    return wall_answer_of(threads, thread, time_ns).moment;
}

/* The child that the call returned, or the last one to end in the wait. */
static struct wall_moment wall_child_of(const struct wall_threads *threads, const struct wall_wait *wait)
{
    struct wall_moment found = { 0 };

    for (size_t i = 0; i < threads->process_count; i++) {
        const struct wall_process *child = &threads->processes[i];
        if (child->parent != global_process(wait->thread) || child->end_ns <= wait->start_ns ||
            child->start_ns >= wait->end_ns)
            continue;
        if (wait->result > 0 && global_pid_number(child->id) == wait->result)
            return (struct wall_moment){ wall_main_thread(child->id), child->end_ns };
        if (child->end_ns <= saturating_add(wait->end_ns, LATE_NS) && (!found.thread || child->end_ns > found.time_ns))
            found = (struct wall_moment){ wall_main_thread(child->id), child->end_ns };
    }
    return found;
}

/* The other thread of the process whose end, in the wait or noticed a little later, is nearest to the end of the wait.
 */
static struct wall_moment wall_joined_by(const struct wall_threads *threads, const struct wall_wait *wait)
{
    int64_t process = global_process(wait->thread), least_ns = LATE_NS;
    struct wall_moment found = { 0 };

    for (size_t i = BISECT(0, threads->lives.count, k, threads->lives.list[k].thread < process);
         i < threads->lives.count && global_process(threads->lives.list[i].thread) == process; i++) {
        const struct thread_life *life = &threads->lives.list[i];
        int64_t end_ns = wall_gone_at(threads, life->thread, life->end_ns),
                late_ns = saturating_duration(wait->end_ns, end_ns),
                away_ns = late_ns < 0 ? saturating_subtract(0, late_ns) : late_ns;
        if (life->thread == wait->thread || end_ns <= wait->start_ns || late_ns > LATE_NS ||
            (found.thread && away_ns >= least_ns))
            continue;
        least_ns = away_ns;
        found = (struct wall_moment){ life->thread, end_ns };
    }
    return found;
}

/* The other thread of the process that was at work last in the wait: it ended the wait, as far as is known, and a
 * thread that is woken up may wait for a CPU before it runs. */
static struct wall_moment wall_thread_of(const struct wall_threads *threads, const struct wall_wait *wait,
                                         int64_t time_ns)
{
    int64_t process = global_process(wait->thread);
    size_t first = BISECT(0, threads->lives.count, k, threads->lives.list[k].thread < process);
    struct wall_answer best = { 0 };

    for (size_t i = first; i < threads->lives.count && i - first < WALL_MOST_ASKED; i++) {
        const struct thread_life *life = &threads->lives.list[i];
        if (global_process(life->thread) != process)
            break;
        if (life->thread == wait->thread || life->start_ns >= time_ns || life->end_ns <= wait->start_ns)
            continue;
        struct wall_answer answer = wall_answer_of(threads, life->thread, time_ns);
        if (answer.moment.thread && answer.moment.time_ns > wait->start_ns)
            wall_note_answer(&best, answer);
    }
    return best.moment;
}

/* The thread that got the lock last, unless another one was at work after it: one that found the lock free is not
 * known to have it. */
static struct wall_moment wall_holder_of(const struct wall_threads *threads, const struct wall_wait *wait,
                                         int64_t time_ns)
{
    int64_t heir = wall_wait_heir(&threads->waits, wait);
    struct wall_moment holder = wall_last_work(threads, heir ? heir : wait->holder, time_ns),
                       last = wall_thread_of(threads, wait, time_ns);

    return holder.thread && holder.time_ns > wait->start_ns && holder.time_ns >= last.time_ns ? holder : last;
}

/* Whether a process was busy at this time: it was at work, or it is a child and slept or waited for one of its own. If
 * it waited for something else, that may be whoever asks. */
static int wall_is_busy(const struct wall_threads *threads, const struct wall_process *process, int is_child,
                        int64_t time_ns)
{
    const struct wall_wait *wait = wall_wait_before(&threads->waits, wall_main_thread(process->id), time_ns);

    if (!wait || wait->end_ns < time_ns)
        return 1;
    return is_child && (wait->kind == OS_CALL_CHILD || wait->kind == OS_CALL_LOCK || wait->is_sleep);
}

static int wall_is_relative(const struct wall_process *own, const struct wall_process *other)
{
    return own != other && (other->parent == own->id || other->parent == own->parent || other->id == own->parent);
}

/* A relative that was busy when the wait ended, or that ended then (a pipe without writers). Children come before
 * others. */
static struct wall_moment wall_relative_of(const struct wall_threads *threads, const struct wall_wait *wait,
                                           int64_t time_ns)
{
    const struct wall_process *own = wall_process_find(threads, global_process(wait->thread));
    struct wall_moment found = { 0 };
    size_t asked = 0;

    if (!own || saturating_duration(wait->start_ns, wait->end_ns) < EXCHANGE_NS)
        return found;
    for (size_t i = 0; i < threads->process_count && asked < WALL_MOST_ASKED; i++) {
        const struct wall_process *other = &threads->processes[i];
        if (!wall_is_relative(own, other) || other->start_ns >= time_ns ||
            saturating_add(other->end_ns, LATE_NS) < time_ns || other->end_ns <= wait->start_ns)
            continue;
        asked++;
        int64_t at_ns = other->end_ns < time_ns ? other->end_ns : time_ns;
        if (wall_is_busy(threads, other, other->parent == own->id, at_ns) &&
            (!found.thread || other->parent == own->id))
            found = (struct wall_moment){ wall_main_thread(other->id), at_ns };
    }
    return found;
}

struct wall_moment wall_wait_ended_by(const struct wall_threads *threads, const struct wall_wait *wait, int64_t time_ns)
{
    struct wall_moment found = { 0 };

    if (wait->is_sleep)
        return found;
    if (wait->kind == OS_CALL_CHILD)
        return wall_child_of(threads, wait);
    if (wait->is_join && (found = wall_joined_by(threads, wait)).thread)
        return found;
    if (wait->kind == OS_CALL_IO || wait->kind == OS_CALL_EVENTS)
        return wait->is_exchange ? wall_relative_of(threads, wait, time_ns) : found;
    if (wait->kind == OS_CALL_LOCK && wait->holder > 0)
        return wall_holder_of(threads, wait, time_ns);
    return wall_thread_of(threads, wait, time_ns);
}

/* ---- who started a thread ---------------------------------------------------------------------------------------- */

struct wall_moment wall_started_by(const struct wall_threads *threads, int64_t thread, int64_t time_ns)
{
    int64_t process = global_process(thread), creator = wall_main_thread(process);
    const struct wall_process *own = wall_process_find(threads, process);

    if (thread == creator)
        return own && wall_process_find(threads, own->parent)
                   ? wall_last_work(threads, wall_main_thread(own->parent), time_ns)
                   : (struct wall_moment){ 0 };
    struct wall_moment made = wall_last_work(threads, creator, time_ns);
    return made.time_ns < time_ns
               ? wall_thread_of(threads, &(struct wall_wait){ .thread = thread, .start_ns = INT64_MIN }, time_ns)
               : made;
}

int wall_threads_read(struct wall_threads *threads, struct report *report, struct error *err)
{
    int code;

    *threads = (struct wall_threads){ 0 };
    if (report_part_count(report))
        return error_set(err, ERR_NO_DATA, "the wall time of several reports has no common chain of threads");
    if ((code = wall_read_processes(threads, report, err)) != 0 ||
        (code = thread_lives_read(&threads->lives, report, err)) != 0 ||
        (code = wall_waits_read(&threads->waits, report, err)) != 0 ||
        (code = thread_spans_gone(&threads->gone, report, err)) != 0)
        return code;
    threads->program = wall_root(threads);
    if (!threads->program || threads->program->end_ns == INT64_MIN)
        return error_set(err, ERR_NO_DATA, "the report does not contain the end of the program");
    return 0;
}
