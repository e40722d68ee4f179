/* Plays the threads of a program again: see wall_replay.h. */
#include "wall_replay.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/saturating.h"
#include "report/reader/unite.h"

/* ---- edits ------------------------------------------------------------------------------------------------------- */

void wall_edits_free(struct wall_edits *edits)
{
    free(edits->list);
    free(edits->are_no_waits);
    *edits = (struct wall_edits){ 0 };
}

int wall_edits_add(struct wall_edits *edits, int64_t thread, int64_t start_ns, int64_t end_ns, double factor)
{
    double saved_ns = (double)saturating_duration(start_ns, end_ns) * (1 - factor);
    const struct wall_edit edit = {
        .thread = thread, .start_ns = start_ns, .end_ns = end_ns, .saved_ns = saturating_from_double(saved_ns)
    };

    return ARRAY_PUSH(edits->list, edits->room, edits->count, edit);
}

int wall_edits_add_wait(struct wall_edits *edits, const struct wall_threads *threads, size_t wait)
{
    if (!edits->are_no_waits && !(edits->are_no_waits = calloc(threads->waits.count, 1)))
        return ERR_NO_MEMORY;
    edits->are_no_waits[wait] = 1;
    return 0;
}

static int wall_edits_by_thread(const void *a, const void *b)
{
    const struct wall_edit *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->start_ns, y->start_ns);
}

void wall_edits_sort(struct wall_edits *edits)
{
    if (edits->count)
        qsort(edits->list, edits->count, sizeof *edits->list, wall_edits_by_thread);
    for (size_t i = 1; i < edits->count; i++) {
        const struct wall_edit *last = &edits->list[i - 1];
        if (last->thread == edits->list[i].thread)
            edits->list[i].before_ns = saturating_add(last->before_ns, last->saved_ns);
    }
}

/* What the thread's edits save up to this time. */
static int64_t wall_edits_saved_until(const struct wall_edits *edits, int64_t thread, int64_t time_ns)
{
    size_t behind = BISECT(0, edits->count, i,
                           edits->list[i].thread < thread ||
                               (edits->list[i].thread == thread && edits->list[i].start_ns < time_ns));

    if (!behind || edits->list[behind - 1].thread != thread)
        return 0;
    const struct wall_edit *last = &edits->list[behind - 1];
    if (last->end_ns <= time_ns)
        return saturating_add(last->before_ns, last->saved_ns);
    double part = (double)saturating_duration(last->start_ns, time_ns) /
                  (double)saturating_duration(last->start_ns, last->end_ns);
    return saturating_add(last->before_ns, saturating_from_double((double)last->saved_ns * part));
}

static int wall_edits_have_no_wait(const struct wall_edits *const *edits, size_t wait)
{
    for (; *edits; edits++)
        if ((*edits)->are_no_waits && (*edits)->are_no_waits[wait])
            return 1;
    return 0;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* From `was` on, up to its next wait, the thread works as it did, but from `is` on. */
struct wall_mark {
    int64_t was_ns, is_ns;
};

struct wall_lane {
    int64_t thread;
    size_t first, count; /* of its marks; so far */
};

/* A thread starts, or a wait ends. */
struct wall_event {
    int64_t time_ns;
    uint32_t number; /* of the wait, or of the life */
    int is_wait;
};

struct wall_player {
    const struct wall_threads *threads;
    const struct wall_edits *const *edits;
    struct wall_lane *lanes;   /* owned; by thread */
    struct wall_mark *marks;   /* owned; those of a lane follow each other, by time */
    struct wall_event *events; /* owned; by time */
    size_t lane_count, event_count;
};

static struct wall_lane *wall_lane_of(const struct wall_player *player, int64_t thread)
{
    size_t at = BISECT(0, player->lane_count, i, player->lanes[i].thread < thread);

    return at < player->lane_count && player->lanes[at].thread == thread ? &player->lanes[at] : NULL;
}

static int64_t wall_saved(const struct wall_player *player, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    int64_t sum_ns = 0;

    for (const struct wall_edits *const *edits = player->edits; *edits; edits++)
        sum_ns = saturating_add(sum_ns, saturating_duration(wall_edits_saved_until(*edits, thread, from_ns),
                                                            wall_edits_saved_until(*edits, thread, to_ns)));
    return sum_ns;
}

/* When the thread is where it was at this time. */
static int64_t wall_now(const struct wall_player *player, int64_t thread, int64_t time_ns)
{
    const struct wall_lane *lane = wall_lane_of(player, thread);
    const struct wall_mark *marks = lane ? &player->marks[lane->first] : NULL;
    size_t behind = lane ? BISECT(0, lane->count, i, marks[i].was_ns <= time_ns) : 0;

    if (!behind)
        return time_ns;
    const struct wall_mark *mark = &marks[behind - 1];
    int64_t length_ns = saturating_subtract(saturating_duration(mark->was_ns, time_ns),
                                            wall_saved(player, thread, mark->was_ns, time_ns));
    return saturating_add(mark->is_ns, length_ns > 0 ? length_ns : 0);
}

static void wall_mark_add(struct wall_player *player, int64_t thread, int64_t was_ns, int64_t is_ns)
{
    struct wall_lane *lane = wall_lane_of(player, thread);

    if (lane)
        player->marks[lane->first + lane->count++] = (struct wall_mark){ was_ns, is_ns };
}

/* ---- the replay -------------------------------------------------------------------------------------------------- */

/* A life that goes on after an exec() has no start of its own. */
static void wall_play_start(struct wall_player *player, const struct thread_life *life)
{
    int64_t is_ns = life->start_ns;

    if (wall_life_start(player->threads, life->thread, saturating_add(life->start_ns, 1)) != life->start_ns)
        return;
    struct wall_moment made = wall_started_by(player->threads, life->thread, life->start_ns);
    if (made.thread)
        is_ns = saturating_add(wall_now(player, made.thread, made.time_ns),
                               saturating_duration(made.time_ns, life->start_ns));
    wall_mark_add(player, life->thread, life->start_ns, is_ns);
}

/* When the other threads of the process are done that were done in this wait, and were not at work when it ended: of
 * the first WALL_MOST_ASKED, as in wall_threads.h. */
static int64_t wall_others_done(const struct wall_player *player, const struct wall_wait *wait)
{
    const struct thread_lives *lives = &player->threads->lives;
    int64_t process = global_process(wait->thread), latest_ns = INT64_MIN;

    size_t first = BISECT(0, lives->count, k, lives->list[k].thread < process);
    for (size_t i = first;
         i < lives->count && i - first < WALL_MOST_ASKED && global_process(lives->list[i].thread) == process; i++) {
        int64_t thread = lives->list[i].thread;
        struct wall_moment last = wall_last_work(player->threads, thread, wait->end_ns);
        if (thread == wait->thread || !last.thread || last.time_ns <= wait->start_ns || last.time_ns >= wait->end_ns)
            continue;
        int64_t done_ns = wall_now(player, thread, last.time_ns);
        latest_ns = done_ns > latest_ns ? done_ns : latest_ns;
    }
    return latest_ns;
}

static int64_t wall_wait_over(const struct wall_player *player, const struct wall_wait *wait, int64_t begin_ns)
{
    struct wall_moment by = wall_wait_ended_by(player->threads, wait, wait->end_ns);

    if (!by.thread)
        return saturating_add(begin_ns, saturating_duration(wait->start_ns, wait->end_ns));
    int64_t at_ns = by.time_ns < wait->end_ns ? by.time_ns : wait->end_ns,
            over_ns = saturating_add(wall_now(player, by.thread, at_ns), saturating_duration(at_ns, wait->end_ns));
    if (wait->kind == OS_CALL_WAIT || wait->kind == OS_CALL_OTHER) {
        int64_t others_ns = wall_others_done(player, wait);
        over_ns = others_ns > over_ns ? others_ns : over_ns;
    }
    return over_ns > begin_ns ? over_ns : begin_ns;
}

static void wall_play_wait(struct wall_player *player, size_t number)
{
    const struct wall_wait *wait = &player->threads->waits.list[number];
    int64_t is_ns = wall_now(player, wait->thread, wait->start_ns);

    if (!wall_edits_have_no_wait(player->edits, number))
        is_ns = wall_wait_over(player, wait, is_ns);
    wall_mark_add(player, wait->thread, wait->end_ns, is_ns);
}

/* The end of the program. What had ended before it had been waited for. */
static int64_t wall_play_end(const struct wall_player *player)
{
    const struct wall_threads *threads = player->threads;
    int64_t main_thread = wall_main_thread(threads->program->id),
            end_ns = wall_gone_at(threads, main_thread, threads->program->end_ns),
            is_ns = wall_now(player, main_thread, end_ns);

    for (size_t i = 0; i < threads->lives.count; i++) {
        const struct thread_life *life = &threads->lives.list[i];
        const struct wall_process *process = wall_process_find(threads, global_process(life->thread));
        if (life->end_ns >= end_ns || !process ||
            (process != threads->program &&
             (process->parent != threads->program->id || life->thread != wall_main_thread(process->id))))
            continue;
        int64_t over_ns = wall_now(player, life->thread, wall_gone_at(threads, life->thread, life->end_ns));
        is_ns = over_ns > is_ns ? over_ns : is_ns;
    }
    return is_ns;
}

static int wall_events_by_time(const void *a, const void *b)
{
    const struct wall_event *x = a, *y = b;

    return COMPARE(x->time_ns, y->time_ns) ?: COMPARE(x->is_wait, y->is_wait) ?: COMPARE(x->number, y->number);
}

static void wall_player_free(struct wall_player *player)
{
    free(player->lanes);
    free(player->marks);
    free(player->events);
}

/* Lives and waits are by thread, so that each lane has room for as many marks as the thread has of both. */
static int wall_player_open(struct wall_player *player)
{
    const struct thread_lives *lives = &player->threads->lives;
    const struct wall_waits *waits = &player->threads->waits;
    size_t most = lives->count + waits->count, wait = 0;

    player->lanes = array_alloc(lives->count + 1, sizeof *player->lanes);
    player->marks = array_alloc(most + 1, sizeof *player->marks);
    player->events = array_alloc(most + 1, sizeof *player->events);
    if (!player->lanes || !player->marks || !player->events)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < lives->count; i++) {
        const struct thread_life *life = &lives->list[i];
        player->events[player->event_count++] = (struct wall_event){ life->start_ns, (uint32_t)i, 0 };
        if (i && lives->list[i - 1].thread == life->thread)
            continue;
        for (; wait < waits->count && waits->list[wait].thread < life->thread; wait++)
            ;
        player->lanes[player->lane_count++] = (struct wall_lane){ life->thread, i + wait, 0 };
    }
    for (size_t i = 0; i < waits->count; i++)
        player->events[player->event_count++] = (struct wall_event){ waits->list[i].end_ns, (uint32_t)i, 1 };
    if (player->event_count)
        qsort(player->events, player->event_count, sizeof *player->events, wall_events_by_time);
    return 0;
}

int wall_replay(const struct wall_threads *threads, const struct wall_edits *const *edits, int64_t *time_ns)
{
    struct wall_player player = { .threads = threads, .edits = edits };
    int code = wall_player_open(&player);

    if (code != 0)
        goto free_player;
    for (size_t i = 0; i < player.event_count; i++) {
        const struct wall_event *event = &player.events[i];
        if (event->is_wait)
            wall_play_wait(&player, event->number);
        else
            wall_play_start(&player, &threads->lives.list[event->number]);
    }
    *time_ns = saturating_duration(threads->program->start_ns, wall_play_end(&player));
free_player:
    wall_player_free(&player);
    return code;
}
