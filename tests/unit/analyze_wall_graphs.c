/* The chain that set the wall time, on programs of random threads and processes whose every wait has a known end. A
 * program is played forward, and the pieces of work that had to wait for each other are a graph. Its longest path is
 * found by their lengths alone, without a look at the times, and has to be the chain. Then the program is played again
 * with a thread that works twice as fast, which a replay has to predict. */
#include "analyze/model/wall/wall_path.h"
#include "analyze/model/wall/wall_replay.h"
#include "made_report.h"
#include "rounds.h"

#include <stdio.h>

static const struct filter whole;

enum {
    GRAPHS = 1000,
    TICK_NS = 30000,
    LONGEST = 1 << 14
}; /* times are multiples of a unit, longer than the least wait */
enum { MAIN, THREADS = 9, FIRST_CHILD = 6, OPS = 48, LOCKS = 2, NODES = THREADS * OPS, PID = 100 };

enum op_kind { OP_WORK, OP_SLEEP, OP_LOCK, OP_START, OP_JOIN };

struct op {
    enum op_kind kind;
    int other;     /* the thread that it starts or joins, or a lock */
    int64_t units; /* of work: of OP_LOCK, while it has the lock */
};

/* A piece of work or of sleep; the nodes that had to be over before it. */
struct node {
    int thread, befores[2];
    int64_t units, from, to; /* from, to: as it was played */
    int64_t longest;         /* path that ends with it; 0: not known yet */
    int next, sleeps, paths; /* next: the one before it on that path; paths: of that length */
};

struct player {
    struct op ops[OPS];
    int count, at, is_started, last; /* last: node, or -1 */
    int64_t start, now, end;
};

struct play {
    uint64_t seed;
    struct player players[THREADS];
    struct node nodes[NODES];
    int count;
    struct {
        int64_t free_at;
        int holder, node;  /* node: in which it was held last, or -1 */
    } locks[LOCKS];
    struct writer *writer; /* NULL: nothing is written */
    int faster;            /* a thread whose work takes half as long, or -1 */
};

static int64_t dice(struct play *play, int64_t sides)
{
    play->seed ^= play->seed << 13;
    play->seed ^= play->seed >> 7;
    play->seed ^= play->seed << 17;
    return (int64_t)(play->seed % (uint64_t)sides);
}

/* ---- a program ------------------------------------------------------------------------------------------------ */

static int is_child(int thread)
{
    return thread >= FIRST_CHILD;
}

static int64_t id_of(int thread)
{
    int64_t pid = is_child(thread) ? PID + thread : PID;

    return made_thread(pid, thread == MAIN ? PID : PID + thread);
}

static void add_op(struct play *play, int thread, enum op_kind kind, int other)
{
    struct player *player = &play->players[thread];

    assert_in_range(player->count, 0, OPS - 1);
    player->ops[player->count++] = (struct op){ kind, other, 2 + 2 * dice(play, LONGEST / 2) };
}

static void add_acts(struct play *play, int thread, int64_t most)
{
    static const enum op_kind kinds[] = { OP_WORK, OP_SLEEP, OP_LOCK, OP_LOCK };

    add_op(play, thread, OP_WORK, 0);
    for (int64_t acts = dice(play, most + 1); acts > 0; acts--) {
        enum op_kind kind = kinds[dice(play, COUNT_OF(kinds))];
        if (kind == OP_LOCK && is_child(thread)) /* locks are of one process */
            kind = OP_SLEEP;
        add_op(play, thread, kind, (int)dice(play, LOCKS));
        add_op(play, thread, OP_WORK, 0);
    }
}

static int in_play(int thread, int threads, int children)
{
    return is_child(thread) ? thread < FIRST_CHILD + children : thread < threads;
}

/* The main thread starts all threads and children, and waits for each. */
static void make_up(struct play *play)
{
    int threads = 1 + (int)dice(play, FIRST_CHILD), children = (int)dice(play, THREADS - FIRST_CHILD + 1);

    add_acts(play, MAIN, 2);
    for (int join = 0; join <= 1; join++) {
        for (int i = 1; i < THREADS; i++)
            if (in_play(i, threads, children)) {
                add_op(play, MAIN, join ? OP_JOIN : OP_START, i);
                add_op(play, MAIN, OP_WORK, 0);
            }
        if (!join)
            add_acts(play, MAIN, 1);
    }
    for (int i = 1; i < THREADS; i++)
        if (in_play(i, threads, children))
            add_acts(play, i, 3);
    play->players[MAIN].is_started = 1;
}

/* ---- playing it ----------------------------------------------------------------------------------------------- */

static int add_node(struct play *play, int thread, int64_t units, int before, int sleeps)
{
    struct player *player = &play->players[thread];

    assert_in_range(play->count, 0, NODES - 1);
    if (thread == play->faster && sleeps <= 0)
        units /= 2;
    play->nodes[play->count] = (struct node){ .thread = thread,
                                              .befores = { player->last, before },
                                              .units = units,
                                              .sleeps = sleeps,
                                              .from = player->now,
                                              .to = player->now + units };
    player->now += units;
    return player->last = play->count++;
}

struct made_call {
    const char *name;
    int64_t from, result;
    int holder, lock; /* holder: -1: it waits for no lock */
};

static void add_call(struct play *play, int thread, struct made_call call)
{
    struct row_OSRT_API row = { 0 };

    if (!play->writer)
        return;
    ROW_SET(&row, OSRT_API, start, call.from * TICK_NS);
    ROW_SET(&row, OSRT_API, end, play->players[thread].now * TICK_NS);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, id_of(thread));
    ROW_SET(&row, OSRT_API, nameId, made_string(play->writer, call.name));
    ROW_SET(&row, OSRT_API, returnValue, call.result);
    if (call.holder >= 0) {
        ROW_SET(&row, OSRT_API, lockHolder, id_of(call.holder));
        ROW_SET(&row, OSRT_API, lockAddress, 4096 + call.lock);
    }
    writer_append(play->writer, TABLE_OSRT_API, &row);
}

/* The holder is the one of when the wait began: later ones do not know who waits. */
static void play_lock(struct play *play, int thread, const struct op *op)
{
    struct player *player = &play->players[thread];
    int64_t from = player->now;
    int holder = -1, before = -1;

    if (play->locks[op->other].node >= 0 && play->locks[op->other].free_at > from) {
        for (int i = 0; i < play->count; i++)
            if (play->nodes[i].sleeps < 0 && -1 - play->nodes[i].sleeps == op->other && play->nodes[i].from <= from &&
                play->nodes[i].to > from)
                holder = play->nodes[i].thread;
        before = play->locks[op->other].node;
        player->now = play->locks[op->other].free_at;
        add_call(play, thread, (struct made_call){ "pthread_mutex_lock", from, 0, holder, op->other });
    }
    play->locks[op->other].node = add_node(play, thread, op->units, before, -1 - op->other);
    play->locks[op->other].free_at = player->now;
}

static void play_start(struct play *play, int thread, int other)
{
    struct player *started = &play->players[other];

    started->start = started->now = play->players[thread].now;
    started->last = play->players[thread].last;
    started->is_started = 1;
}

static void play_join(struct play *play, int thread, int other)
{
    struct player *player = &play->players[thread];
    int64_t from = player->now;

    if (play->players[other].end <= from)
        return;
    player->now = play->players[other].end;
    if (is_child(other))
        add_call(play, thread, (struct made_call){ "waitpid", from, PID + other, -1, 0 });
    else
        add_call(play, thread, (struct made_call){ "pthread_join", from, 0, -1, 0 });
}

static int is_stuck(const struct play *play, const struct player *player)
{
    const struct op *op = &player->ops[player->at];

    return op->kind == OP_JOIN && !play->players[op->other].end;
}

/* The act that comes next: of all threads that can go on the one that is earliest. */
static int next_player(const struct play *play)
{
    int next = -1;

    for (int i = 0; i < THREADS; i++) {
        const struct player *player = &play->players[i];
        if (player->is_started && !player->end && !is_stuck(play, player) &&
            (next < 0 || player->now < play->players[next].now))
            next = i;
    }
    return next;
}

static void play_on(struct play *play, int thread)
{
    struct player *player = &play->players[thread];
    const struct op *op = &player->ops[player->at++], *before = player->at > 1 ? op - 1 : NULL;
    int64_t from = player->now;
    int joined = before && before->kind == OP_JOIN ? play->players[before->other].last : -1;

    if (op->kind == OP_WORK)
        add_node(play, thread, op->units, joined, 0);
    else if (op->kind == OP_LOCK)
        play_lock(play, thread, op);
    else if (op->kind == OP_START)
        play_start(play, thread, op->other);
    else if (op->kind == OP_JOIN)
        play_join(play, thread, op->other);
    else {
        add_node(play, thread, op->units, -1, 1);
        add_call(play, thread, (struct made_call){ "nanosleep", from, 0, -1, 0 });
    }
    if (player->at == player->count)
        player->end = player->now;
}

static void add_life(struct play *play, int thread)
{
    const struct player *player = &play->players[thread];
    struct row_TACHO_THREAD row = { 0 };

    ROW_SET(&row, TACHO_THREAD, start, player->start * TICK_NS);
    ROW_SET(&row, TACHO_THREAD, end, player->end * TICK_NS);
    ROW_SET(&row, TACHO_THREAD, globalTid, id_of(thread));
    writer_append(play->writer, TABLE_TACHO_THREAD, &row);
    if (thread == MAIN || is_child(thread)) {
        struct row_TACHO_PROCESS process = { 0 };
        ROW_SET(&process, TACHO_PROCESS, start, player->start * TICK_NS);
        ROW_SET(&process, TACHO_PROCESS, end, player->end * TICK_NS);
        ROW_SET(&process, TACHO_PROCESS, globalPid, id_of(thread) & ~INT64_C(0xffffff));
        if (thread != MAIN)
            ROW_SET(&process, TACHO_PROCESS, parentGlobalPid, id_of(MAIN) & ~INT64_C(0xffffff));
        writer_append(play->writer, TABLE_TACHO_PROCESS, &process);
    }
}

static void play_all(struct play *play)
{
    for (int i = 0; i < LOCKS; i++)
        play->locks[i].node = -1;
    play->players[MAIN].last = -1;
    for (int next; (next = next_player(play)) >= 0;)
        play_on(play, next);
    for (int i = 0; i < THREADS; i++)
        if (play->players[i].is_started && play->writer)
            add_life(play, i);
}

/* ---- the longest path ----------------------------------------------------------------------------------------- */

static int64_t longest_to(struct play *play, int number)
{
    struct node *node = &play->nodes[number];

    if (node->longest)
        return node->longest;
    node->next = -1;
    node->paths = 1;
    for (int i = 0; i < 2; i++) {
        int before = node->befores[i];
        int64_t length = before >= 0 ? longest_to(play, before) : 0;
        if (length > node->longest) {
            node->longest = length;
            node->next = before;
            node->paths = play->nodes[before].paths;
        } else if (length && length == node->longest && before != node->next)
            node->paths += play->nodes[before].paths;
    }
    return node->longest += node->units;
}

/* The pieces of the path, from its end: one of each stretch in which a thread works. Returns how many. */
static int longest_path(struct play *play, struct wall_piece *pieces)
{
    int count = 0, last = play->players[MAIN].last;
    int64_t time = longest_to(play, last) * TICK_NS;

    for (int at = last; at >= 0; at = play->nodes[at].next) {
        const struct node *node = &play->nodes[at];
        enum wall_kind kind = node->sleeps > 0 ? WALL_SLEEPS : WALL_RUNS;
        int64_t from = time - node->units * TICK_NS;
        if (count && pieces[count - 1].kind == kind && pieces[count - 1].thread == id_of(node->thread))
            pieces[count - 1].from_ns = from;
        else
            pieces[count++] = (struct wall_piece){
                .thread = id_of(node->thread), .from_ns = from, .to_ns = time, .kind = kind
            };
        time = from;
    }
    return count;
}

/* ---- the test ------------------------------------------------------------------------------------------------- */

static void compare(const struct wall_path *chain, const struct wall_piece *pieces, int count, uint64_t seed)
{
    size_t at = 0;

    for (int i = count; i-- > 0; at++) {
        struct wall_piece piece = at < chain->count ? chain->list[at] : (struct wall_piece){ 0 };
        for (; at + 1 < chain->count && chain->list[at + 1].thread == piece.thread &&
               chain->list[at + 1].kind == piece.kind;
             at++)
            piece.to_ns = chain->list[at + 1].to_ns;
        if (piece.thread != pieces[i].thread || piece.kind != pieces[i].kind || piece.from_ns != pieces[i].from_ns ||
            piece.to_ns != pieces[i].to_ns)
            fail_msg("seed %llu: %d of thread %lld from %lld to %lld instead of %d of %lld from %lld to %lld",
                     (unsigned long long)seed, piece.kind, (long long)(piece.thread & 0xffffff) - PID,
                     (long long)(piece.from_ns / TICK_NS), (long long)(piece.to_ns / TICK_NS), pieces[i].kind,
                     (long long)(pieces[i].thread & 0xffffff) - PID, (long long)(pieces[i].from_ns / TICK_NS),
                     (long long)(pieces[i].to_ns / TICK_NS));
    }
    assert_int_equal(at, chain->count);
}

static void play_seed(struct play *play, uint64_t seed, struct writer *writer, int faster)
{
    *play = (struct play){ .seed = seed, .writer = writer, .faster = faster };
    for (int i = 0; i < 8; i++)
        dice(play, 2);
    make_up(play);
    play_all(play);
}

/* 1: its longest path is one, and has more than one thread. */
static int is_chain_of(uint64_t seed)
{
    static struct play play;
    static struct wall_piece pieces[NODES];
    struct wall_path chain;
    struct error err;

    play_seed(&play, seed, start(), -1);
    struct report *report = finish(play.writer);
    int count = longest_path(&play, pieces), last = play.players[MAIN].last;
    if (wall_path_read(&chain, report, &whole, &err) != 0)
        fail_msg("%s", err.text);
    int is_one = play.nodes[last].paths == 1 && count > 1;
    if (is_one)
        compare(&chain, pieces, count, seed);
    wall_path_free(&chain);
    report_close(report);
    return is_one;
}

/* The gate plays a part of them. */
static int graphs(void)
{
    return GRAPHS / rounds_step(GRAPHS);
}

static uint64_t nth_seed(int number)
{
    return (uint64_t)(number + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void the_chain_is_the_longest_path(void **state)
{
    int compared = 0;

    for (int number = 0; compared < graphs(); number++)
        compared += is_chain_of(nth_seed(number));
}

/* ---- replays ------------------------------------------------------------------------------------------------------
 */

static int64_t replayed(const struct wall_threads *threads, const struct wall_edits *edits)
{
    int64_t time_ns;

    assert_int_equal(wall_replay(threads, (const struct wall_edits *const[]){ edits, NULL }, &time_ns), 0);
    return time_ns / TICK_NS;
}

/* The thread of the nth piece of work, from the end, on the longest path. */
static int thread_on_path(struct play *play, int nth)
{
    int at = play->players[MAIN].last;

    longest_to(play, at);
    for (; nth > 0 && play->nodes[at].next >= 0; nth--)
        at = play->nodes[at].next;
    return play->nodes[at].thread;
}

/* How right the replay is of the program in which a thread works twice as fast: it was played again. */
enum verdict { SAVES_NOTHING, EXACT, CLOSE, WRONG, VERDICTS };
static int wrong_of_main; /* of these, the main thread is the faster one */
static enum verdict verdict_of(uint64_t seed)
{
    static struct play play, changed;
    struct wall_threads threads;
    struct wall_edits edits = { 0 };
    struct error err;

    play_seed(&play, seed, start(), -1);
    struct report *report = finish(play.writer);
    if (wall_threads_read(&threads, report, &err) != 0)
        fail_msg("%s", err.text);
    int64_t unchanged = play.players[MAIN].end;
    assert_int_equal(replayed(&threads, &edits), unchanged);
    int faster = thread_on_path(&play, (int)(seed >> 60));
    play_seed(&changed, seed, NULL, faster);
    for (int i = 0; i < play.count; i++)
        if (play.nodes[i].thread == faster && play.nodes[i].sleeps <= 0)
            assert_int_equal(wall_edits_add(&edits, id_of(faster), play.nodes[i].from * TICK_NS,
                                            play.nodes[i].to * TICK_NS, 0.5),
                             0);
    wall_edits_sort(&edits);
    int64_t saved = unchanged - changed.players[MAIN].end, off = saved - (unchanged - replayed(&threads, &edits));
    wall_edits_free(&edits);
    wall_threads_free(&threads);
    report_close(report);
    off = off < 0 ? -off : off;
    wrong_of_main += 4 * off > saved && faster == MAIN;
    return off <= 1 ? saved ? EXACT : SAVES_NOTHING : 4 * off <= saved ? CLOSE : WRONG;
}

static void a_replay_predicts_the_changed_program(void **state)
{
    int counts[VERDICTS] = { 0 };

    for (int number = 0; number < graphs(); number++)
        counts[verdict_of(nth_seed(number))]++;
    printf("nothing to save: %d, exact: %d, within a quarter: %d, wrong: %d\n", counts[SAVES_NOTHING], counts[EXACT],
           counts[CLOSE], counts[WRONG]);
    printf("of those that are wrong the main thread is faster in %d\n", wrong_of_main);
    assert_in_range(counts[EXACT], graphs() / 2, graphs());
    assert_in_range(counts[WRONG] - wrong_of_main, 0, graphs() / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_chain_is_the_longest_path),
                                        cmocka_unit_test(a_replay_predicts_the_changed_program) };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
