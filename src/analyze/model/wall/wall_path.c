/* Follows the chain that set the wall time: see wall_path.h. */
#include "wall_path.h"

#include <stdlib.h>

#include "analyze/model/filter.h"
#include "analyze/model/recorded.h"
#include "base/array.h"
#include "base/saturating.h"
#include "report/reader/unite.h"
#include "wall_busy.h"

struct wall_walk {
    struct wall_path *path;
    const struct wall_threads *threads;
    int64_t thread, time_ns; /* where the walk is */
    int is_over;
};

void wall_path_free(struct wall_path *path)
{
    wall_threads_free(&path->threads);
    free(path->list);
    *path = (struct wall_path){ 0 };
}

static int wall_add_piece(struct wall_path *path, struct wall_piece piece)
{
    return piece.from_ns < piece.to_ns ? ARRAY_PUSH(path->list, path->room, path->count, piece) : 0;
}

/* Pieces are added from the end to the begin. */
static int wall_add_work(struct wall_walk *walk, int64_t from_ns, int64_t to_ns)
{
    const struct thread_spans *ready = &walk->threads->waits.ready;
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
        if (wall_add_piece(walk->path, piece) != 0)
            return ERR_NO_MEMORY;
        piece.kind = WALL_READY;
        piece.from_ns = start;
        piece.to_ns = end;
        if (wall_add_piece(walk->path, piece) != 0)
            return ERR_NO_MEMORY;
        to_ns = start;
    }
    piece.kind = WALL_RUNS;
    piece.from_ns = from_ns;
    piece.to_ns = to_ns;
    return wall_add_piece(walk->path, piece);
}

static enum wall_kind wall_kind_of(const struct wall_wait *wait)
{
    static const enum wall_kind kinds[OS_CALL_KINDS] = {
        [OS_CALL_OTHER] = WALL_WAITS,   [OS_CALL_LOCK] = WALL_LOCKS, [OS_CALL_IO] = WALL_IO,
        [OS_CALL_EVENTS] = WALL_EVENTS, [OS_CALL_WAIT] = WALL_WAITS, [OS_CALL_START] = WALL_WAITS,
        [OS_CALL_CHILD] = WALL_WAITS,   [OS_CALL_LOAD] = WALL_IO,
    };

    return wait->is_sleep ? WALL_SLEEPS : kinds[wait->kind];
}

static int wall_add_waiting(struct wall_walk *walk, const struct wall_wait *wait, int64_t from_ns, int64_t to_ns)
{
    return wall_add_piece(walk->path, (struct wall_piece){ wait->thread, from_ns, to_ns, wait->call, wait->chain,
                                                           wait->python, wall_kind_of(wait) });
}

/* Waits for events that nobody in the report ended: of a server. What its busiest other thread does meanwhile is why
 * the program is at it. */
static int wall_add_serving(struct wall_walk *walk, const struct wall_wait *wait, int64_t from_ns)
{
    int64_t to_ns = walk->time_ns, busiest = wall_busiest_other(walk->threads, wait->thread, from_ns, to_ns);

    while (busiest && to_ns > from_ns) {
        struct report_span work = wall_work_before(walk->threads, busiest, from_ns, to_ns);
        if (work.from_ns >= work.to_ns)
            break;
        if (wall_add_waiting(walk, wait, work.to_ns, to_ns) != 0)
            return ERR_NO_MEMORY;
        walk->thread = busiest;
        if (wall_add_work(walk, work.from_ns, work.to_ns) != 0)
            return ERR_NO_MEMORY;
        walk->thread = wait->thread;
        to_ns = work.from_ns;
    }
    return wall_add_waiting(walk, wait, from_ns, to_ns);
}

/* To the one who started this thread, which was at work then. A process has started before its thread is known, and is
 * known a little later than it was made, when whoever made it may wait for it already: that time is its own. The walk
 * is over if nobody in the report made it. */
static int wall_go_to_creator(struct wall_walk *walk, int64_t start_ns)
{
    const struct wall_process *own = wall_process_find(walk->threads, global_process(walk->thread));
    int code;

    if (own && walk->thread == wall_main_thread(own->id) && own->start_ns < start_ns) {
        if ((code = wall_add_work(walk, own->start_ns, start_ns)) != 0)
            return code;
        walk->time_ns = start_ns = own->start_ns;
    }
    struct wall_moment made = wall_started_by(walk->threads, walk->thread, start_ns);
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
    struct wall_moment by = may_leave ? wall_wait_ended_by(walk->threads, wait, walk->time_ns)
                                      : (struct wall_moment){ 0 };
    int64_t until_ns = wait->start_ns > start_ns ? wait->start_ns : start_ns;
    int code;

    if (by.thread)
        until_ns = wall_gone_at(walk->threads, by.thread, by.time_ns < walk->time_ns ? by.time_ns : walk->time_ns);
    code = !by.thread && wait->kind == OS_CALL_EVENTS && !wait->is_sleep
               ? wall_add_serving(walk, wait, until_ns)
               : wall_add_waiting(walk, wait, until_ns, walk->time_ns);
    if (code != 0)
        return code;
    walk->time_ns = until_ns;
    walk->thread = by.thread ? by.thread : walk->thread;
    return 0;
}

/* One step back: the work after the last wait, and then the wait or whoever ended it. */
static int wall_step_back(struct wall_walk *walk, int may_leave)
{
    const struct wall_wait *wait = wall_wait_before(&walk->threads->waits, walk->thread, walk->time_ns);
    int64_t start_ns = wall_life_start(walk->threads, walk->thread, walk->time_ns),
            ended_ns = wait ? wait->end_ns : INT64_MIN;
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
static int wall_walk_back(struct wall_walk *walk)
{
    const struct wall_process *root = walk->threads->program;
    enum { MOST_TURNS = 64 };
    int turns = 0, code;

    walk->thread = wall_main_thread(root->id);
    walk->time_ns = wall_gone_at(walk->threads, walk->thread, root->end_ns);
    while (!walk->is_over && walk->time_ns > root->start_ns && turns <= 2 * MOST_TURNS) {
        int64_t before_ns = walk->time_ns;
        if ((code = wall_step_back(walk, turns < MOST_TURNS)) != 0)
            return code;
        turns = walk->time_ns < before_ns ? 0 : turns + 1;
    }
    wall_turn_around(walk->path);
    return 0;
}

/* ---- what is asked for ------------------------------------------------------------------------------------------ */

/* NULL: all of the time. */
static struct wall_piece wall_piece_within(struct wall_piece piece, const struct report_span *span)
{
    piece.from_ns = span && span->from_ns > piece.from_ns ? span->from_ns : piece.from_ns;
    piece.to_ns = span && span->to_ns < piece.to_ns ? span->to_ns : piece.to_ns;
    return piece;
}

static int wall_keep_piece(struct wall_path *kept, struct wall_piece piece, const struct recorded *recorded)
{
    if (!recorded->is_part)
        return wall_add_piece(kept, piece);
    for (size_t i = 0; i < recorded->count; i++)
        if (wall_add_piece(kept, wall_piece_within(piece, &recorded->spans[i])) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* Leaves the pieces that pass the filter, of the time that was recorded: what lies outside of a range has no events,
 * and would look like work. */
static int wall_path_keep(struct wall_path *path, struct report *report, const struct filter *filter, struct error *err)
{
    struct wall_path kept = { 0 };
    struct recorded recorded;
    int code = recorded_read(&recorded, report, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < path->count; i++) {
        const struct wall_piece *piece = &path->list[i];
        if (filter_thread(filter, piece->thread, piece->from_ns, piece->to_ns) &&
            wall_keep_piece(&kept, wall_piece_within(*piece, filter->span), &recorded) != 0) {
            code = error_short_memory(err, "for the chain of threads");
            goto free_recorded;
        }
    }
free_recorded:
    recorded_free(&recorded);
    free(path->list);
    path->list = kept.list;
    path->count = kept.count;
    path->room = kept.room;
    return code;
}

int wall_path_read(struct wall_path *path, struct report *report, const struct filter *filter, struct error *err)
{
    struct wall_walk walk = { .path = path, .threads = &path->threads };
    int code;

    *path = (struct wall_path){ 0 };
    if ((code = wall_threads_read(&path->threads, report, err)) != 0)
        goto free_path;
    if (wall_walk_back(&walk) != 0) {
        code = error_short_memory(err, "for the chain of threads");
        goto free_path;
    }
    if ((code = wall_path_keep(path, report, filter, err)) == 0)
        return 0;
free_path:
    wall_path_free(path);
    return code;
}
