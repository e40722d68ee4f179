/* Where the time of threads went: see sched_times.h. A thread's events are put in order of time (each CPU has its own
 * ring, so they come in another), and each stretch between two of them belongs to one state. */
#include "sched_times.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "base/array.h"
#include "filter.h"

enum { STATE_TERMINATED = 5, STATE_UNSCHEDULED = 6 }; /* ENUM_SAMPLING_THREAD_STATE */

struct stretch {
    int64_t from_ns, to_ns;
};

struct walk {
    struct sched_times *times;
    struct filter filter;
    struct stretch *on; /* owned; in which the capture was on, in order; what lies between does not count */
    size_t on_count;
    struct keys thread_keys, cpu_keys;
    size_t thread_room, cpu_room;
    int is_whole; /* nothing was left out by the request: sums over whole lives may be used */
};

/* ---- What counts ----------------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;

    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Without TACHO_RANGE (an import) all of time counts. */
static int read_ranges(struct walk *walk, struct report *report, const struct report_span *span, struct error *err)
{
    static const char *const names[] = { "start", "end" };
    struct report_columns columns = { 0 };
    int code = columns_read(report, "TACHO_RANGE", names, 2, &columns, err);

    if (code != 0)
        return code;
    walk->on = calloc(columns.rows + 1, sizeof *walk->on);
    if (!walk->on) {
        report_columns_free(&columns);
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    }
    for (size_t row = 0; row < columns.rows; row++)
        walk->on[walk->on_count++] = (struct stretch){ columns.values[0][row], columns_is_null(&columns, 1, row)
                                                                                   ? INT64_MAX
                                                                                   : columns.values[1][row] };
    if (!walk->on_count)
        walk->on[walk->on_count++] = (struct stretch){ INT64_MIN, INT64_MAX };
    qsort(walk->on, walk->on_count, sizeof *walk->on, by_start);
    for (size_t i = 0; span && i < walk->on_count; i++) {
        struct stretch *on = &walk->on[i];
        on->from_ns = on->from_ns < span->from_ns ? span->from_ns : on->from_ns;
        on->to_ns = on->to_ns > span->to_ns ? span->to_ns : on->to_ns;
    }
    walk->is_whole = walk->on_count == 1 && !span && !(walk->filter.only.only & ONLY_STEPS);
    report_columns_free(&columns);
    return 0;
}

/* How much of a stretch counts. */
static int64_t measure(const struct walk *walk, int64_t from_ns, int64_t to_ns)
{
    int64_t sum = 0;

    for (size_t i = 0; i < walk->on_count; i++) {
        int64_t from = from_ns > walk->on[i].from_ns ? from_ns : walk->on[i].from_ns;
        int64_t to = to_ns < walk->on[i].to_ns ? to_ns : walk->on[i].to_ns;
        if (from < to)
            sum = saturating_add(sum, saturating_duration(from, to));
    }
    return sum;
}

/* ---- Threads and CPUs ------------------------------------------------------------------------------------------ */

static struct sched_thread *find_thread(struct walk *walk, int64_t id)
{
    struct sched_times *times = walk->times;
    uint32_t key = keys_add(&walk->thread_keys, &id);

    if (key == NO_KEY || array_reserve(&times->threads, &walk->thread_room, key + 1u, sizeof *times->threads) != 0)
        return NULL;
    if (key == times->thread_count)
        times->threads[times->thread_count++] = (struct sched_thread){
            .id = id, .start_ns = INT64_MAX, .end_ns = INT64_MIN, .queue_ns = -1
        };
    return &times->threads[key];
}

static struct sched_cpu *find_cpu(struct walk *walk, int64_t number)
{
    struct sched_times *times = walk->times;
    uint32_t key = keys_add(&walk->cpu_keys, &number);

    if (key == NO_KEY || array_reserve(&times->cpus, &walk->cpu_room, key + 1u, sizeof *times->cpus) != 0)
        return NULL;
    if (key == times->cpu_count)
        times->cpus[times->cpu_count++] = (struct sched_cpu){ .number = number };
    return &times->cpus[key];
}

static int by_id(const void *a, const void *b)
{
    const struct sched_thread *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int by_number(const void *a, const void *b)
{
    const struct sched_cpu *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* ---- Lives ----------------------------------------------------------------------------------------------------- */

/* All threads that the agent has seen. A number may have been another thread's before: the two are one then. */
static int read_lives(struct walk *walk, struct report *report, struct error *err)
{
    static const char *const names[] = { "globalTid", "start", "end" };
    struct report_columns columns = { 0 };
    int code = columns_read(report, "TACHO_THREAD", names, 3, &columns, err);

    for (size_t row = 0; code == 0 && row < columns.rows; row++) {
        struct sched_thread *thread = find_thread(walk, columns.values[0][row]);
        int64_t start = columns.values[1][row];
        if (!thread) {
            code = error_set(err, ERR_NO_MEMORY, "out of memory");
            break;
        }
        thread->start_ns = start < thread->start_ns ? start : thread->start_ns;
        if (!columns_is_null(&columns, 2, row) && columns.values[2][row] > thread->end_ns)
            thread->end_ns = columns.values[2][row];
    }
    report_columns_free(&columns);
    return code;
}

/* ---- Switches -------------------------------------------------------------------------------------------------- */

enum { START, CPU, IN, THREAD, STATE, COLUMNS };

static void add_time(const struct walk *walk, struct sched_thread *thread, enum sched_state state, int64_t from,
                     int64_t to, struct sched_cpu *cpu)
{
    int64_t ns = measure(walk, from, to);

    thread->state_ns[state] = saturating_add(thread->state_ns[state], ns);
    if (state == SCHED_RUNNING && cpu)
        cpu->running_ns = saturating_add(cpu->running_ns, ns);
}

/* One thread's events, in order. */
static int walk_thread(struct walk *walk, struct sched_thread *thread, const struct report_columns *columns,
                       const uint32_t *order, size_t count)
{
    int64_t first = columns->values[START][order[0]], last = columns->values[START][order[count - 1]];
    /* one that is taken off was on */
    enum sched_state state = columns->values[IN][order[0]] ? SCHED_WAITING : SCHED_RUNNING;
    int64_t since = thread->start_ns < first ? thread->start_ns : first, last_cpu = -1;
    int has_ended = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t row = order[i];
        int64_t at = columns->values[START][row], number = columns->values[CPU][row];
        int64_t why = columns_is_null(columns, STATE, row) ? 0 : columns->values[STATE][row];
        int counts = measure(walk, at, saturating_add(at, 1)) > 0;
        struct sched_cpu *cpu = find_cpu(walk, number);
        if (!cpu)
            return ERR_NO_MEMORY;
        add_time(walk, thread, state, since, at, cpu);
        since = at;
        if (columns->values[IN][row]) {
            thread->migrations += counts && last_cpu >= 0 && last_cpu != number;
            cpu->switches += counts;
            last_cpu = number;
            state = SCHED_RUNNING;
            continue;
        }
        has_ended = why == STATE_TERMINATED;
        state = why == STATE_UNSCHEDULED ? SCHED_RUNNABLE : SCHED_WAITING;
        thread->switches += counts && !has_ended;
        thread->preempted += counts && why == STATE_UNSCHEDULED;
    }
    if (!has_ended && thread->end_ns > since)
        add_time(walk, thread, state, since, thread->end_ns, last_cpu >= 0 ? find_cpu(walk, last_cpu) : NULL);
    thread->start_ns = thread->start_ns < first ? thread->start_ns : first;
    thread->end_ns = has_ended || thread->end_ns < last ? last : thread->end_ns;
    thread->has_switches = 1;
    return 0;
}

static int walk_threads(struct walk *walk, const struct report_columns *columns, uint32_t *order)
{
    int code = order_by_thread(order, columns->rows, columns->values[THREAD], columns->values[START]);

    for (size_t i = 0, next; code == 0 && i < columns->rows; i = next) {
        int64_t id = columns->values[THREAD][order[i]];
        for (next = i + 1; next < columns->rows && columns->values[THREAD][order[next]] == id; next++)
            ;
        struct sched_thread *thread = find_thread(walk, id);
        code = thread ? walk_thread(walk, thread, columns, order + i, next - i) : ERR_NO_MEMORY;
    }
    return code;
}

static int read_switches(struct walk *walk, struct report *report, struct error *err)
{
    static const char *const names[] = { "start", "cpu", "isSchedIn", "globalTid", "threadState" };
    struct report_columns columns = { 0 };
    int code = columns_read(report, "SCHED_EVENTS", names, COLUMNS, &columns, err);

    if (code != 0 || !columns.rows)
        return code;
    columns_fill_nulls(&columns, THREAD, 0);
    uint32_t *order = malloc(columns.rows * sizeof *order);
    for (size_t row = 0; order && row < columns.rows; row++)
        order[row] = (uint32_t)row;
    code = order ? walk_threads(walk, &columns, order) : ERR_NO_MEMORY;
    free(order);
    report_columns_free(&columns);
    return code ? error_set(err, ERR_NO_MEMORY, "not enough memory for the context switches") : 0;
}

/* ---- Sums ------------------------------------------------------------------------------------------------------ */

/* Of the time that a thread was off its CPUs, the kernel knows how much of it went by in a run queue. */
static void share_queue(struct sched_thread *thread)
{
    int64_t off = saturating_add(thread->state_ns[SCHED_RUNNABLE], thread->state_ns[SCHED_WAITING]);
    int64_t runnable = thread->queue_ns < off ? thread->queue_ns : off;

    if (runnable < thread->state_ns[SCHED_RUNNABLE])
        return;
    thread->state_ns[SCHED_RUNNABLE] = runnable;
    thread->state_ns[SCHED_WAITING] = saturating_duration(runnable, off);
}

static void use_sums(const struct walk *walk, struct sched_thread *thread, int64_t run_ns, int64_t slices)
{
    int64_t wall = thread->end_ns > thread->start_ns ? measure(walk, thread->start_ns, thread->end_ns) : 0;

    thread->state_ns[SCHED_RUNNING] = run_ns < wall ? run_ns : wall;
    thread->state_ns[SCHED_WAITING] = saturating_duration(thread->state_ns[SCHED_RUNNING], wall);
    thread->switches = (uint64_t)slices;
    share_queue(thread);
}

static int read_sums(struct walk *walk, struct report *report, struct error *err)
{
    static const char *const names[] = { "globalTid", "runNs", "queueNs", "slices" };
    struct report_columns columns = { 0 };
    int code = columns_read(report, "TACHO_THREAD_SCHED", names, 4, &columns, err);

    for (size_t row = 0; code == 0 && row < columns.rows; row++) {
        struct sched_thread *thread = walk->is_whole ? find_thread(walk, columns.values[0][row]) : NULL;
        if (!thread)
            continue;
        thread->queue_ns = columns.values[2][row];
        if (thread->has_switches)
            share_queue(thread);
        else
            use_sums(walk, thread, columns.values[1][row], columns.values[3][row]);
    }
    report_columns_free(&columns);
    return code;
}

/* ---- The machine ----------------------------------------------------------------------------------------------- */

/* The counters stand still between two looks: what lies between the first and the last that count. */
static int read_loads(struct walk *walk, struct report *report, struct error *err)
{
    static const char *const names[] = { "timestamp", "cpu", "busyNs", "idleNs" };
    struct report_columns columns = { 0 };
    int code = columns_read(report, "TACHO_CPU_TIME", names, 4, &columns, err);

    for (size_t row = 0; code == 0 && row < columns.rows; row++) {
        int64_t at = columns.values[0][row], number = columns.values[1][row];
        if (!span_overlaps(walk->filter.span, at, at))
            continue;
        struct sched_cpu *cpu = find_cpu(walk, number);
        if (!cpu) {
            code = error_set(err, ERR_NO_MEMORY, "out of memory");
            break;
        }
        if (!cpu->has_load) {
            cpu->has_load = 1;
            cpu->first_busy_ns = columns.values[2][row];
            cpu->first_idle_ns = columns.values[3][row];
        }
        cpu->busy_ns = saturating_duration(cpu->first_busy_ns, columns.values[2][row]);
        cpu->idle_ns = saturating_duration(cpu->first_idle_ns, columns.values[3][row]);
    }
    report_columns_free(&columns);
    return code;
}

static void leave_out(struct walk *walk)
{
    struct sched_times *times = walk->times;
    size_t kept = 0;

    for (size_t i = 0; i < times->thread_count; i++) {
        const struct sched_thread *thread = &times->threads[i];
        int has_time = thread->state_ns[0] || thread->state_ns[1] || thread->state_ns[2];
        if (has_time && filter_thread(&walk->filter, thread->id, thread->start_ns, thread->end_ns))
            times->threads[kept++] = *thread;
    }
    times->thread_count = kept;
    if (kept)
        qsort(times->threads, kept, sizeof *times->threads, by_id);
}

/* From the first thread's begin to the last one's end, as far as it counts. */
static int64_t wall_time(const struct walk *walk)
{
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < walk->times->thread_count; i++) {
        const struct sched_thread *thread = &walk->times->threads[i];
        first = thread->start_ns < first ? thread->start_ns : first;
        last = thread->end_ns > last ? thread->end_ns : last;
    }
    return first < last ? measure(walk, first, last) : 0;
}

int sched_times_read(struct sched_times *times, struct report *report, const struct analysis_request *request,
                     struct error *err)
{
    struct walk walk = { .times = times, .thread_keys.width = 1, .cpu_keys.width = 1 };

    *times = (struct sched_times){ 0 };
    int code = filter_open(&walk.filter, report, request, err);
    if (code == 0)
        code = read_ranges(&walk, report, request->span, err);
    if (code == 0)
        code = read_lives(&walk, report, err);
    if (code == 0)
        code = read_switches(&walk, report, err);
    if (code == 0)
        code = read_sums(&walk, report, err);
    if (code == 0)
        code = read_loads(&walk, report, err);
    if (code == 0) {
        times->wall_ns = wall_time(&walk);
        leave_out(&walk);
        if (times->cpu_count)
            qsort(times->cpus, times->cpu_count, sizeof *times->cpus, by_number);
    } else {
        sched_times_free(times);
    }
    free(walk.on);
    keys_free(&walk.thread_keys);
    keys_free(&walk.cpu_keys);
    filter_close(&walk.filter);
    return code;
}

void sched_times_free(struct sched_times *times)
{
    free(times->threads);
    free(times->cpus);
    *times = (struct sched_times){ 0 };
}
