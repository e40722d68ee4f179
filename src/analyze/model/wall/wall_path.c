/* Follows the chain that set the wall time: see wall_path.h. */
#include "wall_path.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/threads.h"
#include "base/array.h"
#include "base/saturating.h"
#include "report/reader/unite.h"
#include "wall_waits.h"

/* The end of a process or a thread is known up to LATE_NS later than whoever waited for it. Images of a process that
 * follow each other by exec() are one life. Between processes, shorter waits than EXCHANGE_NS say little about who
 * ended them. */
enum { LATE_NS = 20000000, EXEC_NS = 50000000, EXCHANGE_NS = 200000, MOST_ASKED = 256 };

struct wall_walk {
    struct wall_path *path;
    struct report *report;
    struct thread_spans gone; /* from when on threads had no CPU any more, one of each, by thread */
    int64_t thread, time_ns;  /* where the walk is */
    int is_over;
};

void wall_path_free(struct wall_path *path)
{
    wall_waits_free(&path->waits);
    thread_lives_free(&path->lives);
    free(path->processes);
    free(path->list);
    *path = (struct wall_path){ 0 };
}

/* ---- processes and threads ------------------------------------------------------------------------------------- */

static int wall_processes_by_id(const void *a, const void *b)
{
    const struct wall_process *x = a, *y = b;

    return COMPARE(x->id, y->id) ?: COMPARE(x->start_ns, y->start_ns);
}

/* Images that follow each other in a process are one. */
static void wall_join_images(struct wall_path *path)
{
    size_t kept = 0;

    if (path->process_count)
        qsort(path->processes, path->process_count, sizeof *path->processes, wall_processes_by_id);
    for (size_t i = 0; i < path->process_count; i++) {
        struct wall_process *last = kept ? &path->processes[kept - 1] : NULL, *next = &path->processes[i];
        if (!last || last->id != next->id)
            path->processes[kept++] = *next;
        else if (next->end_ns > last->end_ns)
            last->end_ns = next->end_ns;
    }
    path->process_count = kept;
}

static int wall_read_processes(struct wall_path *path, struct report *report, struct error *err)
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
        if (ARRAY_PUSH(path->processes, path->process_room, path->process_count, process) != 0 &&
            (code = error_short_memory(err, "for the processes")) != 0)
            break;
    }
    row_cursor_close(&rows);
    wall_join_images(path);
    return code;
}

const struct wall_process *wall_process_find(const struct wall_path *path, int64_t id)
{
    size_t at = BISECT(0, path->process_count, i, path->processes[i].id < id);

    return at < path->process_count && path->processes[at].id == id ? &path->processes[at] : NULL;
}

int64_t wall_main_thread(int64_t process)
{
    return process | global_pid_number(process);
}

/* The program: of the processes whose parent is not in the report, the one that lived longest. */
static const struct wall_process *wall_root(const struct wall_path *path)
{
    const struct wall_process *root = NULL;

    for (size_t i = 0; i < path->process_count; i++) {
        const struct wall_process *process = &path->processes[i];
        if (wall_process_find(path, process->parent))
            continue;
        if (!root ||
            saturating_duration(process->start_ns, process->end_ns) > saturating_duration(root->start_ns, root->end_ns))
            root = process;
    }
    return root;
}

/* The begin of the thread's life before this time; lives that an exec() divides are one. INT64_MIN: not known. */
static int64_t wall_life_start(const struct wall_walk *walk, int64_t thread, int64_t time_ns)
{
    const struct thread_lives *lives = &walk->path->lives;
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

/* A moment of a thread; thread 0: there is none. */
struct wall_moment {
    int64_t thread, time_ns;
};

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

/* When the thread left its CPU for good, or the time itself if it had one later: an end is noticed late on a machine
 * that is busy. */
static int64_t wall_gone_at(const struct wall_walk *walk, int64_t thread, int64_t time_ns)
{
    const struct thread_spans *gone = &walk->gone;
    size_t at = BISECT(0, gone->count, i, gone->list[i].thread < thread);
    int is_known = at < gone->count && gone->list[at].thread == thread;

    return is_known && gone->list[at].start_ns < time_ns ? gone->list[at].start_ns : time_ns;
}

/* The end of the thread's life that began before this time, or the time itself. */
static int64_t wall_life_end(const struct wall_walk *walk, int64_t thread, int64_t time_ns)
{
    const struct thread_lives *lives = &walk->path->lives;
    size_t behind = BISECT(0, lives->count, i,
                           lives->list[i].thread < thread ||
                               (lives->list[i].thread == thread && lives->list[i].start_ns < time_ns));
    int is_known = behind > 0 && lives->list[behind - 1].thread == thread;

    if (is_known && lives->list[behind - 1].end_ns < time_ns)
        time_ns = lives->list[behind - 1].end_ns;
    return wall_gone_at(walk, thread, time_ns);
}

/* When the thread was at work last, up to this time. */
static struct wall_answer wall_last_work(const struct wall_walk *walk, int64_t thread, int64_t time_ns)
{
    time_ns = wall_life_end(walk, thread, time_ns);
    const struct wall_wait *wait = wall_wait_before(&walk->path->waits, thread, time_ns);

    if (wait && wait->end_ns >= time_ns) {
        time_ns = wait->start_ns;
        wait = wall_wait_before(&walk->path->waits, thread, time_ns);
    }
    int64_t start_ns = wall_life_start(walk, thread, time_ns);
    if (start_ns == INT64_MIN)
        return (struct wall_answer){ 0 };
    int64_t since_ns = wait && wait->end_ns > start_ns ? wait->end_ns : start_ns;
    return (struct wall_answer){ { thread, time_ns }, saturating_duration(since_ns, time_ns) };
}

/* The child that the call returned, or the last one to end in the wait. */
static struct wall_moment wall_child_of(const struct wall_walk *walk, const struct wall_wait *wait)
{
    struct wall_moment found = { 0 };

    for (size_t i = 0; i < walk->path->process_count; i++) {
        const struct wall_process *child = &walk->path->processes[i];
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
static struct wall_moment wall_joined_by(const struct wall_walk *walk, const struct wall_wait *wait)
{
    int64_t process = global_process(wait->thread), least_ns = LATE_NS;
    struct wall_moment found = { 0 };

    for (size_t i = BISECT(0, walk->path->lives.count, k, walk->path->lives.list[k].thread < process);
         i < walk->path->lives.count && global_process(walk->path->lives.list[i].thread) == process; i++) {
        const struct thread_life *life = &walk->path->lives.list[i];
        int64_t end_ns = wall_gone_at(walk, life->thread, life->end_ns),
                away_ns = end_ns > wait->end_ns ? end_ns - wait->end_ns : wait->end_ns - end_ns;
        if (life->thread == wait->thread || end_ns <= wait->start_ns || end_ns - LATE_NS > wait->end_ns ||
            (found.thread && away_ns >= least_ns))
            continue;
        least_ns = away_ns;
        found = (struct wall_moment){ life->thread, end_ns };
    }
    return found;
}

/* The other thread of the process that was at work last in the wait: it ended the wait, as far as is known, and a
 * thread that is woken up may wait for a CPU before it runs. */
static struct wall_moment wall_thread_of(const struct wall_walk *walk, const struct wall_wait *wait, int64_t time_ns)
{
    int64_t process = global_process(wait->thread);
    size_t first = BISECT(0, walk->path->lives.count, k, walk->path->lives.list[k].thread < process);
    struct wall_answer best = { 0 };

    for (size_t i = first; i < walk->path->lives.count && i - first < MOST_ASKED; i++) {
        const struct thread_life *life = &walk->path->lives.list[i];
        if (global_process(life->thread) != process)
            break;
        if (life->thread == wait->thread || life->start_ns >= time_ns || life->end_ns <= wait->start_ns)
            continue;
        struct wall_answer answer = wall_last_work(walk, life->thread, time_ns);
        if (answer.moment.thread && answer.moment.time_ns > wait->start_ns)
            wall_note_answer(&best, answer);
    }
    return best.moment;
}

/* The thread that had the lock last. Of the one that held it when the wait began that is not known if another one was
 * at work after it: the lock may have gone on. */
static struct wall_moment wall_holder_of(const struct wall_walk *walk, const struct wall_wait *wait, int64_t time_ns)
{
    int64_t heir = wall_wait_heir(&walk->path->waits, wait);

    if (heir)
        return wall_last_work(walk, heir, time_ns).moment;
    struct wall_moment holder = wall_last_work(walk, wait->holder, time_ns).moment,
                       last = wall_thread_of(walk, wait, time_ns);

    return holder.thread && holder.time_ns > wait->start_ns && holder.time_ns >= last.time_ns ? holder : last;
}

/* Whether a process was busy at this time: it was at work, or it is a child and slept or waited for one of its own. If
 * it waited for something else, that may be whoever asks. */
static int wall_is_busy(const struct wall_walk *walk, const struct wall_process *process, int is_child, int64_t time_ns)
{
    const struct wall_wait *wait = wall_wait_before(&walk->path->waits, wall_main_thread(process->id), time_ns);

    if (!wait || wait->end_ns < time_ns)
        return 1;
    return is_child && (wait->kind == OS_CALL_CHILD || wait->kind == OS_CALL_LOCK || wait->is_sleep);
}

static int wall_is_relative(const struct wall_process *own, const struct wall_process *other)
{
    return own != other && (other->parent == own->id || other->parent == own->parent || other->id == own->parent);
}

/* Calls that another process may end: of a pipe, or a socket. */
static int wall_is_exchange(const struct wall_walk *walk, const struct wall_wait *wait)
{
    static const char names[] = " read readv recv recvfrom recvmsg recvmmsg write writev send sendto sendmsg sendmmsg"
                                " fread fgets fgetc getc getline getdelim fwrite fputs fflush splice tee ";
    struct text name = { 0 };

    if (wait->kind == OS_CALL_EVENTS)
        return 1;
    if (wait->kind != OS_CALL_IO || wait->call < 0)
        return 0;
    text_addf(&name, " %s ", report_string(walk->report, wait->call, NULL));
    int found = strstr(names, text_string(&name)) != NULL;
    text_free(&name);
    return found;
}

/* A relative that was busy when the wait ended, or that ended then (a pipe without writers). Children come before
 * others. */
static struct wall_moment wall_relative_of(const struct wall_walk *walk, const struct wall_wait *wait, int64_t time_ns)
{
    const struct wall_process *own = wall_process_find(walk->path, global_process(wait->thread));
    struct wall_moment found = { 0 };
    size_t asked = 0;

    if (!own || saturating_duration(wait->start_ns, wait->end_ns) < EXCHANGE_NS)
        return found;
    for (size_t i = 0; i < walk->path->process_count && asked < MOST_ASKED; i++) {
        const struct wall_process *other = &walk->path->processes[i];
        if (!wall_is_relative(own, other) || other->start_ns >= time_ns ||
            saturating_add(other->end_ns, LATE_NS) < time_ns || other->end_ns <= wait->start_ns)
            continue;
        asked++;
        int64_t at_ns = other->end_ns < time_ns ? other->end_ns : time_ns;
        if (wall_is_busy(walk, other, other->parent == own->id, at_ns) && (!found.thread || other->parent == own->id))
            found = (struct wall_moment){ wall_main_thread(other->id), at_ns };
    }
    return found;
}

static int wall_is_join(const struct wall_walk *walk, const struct wall_wait *wait)
{
    return wait->call >= 0 && strstr(report_string(walk->report, wait->call, NULL), "join") != NULL;
}

static struct wall_moment wall_ended_by(const struct wall_walk *walk, const struct wall_wait *wait, int64_t time_ns)
{
    struct wall_moment found = { 0 };

    if (wait->is_sleep)
        return found;
    if (wait->kind == OS_CALL_CHILD)
        return wall_child_of(walk, wait);
    if (wall_is_join(walk, wait) && (found = wall_joined_by(walk, wait)).thread)
        return found;
    if (wait->kind == OS_CALL_IO || wait->kind == OS_CALL_EVENTS)
        return wall_is_exchange(walk, wait) ? wall_relative_of(walk, wait, time_ns) : found;
    if (wait->kind == OS_CALL_LOCK && wait->holder > 0)
        return wall_holder_of(walk, wait, time_ns);
    return wall_thread_of(walk, wait, time_ns);
}

/* ---- the walk -------------------------------------------------------------------------------------------------- */

static int wall_add_piece(struct wall_walk *walk, struct wall_piece piece)
{
    struct wall_path *path = walk->path;

    return piece.from_ns < piece.to_ns ? ARRAY_PUSH(path->list, path->room, path->count, piece) : 0;
}

/* Pieces are added from the end to the begin. */
static int wall_add_work(struct wall_walk *walk, int64_t from_ns, int64_t to_ns)
{
    const struct thread_spans *ready = &walk->path->waits.ready;
    struct wall_piece piece = { .thread = walk->thread, .call = -1 };
    size_t first = BISECT(0, ready->count, i,
                          ready->list[i].thread < walk->thread ||
                              (ready->list[i].thread == walk->thread && ready->list[i].end_ns <= from_ns)),
           behind = BISECT(first, ready->count, i,
                           ready->list[i].thread == walk->thread && ready->list[i].start_ns < to_ns);

    for (size_t i = behind; i-- > first;) {
        int64_t start = ready->list[i].start_ns > from_ns ? ready->list[i].start_ns : from_ns,
                end = ready->list[i].end_ns < to_ns ? ready->list[i].end_ns : to_ns;
        piece.kind = WALL_RUNS;
        piece.from_ns = end;
        piece.to_ns = to_ns;
        if (wall_add_piece(walk, piece) != 0)
            return ERR_NO_MEMORY;
        piece.kind = WALL_READY;
        piece.from_ns = start;
        piece.to_ns = end;
        if (wall_add_piece(walk, piece) != 0)
            return ERR_NO_MEMORY;
        to_ns = start;
    }
    piece.kind = WALL_RUNS;
    piece.from_ns = from_ns;
    piece.to_ns = to_ns;
    return wall_add_piece(walk, piece);
}

static enum wall_kind wall_kind_of(const struct wall_walk *walk, const struct wall_wait *wait)
{
    static const enum wall_kind kinds[OS_CALL_KINDS] = {
        [OS_CALL_OTHER] = WALL_WAITS,   [OS_CALL_LOCK] = WALL_LOCKS, [OS_CALL_IO] = WALL_IO,
        [OS_CALL_EVENTS] = WALL_EVENTS, [OS_CALL_WAIT] = WALL_WAITS, [OS_CALL_START] = WALL_WAITS,
        [OS_CALL_CHILD] = WALL_WAITS,   [OS_CALL_LOAD] = WALL_IO,
    };

    return wait->is_sleep ? WALL_SLEEPS : kinds[wait->kind];
}

static int wall_add_waiting(struct wall_walk *walk, const struct wall_wait *wait, int64_t from_ns)
{
    return wall_add_piece(walk, (struct wall_piece){ walk->thread, from_ns, walk->time_ns, wait->call, wait->chain,
                                                     wait->python, wall_kind_of(walk, wait) });
}

/* To the one who started this thread, which was at work then: the main thread, or another one if that waited. A process
 * has started before its thread is known, and is known a little later than it was made, when whoever made it may wait
 * for it already: that time is its own. The walk is over if nobody in the report made it. */
static int wall_go_to_creator(struct wall_walk *walk, int64_t start_ns)
{
    const struct wall_process *own = wall_process_find(walk->path, global_process(walk->thread));
    int64_t creator = wall_main_thread(global_process(walk->thread));
    int code;

    if (walk->thread == creator && own && own->start_ns < start_ns) {
        if ((code = wall_add_work(walk, own->start_ns, start_ns)) != 0)
            return code;
        walk->time_ns = start_ns = own->start_ns;
    }
    if (walk->thread == creator)
        creator = own && wall_process_find(walk->path, own->parent) ? wall_main_thread(own->parent) : 0;
    struct wall_moment made = creator ? wall_last_work(walk, creator, start_ns).moment : (struct wall_moment){ 0 };
    if (made.time_ns < start_ns && global_process(creator) == global_process(walk->thread))
        made = wall_thread_of(walk, &(struct wall_wait){ .thread = walk->thread, .start_ns = INT64_MIN }, start_ns);
    if (!made.thread) {
        walk->is_over = 1;
        return 0;
    }
    if ((code = wall_add_work(walk, made.time_ns, start_ns)) != 0)
        return code;
    walk->thread = made.thread;
    walk->time_ns = made.time_ns;
    return 0;
}

/* To the one who ended a wait, else to its start. */
static int wall_go_on(struct wall_walk *walk, const struct wall_wait *wait, int64_t start_ns, int may_leave)
{
    struct wall_moment by = may_leave ? wall_ended_by(walk, wait, walk->time_ns) : (struct wall_moment){ 0 };
    int64_t until_ns = wait->start_ns > start_ns ? wait->start_ns : start_ns;
    int code;

    if (by.thread)
        until_ns = wall_gone_at(walk, by.thread, by.time_ns < walk->time_ns ? by.time_ns : walk->time_ns);
    if ((code = wall_add_waiting(walk, wait, until_ns)) != 0)
        return code;
    walk->time_ns = until_ns;
    walk->thread = by.thread ? by.thread : walk->thread;
    return 0;
}

/* One step back: the work after the last wait, and then the wait or whoever ended it. */
static int wall_step_back(struct wall_walk *walk, int may_leave)
{
    const struct wall_wait *wait = wall_wait_before(&walk->path->waits, walk->thread, walk->time_ns);
    int64_t start_ns = wall_life_start(walk, walk->thread, walk->time_ns), ended_ns = wait ? wait->end_ns : INT64_MIN;
    int code;

    if (start_ns == INT64_MIN) {
        walk->is_over = 1;
        return 0;
    }
    int64_t since_ns = ended_ns > start_ns ? ended_ns : start_ns;
    if ((code = wall_add_work(walk, since_ns, walk->time_ns)) != 0)
        return code;
    if (ended_ns <= start_ns)
        return wall_go_to_creator(walk, start_ns);
    walk->time_ns = since_ns < walk->time_ns ? since_ns : walk->time_ns;
    return wall_go_on(walk, wait, start_ns, may_leave);
}

static void wall_turn_around(struct wall_path *path)
{
    for (size_t i = 0, k = path->count; i + 1 < k--; i++) {
        struct wall_piece piece = path->list[i];
        path->list[i] = path->list[k];
        path->list[k] = piece;
    }
}

/* Threads that wait for each other must not send the walk around in a circle. */
static int wall_walk_back(struct wall_walk *walk, const struct wall_process *root)
{
    enum { MOST_TURNS = 64 };
    int turns = 0, code;

    walk->path->program = root->id;
    walk->thread = wall_main_thread(root->id);
    walk->time_ns = wall_gone_at(walk, walk->thread, root->end_ns);
    while (!walk->is_over && walk->time_ns > root->start_ns && turns <= 2 * MOST_TURNS) {
        int64_t before_ns = walk->time_ns;
        if ((code = wall_step_back(walk, turns < MOST_TURNS)) != 0)
            return code;
        turns = walk->time_ns < before_ns ? 0 : turns + 1;
    }
    wall_turn_around(walk->path);
    return 0;
}

int wall_path_read(struct wall_path *path, struct report *report, struct error *err)
{
    struct wall_walk walk = { .path = path, .report = report };
    int code;

    *path = (struct wall_path){ 0 };
    if (report_part_count(report))
        return error_set(err, ERR_NO_DATA, "the wall time of several reports has no common chain of threads");
    if ((code = wall_read_processes(path, report, err)) != 0 ||
        (code = thread_lives_read(&path->lives, report, err)) != 0 ||
        (code = wall_waits_read(&path->waits, report, err)) != 0 ||
        (code = thread_spans_gone(&walk.gone, report, err)) != 0)
        goto free_gone;
    const struct wall_process *root = wall_root(path);
    if (!root || root->end_ns == INT64_MIN)
        code = error_set(err, ERR_NO_DATA, "the report does not contain the end of the program");
    else if (wall_walk_back(&walk, root) != 0)
        code = error_short_memory(err, "for the chain of threads");
free_gone:
    thread_spans_free(&walk.gone);
    if (code != 0)
        wall_path_free(path);
    return code;
}
