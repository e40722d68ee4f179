/* Computes the time that threads spent in each state: see sched_times.h. Each CPU has its own ring buffer, so the
 * events of a thread are sorted by time first; each span between two of them belongs to one state. */
#include "sched_times.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "filter.h"

enum { STATE_TERMINATED = 5, STATE_UNSCHEDULED = 6 }; /* ENUM_SAMPLING_THREAD_STATE */

struct sched_times_stretch {
    int64_t from_ns, to_ns;
};

struct sched_times_walk {
    struct sched_times *times;
    struct filter filter;
    struct sched_times_stretch
        *on; /* owned; the times in which the capture was on, in order; other times do not count */
    size_t on_count;
    struct keys thread_keys, cpu_keys;
    size_t thread_room, cpu_room;
    int is_whole; /* the request excludes nothing: sums over whole lifetimes may be used */
};

/* ---- times that count ------------------------------------------------------------------------------------------ */

static int sched_times_by_start(const void *a, const void *b)
{
    const struct sched_times_stretch *x = a, *y = b;

    return COMPARE(x->from_ns, y->from_ns);
}

/* The reports of a job each have their own, and most of them at the same time. */
static void join_ranges(struct sched_times_walk *walk)
{
    size_t count = 0;

    qsort(walk->on, walk->on_count, sizeof *walk->on, sched_times_by_start);
    for (size_t i = 0; i < walk->on_count; i++) {
        struct sched_times_stretch next = walk->on[i], *last = count ? &walk->on[count - 1] : NULL;
        if (!last || next.from_ns > last->to_ns)
            walk->on[count++] = next;
        else if (next.to_ns > last->to_ns)
            last->to_ns = next.to_ns;
    }
    walk->on_count = count;
}

/* Without TACHO_RANGE (an import) all of time counts. */
static int sched_times_read_ranges(struct sched_times_walk *walk, struct report *report, struct error *err)
{
    enum { START, END };
    static const char *const names[] = { [START] = "start", [END] = "end", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, "TACHO_RANGE", names, err)) != 0)
        return code;
    walk->on = calloc(rows.columns.rows + 1, sizeof *walk->on);
    if (!walk->on && (code = error_no_memory(err)) != 0)
        goto close_rows;
    while (row_cursor_next(&rows))
        walk->on[walk->on_count++] = (struct sched_times_stretch){ row_int(&rows, START),
                                                                   row_int_or(&rows, END, INT64_MAX) };
    if (!walk->on_count)
        walk->on[walk->on_count++] = (struct sched_times_stretch){ INT64_MIN, INT64_MAX };
    join_ranges(walk);
close_rows:
    row_cursor_close(&rows);
    return code;
}

static void cut_ranges(struct sched_times_walk *walk, const struct report_span *span)
{
    walk->is_whole = walk->on_count == 1 && !span && !(walk->filter.only.only & ONLY_STEPS);
    for (size_t i = 0; span && i < walk->on_count; i++) {
        struct sched_times_stretch *on = &walk->on[i];
        on->from_ns = on->from_ns < span->from_ns ? span->from_ns : on->from_ns;
        on->to_ns = on->to_ns > span->to_ns ? span->to_ns : on->to_ns;
    }
}

/* The part of a stretch that counts. */
static int64_t sched_times_measure(const struct sched_times_walk *walk, int64_t from_ns, int64_t to_ns)
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

/* ---- threads and CPUs ------------------------------------------------------------------------------------------ */

static struct sched_thread *sched_times_find_thread(struct sched_times_walk *walk, int64_t id)
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

static struct sched_cpu *find_cpu(struct sched_times_walk *walk, int64_t number)
{
    struct sched_times *times = walk->times;
    uint32_t key = keys_add(&walk->cpu_keys, &number);

    if (key == NO_KEY || array_reserve(&times->cpus, &walk->cpu_room, key + 1u, sizeof *times->cpus) != 0)
        return NULL;
    if (key == times->cpu_count)
        times->cpus[times->cpu_count++] = (struct sched_cpu){ .number = number };
    return &times->cpus[key];
}

static int sched_times_by_id(const void *a, const void *b)
{
    const struct sched_thread *x = a, *y = b;

    return COMPARE(x->id, y->id);
}

static int sched_times_by_number(const void *a, const void *b)
{
    const struct sched_cpu *x = a, *y = b;

    return COMPARE(x->number, y->number);
}

/* ---- lifetimes ------------------------------------------------------------------------------------------------- */

/* Reads all threads that the agent has seen. The kernel reuses numbers; threads with the same number count as one. */
static int read_lifetimes(struct sched_times_walk *walk, struct report *report, struct error *err)
{
    enum { THREAD, START, END };
    static const char *const names[] = { [THREAD] = "globalTid", [START] = "start", [END] = "end", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, "TACHO_THREAD", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct sched_thread *thread = sched_times_find_thread(walk, row_int(&rows, THREAD));
        int64_t start = row_int(&rows, START), end = row_int_or(&rows, END, INT64_MIN);
        if (!thread && (code = error_no_memory(err)) != 0)
            goto close_rows;
        thread->start_ns = start < thread->start_ns ? start : thread->start_ns;
        thread->end_ns = end > thread->end_ns ? end : thread->end_ns;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* ---- context switches ------------------------------------------------------------------------------------------ */

enum { START, CPU, IN, THREAD, STATE, COLUMNS };

static void sched_times_add_time(const struct sched_times_walk *walk, struct sched_thread *thread,
                                 enum sched_state state, int64_t from, int64_t to, struct sched_cpu *cpu)
{
    int64_t ns = sched_times_measure(walk, from, to);

    thread->state_ns[state] = saturating_add(thread->state_ns[state], ns);
    if (state == SCHED_RUNNING && cpu)
        cpu->running_ns = saturating_add(cpu->running_ns, ns);
}

/* Adds up one thread's events, which are in order. */
static int walk_thread(struct sched_times_walk *walk, struct sched_thread *thread, const struct report_columns *columns,
                       const uint32_t *order, size_t count)
{
    int64_t first = columns->values[START][order[0]], last = columns->values[START][order[count - 1]];
    /* a thread that is switched out was running before */
    enum sched_state state = columns->values[IN][order[0]] ? SCHED_WAITING : SCHED_RUNNING;
    int64_t since = thread->start_ns < first ? thread->start_ns : first, last_cpu = -1;
    int has_ended = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t row = order[i];
        int64_t at = columns->values[START][row], number = columns->values[CPU][row];
        int64_t why = columns_is_null(columns, STATE, row) ? 0 : columns->values[STATE][row];
        int counts = sched_times_measure(walk, at, saturating_add(at, 1)) > 0;
        struct sched_cpu *cpu = find_cpu(walk, number);
        if (!cpu)
            return ERR_NO_MEMORY;
        sched_times_add_time(walk, thread, state, since, at, cpu);
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
        sched_times_add_time(walk, thread, state, since, thread->end_ns,
                             last_cpu >= 0 ? find_cpu(walk, last_cpu) : NULL);
    thread->start_ns = thread->start_ns < first ? thread->start_ns : first;
    thread->end_ns = has_ended || thread->end_ns < last ? last : thread->end_ns;
    thread->has_switches = 1;
    return 0;
}

static int walk_threads(struct sched_times_walk *walk, const struct report_columns *columns, uint32_t *order)
{
    if (order_by_thread(order, columns->rows, columns->values[THREAD], columns->values[START]) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0, next; i < columns->rows; i = next) {
        int64_t id = columns->values[THREAD][order[i]];
        for (next = i + 1; next < columns->rows && columns->values[THREAD][order[next]] == id; next++)
            ;
        struct sched_thread *thread = sched_times_find_thread(walk, id);
        if (!thread || walk_thread(walk, thread, columns, order + i, next - i) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int sched_times_read_switches(struct sched_times_walk *walk, struct report *report, struct error *err)
{
    static const char *const names[] = { "start", "cpu", "isSchedIn", "globalTid", "threadState" };
    struct report_columns columns = { 0 };
    uint32_t *order = NULL;
    int code;

    if ((code = columns_read(report, "SCHED_EVENTS", names, COLUMNS, &columns, err)) != 0)
        return code;
    if (!columns.rows)
        goto done;
    columns_fill_nulls(&columns, THREAD, 0);
    order = malloc(columns.rows * sizeof *order);
    for (size_t row = 0; order && row < columns.rows; row++)
        order[row] = (uint32_t)row;
    if (!order || walk_threads(walk, &columns, order) != 0)
        code = error_short_memory(err, "for the context switches");
done:
    free(order);
    report_columns_free(&columns);
    return code;
}

/* ---- sums of the kernel ---------------------------------------------------------------------------------------- */

/* Divides the time off the CPUs: the kernel knows how much of it the thread spent in a run queue. */
static void share_queue(struct sched_thread *thread)
{
    int64_t off = saturating_add(thread->state_ns[SCHED_RUNNABLE], thread->state_ns[SCHED_WAITING]);
    int64_t runnable = thread->queue_ns < off ? thread->queue_ns : off;

    if (runnable < thread->state_ns[SCHED_RUNNABLE])
        return;
    thread->state_ns[SCHED_RUNNABLE] = runnable;
    thread->state_ns[SCHED_WAITING] = saturating_duration(runnable, off);
}

static void use_sums(const struct sched_times_walk *walk, struct sched_thread *thread, int64_t run_ns, int64_t slices)
{
    int64_t wall = thread->end_ns > thread->start_ns ? sched_times_measure(walk, thread->start_ns, thread->end_ns) : 0;

    thread->state_ns[SCHED_RUNNING] = run_ns < wall ? run_ns : wall;
    thread->state_ns[SCHED_WAITING] = saturating_duration(thread->state_ns[SCHED_RUNNING], wall);
    thread->switches = (uint64_t)slices;
    share_queue(thread);
}

static int sched_times_read_sums(struct sched_times_walk *walk, struct report *report, struct error *err)
{
    enum { ID, RUN_NS, QUEUE_NS, SLICES };
    static const char *const names[] = {
        [ID] = "globalTid", [RUN_NS] = "runNs", [QUEUE_NS] = "queueNs", [SLICES] = "slices", NULL
    };
    struct row_cursor rows;
    int code;

    if (!walk->is_whole)
        return 0;
    if ((code = row_cursor_open(&rows, report, "TACHO_THREAD_SCHED", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct sched_thread *thread = sched_times_find_thread(walk, row_int(&rows, ID));
        if (!thread && (code = error_no_memory(err)) != 0)
            goto close_rows;
        thread->queue_ns = row_int(&rows, QUEUE_NS);
        if (thread->has_switches)
            share_queue(thread);
        else
            use_sums(walk, thread, row_int(&rows, RUN_NS), row_int(&rows, SLICES));
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* ---- the machine ----------------------------------------------------------------------------------------------- */

/* The counters of a CPU only grow. Its times are the differences between the first and the last row in the span. */
static int sched_times_read_loads(struct sched_times_walk *walk, struct report *report, struct error *err)
{
    enum { TIME, CPU_NUMBER, BUSY_NS, IDLE_NS };
    static const char *const names[] = {
        [TIME] = "timestamp", [CPU_NUMBER] = "cpu", [BUSY_NS] = "busyNs", [IDLE_NS] = "idleNs", NULL
    };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, "TACHO_CPU_TIME", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (!span_overlaps(walk->filter.span, row_int(&rows, TIME), row_int(&rows, TIME)))
            continue;
        struct sched_cpu *cpu = find_cpu(walk, row_int(&rows, CPU_NUMBER));
        if (!cpu && (code = error_no_memory(err)) != 0)
            goto close_rows;
        if (!cpu->has_load) {
            cpu->has_load = 1;
            cpu->first_busy_ns = row_int(&rows, BUSY_NS);
            cpu->first_idle_ns = row_int(&rows, IDLE_NS);
        }
        cpu->busy_ns = saturating_duration(cpu->first_busy_ns, row_int(&rows, BUSY_NS));
        cpu->idle_ns = saturating_duration(cpu->first_idle_ns, row_int(&rows, IDLE_NS));
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* Drops threads that have no time that counts or do not pass the filter. */
static void filter_threads(struct sched_times_walk *walk)
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
        qsort(times->threads, kept, sizeof *times->threads, sched_times_by_id);
}

/* The time that counts between the first thread's begin and the last one's end. */
static int64_t wall_time(const struct sched_times_walk *walk)
{
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < walk->times->thread_count; i++) {
        const struct sched_thread *thread = &walk->times->threads[i];
        first = thread->start_ns < first ? thread->start_ns : first;
        last = thread->end_ns > last ? thread->end_ns : last;
    }
    return first < last ? sched_times_measure(walk, first, last) : 0;
}

static int sched_times_read_all(struct sched_times_walk *walk, struct report *report,
                                const struct analysis_request *request, struct error *err)
{
    struct sched_times *times = walk->times;
    int code;

    if ((code = filter_open(&walk->filter, report, request, err)) != 0 ||
        (code = sched_times_read_ranges(walk, report, err)) != 0)
        return code;
    cut_ranges(walk, request->span);
    if ((code = read_lifetimes(walk, report, err)) != 0 || (code = sched_times_read_switches(walk, report, err)) != 0 ||
        (code = sched_times_read_sums(walk, report, err)) != 0 ||
        (code = sched_times_read_loads(walk, report, err)) != 0)
        return code;
    times->wall_ns = wall_time(walk);
    filter_threads(walk);
    if (times->cpu_count)
        qsort(times->cpus, times->cpu_count, sizeof *times->cpus, sched_times_by_number);
    return 0;
}

int sched_times_read(struct sched_times *times, struct report *report, const struct analysis_request *request,
                     struct error *err)
{
    struct sched_times_walk walk = { .times = times, .thread_keys.width = 1, .cpu_keys.width = 1 };

    *times = (struct sched_times){ 0 };
    int code = sched_times_read_all(&walk, report, request, err);
    if (code != 0)
        sched_times_free(times);
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
