/* The rule uneven_work: threads, or processes that a program forks, of which one has more to do than the others, so
 * that all wait for it.
 *
 * While the chain that set the wall time (wall_path.h) is in one of them, the program waits for them: a phase. If all
 * worked equally long, it would end earlier by the work of the busiest less the mean. Waits for locks, files and sleep
 * count as work: less waiting would not make the work even. Time without a CPU does not: other programs make no work
 * uneven. Workers that did something else do not count. */
#include <stdlib.h>

#include "analyze/advice/adviser.h"
#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/model/wall/wall_lines.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "base/saturating.h"
#include "rule.h"

#define LEAST_NS INT64_C(10000000)
/* Shares of a phase: of a worker that is one of several, and of the chain, which works or wants a CPU. */
enum { LEAST_PERCENT = 5, LEAST_WORK_PERCENT = 2, LEAST_BUSY_PERCENT = 70 };

enum uneven_kind { UNEVEN_NONE, UNEVEN_THREADS, UNEVEN_PROCESSES };

/* The workers: the threads of a process but its main one, or the children that a process forked. */
struct uneven_team {
    enum uneven_kind kind;
    int64_t process;
};

struct uneven_worker {
    int64_t thread, work_ns, own_ns; /* without the time in which it had no CPU; own: nor waited for a lock */
};

/* What was uneven in the same function. */
enum { KEY_KIND, KEY_PROCESS, KEY_FILE, KEY_FUNCTION, KEY_PARTS };
struct uneven_group {
    int64_t impact_ns, phases, workers, longest_ns, start_ns;
    double most_ns, mean_ns;
    uint32_t place; /* of the busiest worker in the phase that could be shorter by most */
};

struct uneven_search {
    struct rule_search base;
    struct wall_lines lines;
    int64_t cpus;                  /* 0: not known */
    int has_openmp;
    uint8_t *are_forked;           /* owned, as all below; by process of the chain's threads */
    struct uneven_worker *workers; /* of the phase that is looked at */
    size_t count, workers_room;
    struct keys keys;
    struct uneven_group *groups;   /* by key */
    size_t room;
};

static void uneven_search_free(void *context)
{
    struct uneven_search *search = context;

    wall_lines_free(&search->lines);
    free(search->are_forked);
    free(search->workers);
    keys_free(&search->keys);
    free(search->groups);
}

/* ---- teams ------------------------------------------------------------------------------------------------------- */

static size_t uneven_number(const struct wall_threads *threads, const struct wall_process *process)
{
    return (size_t)(process - threads->processes);
}

/* A child without an exec() has its parent's command. */
static int uneven_find_forked(struct uneven_search *search)
{
    const struct wall_threads *threads = &search->lines.path.threads;
    const struct process_names *list = &search->lines.commands;
    int64_t *commands = array_alloc(threads->process_count + 1, sizeof *commands);

    search->are_forked = calloc(threads->process_count + 1, 1);
    if (!commands || !search->are_forked) {
        free(commands);
        return ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < threads->process_count; i++)
        commands[i] = -1;
    for (size_t i = 0; i < list->count; i++) {
        const struct wall_process *process = wall_process_find(threads, list->list[i].process);
        if (process)
            commands[uneven_number(threads, process)] = list->list[i].name;
    }
    for (size_t i = 0; i < threads->process_count; i++) {
        const struct wall_process *parent = wall_process_find(threads, threads->processes[i].parent);
        search->are_forked[i] = parent && commands[i] >= 0 && commands[i] == commands[uneven_number(threads, parent)];
    }
    free(commands);
    return 0;
}

static int uneven_is_forked(const struct uneven_search *search, const struct wall_process *process)
{
    return search->are_forked[uneven_number(&search->lines.path.threads, process)];
}

static struct uneven_team uneven_team_of(const struct uneven_search *search, int64_t thread)
{
    int64_t id = global_process(thread);
    const struct wall_process *process = wall_process_find(&search->lines.path.threads, id);

    if (!process)
        return (struct uneven_team){ UNEVEN_NONE, 0 };
    if (thread != wall_main_thread(id))
        return (struct uneven_team){ search->has_openmp ? UNEVEN_NONE : UNEVEN_THREADS, id };
    return (struct uneven_team){ uneven_is_forked(search, process) ? UNEVEN_PROCESSES : UNEVEN_NONE, process->parent };
}

/* A thread waits for work in a condition, a semaphore or for events; a process in any call but sleep. */
static int uneven_is_idle(const struct wall_wait *wait, enum uneven_kind kind)
{
    if (wait->is_sleep)
        return 0;
    return kind == UNEVEN_PROCESSES || (wait->kind != OS_CALL_LOCK && wait->kind != OS_CALL_IO);
}

static int64_t uneven_overlap(int64_t from_ns, int64_t to_ns, int64_t start_ns, int64_t end_ns)
{
    return saturating_duration(from_ns > start_ns ? from_ns : start_ns, to_ns < end_ns ? to_ns : end_ns);
}

/* How long the thread was idle, and how long it waited for locks. */
struct uneven_waits {
    int64_t idle_ns, locked_ns;
};

static struct uneven_waits uneven_waits_of(const struct uneven_search *search, int64_t thread, enum uneven_kind kind,
                                           int64_t from_ns, int64_t to_ns)
{
    const struct wall_waits *waits = &search->lines.path.threads.waits;
    const struct wall_wait *wait = wall_wait_before(waits, thread, to_ns);
    struct uneven_waits sums = { 0 };

    for (; wait && wait->thread == thread && wait->end_ns > from_ns; wait = wait > waits->list ? wait - 1 : NULL) {
        int64_t time_ns = uneven_overlap(from_ns, to_ns, wait->start_ns, wait->end_ns);
        if (uneven_is_idle(wait, kind))
            sums.idle_ns = saturating_add(sums.idle_ns, time_ns);
        else if (wait->kind == OS_CALL_LOCK)
            sums.locked_ns = saturating_add(sums.locked_ns, time_ns);
    }
    return sums;
}

static int64_t uneven_ready(const struct uneven_search *search, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    const struct thread_spans *ready = &search->lines.path.threads.waits.ready;
    size_t behind, i = thread_spans_from(ready, thread, from_ns, &behind);
    int64_t sum_ns = 0;

    for (; i < behind && ready->list[i].start_ns < to_ns; i++)
        sum_ns = saturating_add(sum_ns, uneven_overlap(from_ns, to_ns, ready->list[i].start_ns, ready->list[i].end_ns));
    return sum_ns;
}

static int uneven_add_worker(struct uneven_search *search, enum uneven_kind kind, const struct thread_life *life,
                             const struct report_span *phase)
{
    int64_t from_ns = life->start_ns > phase->from_ns ? life->start_ns : phase->from_ns,
            to_ns = life->end_ns < phase->to_ns ? life->end_ns : phase->to_ns;
    struct uneven_worker worker = { .thread = life->thread };

    if (from_ns >= to_ns)
        return 0;
    struct uneven_waits waits = uneven_waits_of(search, life->thread, kind, from_ns, to_ns);
    int64_t idle_ns = saturating_add(waits.idle_ns, uneven_ready(search, life->thread, from_ns, to_ns));
    worker.work_ns = saturating_subtract(saturating_duration(from_ns, to_ns), idle_ns);
    worker.own_ns = saturating_subtract(worker.work_ns, waits.locked_ns);
    if (worker.work_ns < saturating_duration(phase->from_ns, phase->to_ns) / 100 * LEAST_WORK_PERCENT)
        return 0;
    return ARRAY_PUSH(search->workers, search->workers_room, search->count, worker);
}

/* The team's workers that did something in the phase. */
static int uneven_find_threads(struct uneven_search *search, int64_t process, const struct report_span *phase)
{
    const struct thread_lives *lives = &search->lines.path.threads.lives;

    for (size_t i = BISECT(0, lives->count, k, lives->list[k].thread < process);
         i < lives->count && global_process(lives->list[i].thread) == process; i++)
        if (lives->list[i].thread != wall_main_thread(process) &&
            uneven_add_worker(search, UNEVEN_THREADS, &lives->list[i], phase) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int uneven_find_children(struct uneven_search *search, int64_t parent, const struct report_span *phase)
{
    const struct wall_threads *threads = &search->lines.path.threads;

    for (size_t i = 0; i < threads->process_count; i++) {
        const struct wall_process *child = &threads->processes[i];
        const struct thread_life life = { wall_main_thread(child->id), child->start_ns, child->end_ns };
        if (child->parent == parent && uneven_is_forked(search, child) &&
            uneven_add_worker(search, UNEVEN_PROCESSES, &life, phase) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int uneven_find_workers(struct uneven_search *search, struct uneven_team team, const struct report_span *phase)
{
    search->count = 0;
    return team.kind == UNEVEN_THREADS ? uneven_find_threads(search, team.process, phase)
                                       : uneven_find_children(search, team.process, phase);
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

/* What a team did in a phase. */
struct uneven_sums {
    const struct uneven_worker *busiest;
    double work_ns, own_ns; /* of all */
};

static struct uneven_sums uneven_sum_up(const struct uneven_search *search)
{
    struct uneven_sums sums = { search->workers, 0, 0 };

    for (size_t i = 0; i < search->count; i++) {
        const struct uneven_worker *worker = &search->workers[i];
        sums.work_ns += (double)worker->work_ns;
        sums.own_ns += (double)worker->own_ns;
        sums.busiest = worker->work_ns > sums.busiest->work_ns ? worker : sums.busiest;
    }
    return sums;
}

/* By how much the phase would be shorter: on too few CPUs it cannot be shorter than the work by their number. Who only
 * waits for locks for longer than the others has no work to give them: that wait is longer by the time in which their
 * holders had no CPU. */
static int64_t uneven_gain(const struct uneven_search *search, const struct uneven_sums *sums,
                           const struct report_span *phase)
{
    double count = (double)search->count,
           cpus = search->cpus && (double)search->cpus < count ? (double)search->cpus : count,
           gain_ns = (double)sums->busiest->work_ns - sums->work_ns / count,
           own_ns = (double)sums->busiest->own_ns - sums->own_ns / count,
           most_ns = (double)saturating_duration(phase->from_ns, phase->to_ns) - sums->work_ns / cpus;

    gain_ns = gain_ns < most_ns ? gain_ns : most_ns;
    gain_ns = gain_ns < own_ns ? gain_ns : own_ns;
    return gain_ns > 0 ? (int64_t)gain_ns : 0;
}

static uint32_t uneven_place(struct uneven_search *search, int64_t thread, const struct report_span *phase)
{
    return places_at(&search->lines.places, thread, phase->from_ns, phase->to_ns);
}

/* Leaves the workers that do what the busiest one does, at `number`. Python's threads take turns, and are never even.
 */
static void uneven_keep_same(struct uneven_search *search, enum uneven_kind kind, uint32_t number,
                             const struct report_span *phase)
{
    struct place place = places_get(&search->lines.places, number);
    size_t kept = 0;

    for (size_t i = 0; i < search->count; i++) {
        uint32_t own = uneven_place(search, search->workers[i].thread, phase);
        struct place found = own == NO_PLACE ? (struct place){ 0 } : places_get(&search->lines.places, own);
        if (own != NO_PLACE && found.file == place.file && found.function == place.function)
            search->workers[kept++] = search->workers[i];
    }
    search->count = place.kind == PLACE_PYTHON && kind == UNEVEN_THREADS ? 0 : kept;
}

static int uneven_add(struct uneven_search *search, struct uneven_team team, const struct uneven_sums *sums,
                      int64_t gain_ns, uint32_t number, const struct report_span *phase)
{
    struct place place = places_get(&search->lines.places, number);
    const int64_t key[KEY_PARTS] = { team.kind, team.process, place.file, place.function };
    uint32_t at = keys_add(&search->keys, key);

    if (at == NO_KEY || array_reserve_zeroed(&search->groups, &search->room, at + 1u, sizeof *search->groups) != 0)
        return ERR_NO_MEMORY;
    struct uneven_group *group = &search->groups[at];
    if (gain_ns > group->longest_ns || !group->phases) {
        group->longest_ns = gain_ns;
        group->start_ns = phase->from_ns;
        group->place = number;
    }
    group->impact_ns = saturating_add(group->impact_ns, gain_ns);
    group->phases++;
    group->workers = (int64_t)search->count > group->workers ? (int64_t)search->count : group->workers;
    group->most_ns += (double)sums->busiest->work_ns;
    group->mean_ns += sums->work_ns / (double)search->count;
    return 0;
}

/* busy_ns: how long the chain worked or wanted a CPU in it. */
static int uneven_add_phase(struct uneven_search *search, struct uneven_team team, const struct report_span *phase,
                            int64_t busy_ns)
{
    int64_t length_ns = saturating_duration(phase->from_ns, phase->to_ns);

    if (team.kind == UNEVEN_NONE || (double)busy_ns * 100 < (double)length_ns * LEAST_BUSY_PERCENT)
        return 0;
    if (uneven_find_workers(search, team, phase) != 0)
        return ERR_NO_MEMORY;
    if (search->count < 2)
        return 0;
    struct uneven_sums sums = uneven_sum_up(search);
    uint32_t place = uneven_gain(search, &sums, phase) ? uneven_place(search, sums.busiest->thread, phase) : NO_PLACE;
    if (place == NO_PLACE)
        return 0;
    uneven_keep_same(search, team.kind, place, phase);
    if (search->count < 2)
        return 0;
    sums = uneven_sum_up(search);
    int64_t gain_ns = uneven_gain(search, &sums, phase);
    return gain_ns ? uneven_add(search, team, &sums, gain_ns, place, phase) : 0;
}

/* Pieces of one team that follow each other are a phase. */
static int uneven_add_phases(struct uneven_search *search)
{
    const struct wall_path *path = &search->lines.path;

    for (size_t i = 0, next; i < path->count; i = next) {
        struct uneven_team team = uneven_team_of(search, path->list[i].thread), other = team;
        int64_t busy_ns = 0;
        for (next = i; next < path->count && other.kind == team.kind && other.process == team.process &&
                       (next == i || path->list[next].from_ns == path->list[next - 1].to_ns);
             next++) {
            const struct wall_piece *piece = &path->list[next];
            if (piece->kind == WALL_RUNS || piece->kind == WALL_READY)
                busy_ns = saturating_add(busy_ns, saturating_duration(piece->from_ns, piece->to_ns));
            other = next + 1 < path->count ? uneven_team_of(search, path->list[next + 1].thread) : other;
        }
        const struct report_span phase = { path->list[i].from_ns, path->list[next - 1].to_ns };
        if (uneven_add_phase(search, team, &phase, busy_ns) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

enum { IMPACT, SHARE, PHASES, WORKERS, RATIO, START, WHAT, WHERE, PID, PROGRAM, CELLS };
static const struct table_column uneven_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },      { "Share", CELL_REAL, UNIT_PERCENT, 1 },
    { "Phases", CELL_INT, UNIT_NONE, 0 },    { "Workers", CELL_INT, UNIT_NONE, 0 },
    { "Max/Mean", CELL_REAL, UNIT_NONE, 2 }, { "Start", CELL_INT, UNIT_TIME, 0 },
    { "What", CELL_TEXT, UNIT_NONE, 0 },     { "Where", CELL_TEXT, UNIT_NONE, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },         { "Program", CELL_TEXT, UNIT_NONE, 0 },
};

static int uneven_add_row(const struct uneven_search *search, struct table *table, uint32_t at)
{
    const struct uneven_group *group = &search->groups[at];
    const int64_t *key = keys_get(&search->keys, at);
    struct table_cell *row = table_add_row(table);
    struct text where = { 0 };

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], group->impact_ns);
    cell_set_real(&row[SHARE], 100.0 * (double)group->impact_ns / (double)search->lines.whole_ns);
    cell_set_int(&row[PHASES], group->phases);
    cell_set_int(&row[WORKERS], group->workers);
    cell_set_real(&row[RATIO], group->mean_ns > 0 ? group->most_ns / group->mean_ns : 0);
    cell_set_int(&row[START], group->start_ns);
    cell_set_int(&row[PID], global_pid_number(key[KEY_PROCESS]));
    place_text(&where, &search->lines.places, group->place);
    int failed = cell_set_built(table, &row[WHERE], &where) != 0 ||
                 cell_set_string(table, &row[WHAT], key[KEY_KIND] == UNEVEN_THREADS ? "threads" : "processes") != 0 ||
                 rule_set_program(table, &row[PROGRAM], &search->lines.names, search->base.report, key[KEY_PROCESS]) !=
                     0;
    text_free(&where);
    return failed ? ERR_NO_MEMORY : 0;
}

static int uneven_fill(void *context, struct table *table, struct error *err)
{
    struct uneven_search *search = context;

    (void)err;
    if (uneven_find_forked(search) != 0 || uneven_add_phases(search) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < search->keys.count; i++)
        if (search->groups[i].impact_ns >= LEAST_NS && rule_is_enough(&search->base, search->groups[i].impact_ns) &&
            uneven_add_row(search, table, i) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int uneven_read_cpus(struct uneven_search *search, struct error *err)
{
    struct sched_times times;
    int code = rule_sched_times(&search->base, &times, err);

    if (code != 0)
        return code == ERR_NO_DATA ? 0 : code;
    search->cpus = (int64_t)times.cpu_count;
    sched_times_free(&times);
    return 0;
}

static int uneven_read(void *context, struct error *err)
{
    struct uneven_search *search = context;
    struct report *report = search->base.report;
    int code;

    if (advice_has_gpu_work(report))
        return 0;
    search->has_openmp = report_rows(report, "OPENMP_EVENT_KIND_PARALLEL") > 0;
    if ((code = uneven_read_cpus(search, err)) != 0)
        return code;
    code = wall_lines_read(&search->lines, report, &search->base.filter, err);
    return code == ERR_NO_DATA ? 0 : code;
}

static int run_uneven_work(struct report *report, const struct analysis_request *request, struct table **out,
                           struct error *err)
{
    static const struct rule_steps steps = { uneven_columns, CELLS,       LEAST_PERCENT,     "the workers",
                                             uneven_read,    uneven_fill, uneven_search_free };
    struct uneven_search search = { .base.report = report, .keys.width = KEY_PARTS };

    return rule_run(&steps, &search.base, request, out, err);
}

/* "4 threads wait for the busiest of them, 1.90 times the mean; with equal work 784 ms less, 23.1 % of the wall time"
 */
static void uneven_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    text_addf(out, "%lld ", (long long)row[WORKERS].integer);
    rule_add_text(out, "", &row[WHAT]);
    text_addf(out, " wait for the busiest of them, %.2f times the mean; with equal work ", row[RATIO].real);
    human_time(out, row[IMPACT].integer);
    text_addf(out, " less, %.1f %% of the wall time", row[SHARE].real);
}

const struct analysis rule_uneven_work = {
    .name = "uneven_work",
    .title = "Uneven Work",
    .usage = "[:rows=<limit>][:threshold=<percent>]",
    .help = "Threads, or processes that a program forks, that do the same and of which one has more to do than the "
            "others, so that all wait for it. While the chain that set the wall time (wall_sum) is in one of them, "
            "the program waits: such a phase would be shorter by the work of the busiest less the mean. A function "
            "with at least threshold (5) percent of the capture's time is a finding. Programs that use a GPU have "
            "none; the teams of OpenMP have a rule of their own, openmp_imbalance.",
    .needs = { { "lifetimes of threads", TABLES("TACHO_THREAD") },
               { "OS calls or context switches", TABLES("OSRT_API", "SCHED_EVENTS") } },
    .run = run_uneven_work,
    .rule = ANALYSIS_RULE(.finding = uneven_say, .scope = RULE_OF_RUN, .is_each = 1,
                          .advice = "Give the workers smaller parts, which they take as they are free (a queue, "
                                    "chunksize=1), the longest ones first.",
                          .praise = "Workers that do the same work equally long."),
};
