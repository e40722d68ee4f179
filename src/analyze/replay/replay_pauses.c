/* Evidence on pauses: see replay_pauses.h.
 *
 * Where OS calls of the process were recorded, a thread waited if it was in a call that waits for another thread; else,
 * where context switches were, if it was off its CPU. Else it may have waited, unless an operator, a function, a range
 * or samples show that it ran. */
#include "replay_pauses.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/os_calls.h"
#include "analyze/model/stacks/thread_spans.h"

/* A wait counts if it takes BLOCKED_NS and begins at most BLOCKED_NS after the moment. A thread that runs appears in
 * records at least every SILENCE_NS, and in samples every SAMPLED_NS. */
enum {
    BLOCKED_NS = 50000,
    SILENCE_NS = 200000,
    SAMPLED_NS = 2000000,
};

/* What a record of a thread says. */
enum evidence {
    RUNS_AT_ENDS, /* it ran when the record began and when it ended */
    RUNS,         /* and all the time between */
    SAMPLED,      /* it ran when it was sampled */
    BLOCKED,      /* it waited */
};

struct judge {
    struct replay_pause *pauses;
    const struct replay_events *events;
    struct report *report;
    struct keys threads; /* ids; they have the numbers of the threads */
    size_t *first;       /* owned; by thread, and one more: its first pause */
};

static int open_judge(struct judge *judge, size_t count)
{
    uint32_t threads = judge->events->thread_count;

    judge->first = calloc(threads + 2u, sizeof *judge->first);
    if (!judge->first)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < threads; i++)
        if (keys_add(&judge->threads, &judge->events->threads[i].id) == NO_KEY)
            return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct replay_pause *pause = &judge->pauses[i];
        pause->running = (struct replay_seen){ pause->start_ns, pause->end_ns };
        pause->sampled = (struct replay_seen){ INT64_MIN, INT64_MAX };
        judge->first[pause->thread + 1] = i + 1;
    }
    for (uint32_t i = 0; i < threads; i++)
        if (judge->first[i + 1] < judge->first[i])
            judge->first[i + 1] = judge->first[i];
    return 0;
}

/* ---- what a record says about a pause -------------------------------------------------------------------------- */

/* The pause of a thread at this time, or NULL. */
static struct replay_pause *pause_at(const struct judge *judge, uint32_t thread, int64_t time_ns)
{
    size_t end = judge->first[thread + 1];
    size_t first = BISECT(judge->first[thread], end, i, judge->pauses[i].end_ns < time_ns);

    return first < end && judge->pauses[first].start_ns <= time_ns ? &judge->pauses[first] : NULL;
}

static void see(struct replay_seen *seen, const struct replay_pause *pause, int64_t time_ns)
{
    if (time_ns < pause->start_ns || time_ns > pause->end_ns)
        return;
    if (time_ns <= pause->moment_ns)
        seen->last_ns = time_ns > seen->last_ns ? time_ns : seen->last_ns;
    else
        seen->next_ns = time_ns < seen->next_ns ? time_ns : seen->next_ns;
}

static void replay_pauses_add_wait(struct replay_pause *pause, int64_t start_ns, int64_t end_ns)
{
    if (start_ns > saturating_add(pause->moment_ns, BLOCKED_NS) || end_ns <= pause->moment_ns ||
        saturating_duration(start_ns, end_ns) < BLOCKED_NS)
        return;
    pause->is_blocked = 1;
    pause->blocked_start_ns = start_ns;
    pause->blocked_end_ns = end_ns;
}

static void add_to_pause(struct replay_pause *pause, int64_t start_ns, int64_t end_ns, enum evidence evidence)
{
    struct replay_seen *seen = evidence == SAMPLED ? &pause->sampled : &pause->running;

    see(seen, pause, start_ns);
    see(seen, pause, end_ns);
    if (evidence == BLOCKED)
        replay_pauses_add_wait(pause, start_ns, end_ns);
    else if (evidence == RUNS && start_ns <= pause->moment_ns && end_ns > pause->moment_ns)
        pause->is_computing = 1;
}

/* A record concerns the pauses that it begins and ends in. Those between, with calls around them, are of its parts. */
static void replay_pauses_add_record(struct judge *judge, int64_t thread_id, int64_t start_ns, int64_t end_ns,
                                     enum evidence evidence)
{
    uint32_t thread = keys_find(&judge->threads, &thread_id);

    if (thread == NO_KEY || judge->first[thread] == judge->first[thread + 1])
        return;
    struct replay_pause *first = pause_at(judge, thread, start_ns), *last = pause_at(judge, thread, end_ns);
    if (first)
        add_to_pause(first, start_ns, end_ns, evidence);
    if (last && last != first)
        add_to_pause(last, start_ns, end_ns, evidence);
}

/* ---- records --------------------------------------------------------------------------------------------------- */

/* Operators of PyTorch compute; an annotation, a range or a function may wait for another thread. */
static const struct replay_pauses_source {
    const char *table;
    enum evidence evidence;
    const char *category; /* of rows that say RUNS instead; NULL: there is no such column */
} replay_pauses_sources[] = {
    { "TACHO_TORCH_OP", RUNS_AT_ENDS, "cpu_op" },
    { "TACHO_TORCH_PYTHON", RUNS_AT_ENDS, NULL },
    { "NVTX_EVENTS", RUNS_AT_ENDS, NULL },
    { "COMPOSITE_EVENTS", SAMPLED, NULL },
};

static int replay_pauses_read_source(struct judge *judge, const struct replay_pauses_source *source, struct error *err)
{
    enum { START, END, THREAD, CATEGORY };
    const char *const names[] = { "start", "end", "globalTid", source->category ? "category" : NULL, NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, judge->report, source->table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int runs = source->category &&
                   strcmp(report_string(judge->report, row_int_or(&rows, CATEGORY, -1), NULL), source->category) == 0;
        int64_t start_ns = row_int(&rows, START);
        replay_pauses_add_record(judge, row_int_or(&rows, THREAD, 0), start_ns, row_int_or(&rows, END, start_ns),
                                 runs ? RUNS : source->evidence);
    }
    row_cursor_close(&rows);
    return 0;
}

/* Marks the pauses of processes that this table has rows of. */
static int find_processes(struct judge *judge, const char *table, struct keys *processes, struct error *err)
{
    static const char *const names[] = { "globalTid", NULL };
    struct row_cursor rows;
    int64_t last = INT64_MIN;
    int code = row_cursor_open(&rows, judge->report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t process = global_process(row_int_or(&rows, 0, 0));
        if (process != last && keys_add(processes, &process) == NO_KEY &&
            (code = error_short_memory(err, "for the processes")) != 0)
            goto close_rows;
        last = process;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* A sleep ends by itself, and files are not the work of another thread. */
static int waits_for_threads(const struct judge *judge, const struct os_call *call)
{
    return !strstr(report_string(judge->report, call->name, NULL), "sleep");
}

static int read_os_calls(struct judge *judge, struct error *err)
{
    static const struct filter all;
    struct os_call_choice choice;
    struct os_calls calls = { 0 };
    int code;

    for (int kind = 0; kind < OS_CALL_KINDS; kind++)
        choice.least_ns[kind] = OS_CALL_NEVER;
    choice.least_ns[OS_CALL_LOCK] = choice.least_ns[OS_CALL_EVENTS] = choice.least_ns[OS_CALL_WAIT] = BLOCKED_NS;
    if ((code = os_calls_read(&calls, judge->report, &choice, &all, err)) != 0)
        goto free_calls;
    for (size_t i = 0; i < calls.count; i++)
        if (waits_for_threads(judge, &calls.list[i]))
            replay_pauses_add_record(judge, calls.list[i].thread, calls.list[i].start_ns, calls.list[i].end_ns,
                                     BLOCKED);
free_calls:
    os_calls_free(&calls);
    return code;
}

/* OS calls say more, for processes that have them. */
static int replay_pauses_read_switches(struct judge *judge, const struct keys *os, struct error *err)
{
    static const struct filter all;
    struct thread_spans spans = { 0 };
    int code = thread_spans_off_cpu(&spans, judge->report, &all, err);

    if (code != 0)
        goto free_spans;
    for (size_t i = 0; i < spans.count; i++) {
        const struct thread_span *span = &spans.list[i];
        int64_t process = global_process(span->thread);
        if (span->name == OFF_CPU_BLOCKED && keys_find(os, &process) == NO_KEY)
            replay_pauses_add_record(judge, span->thread, span->start_ns, span->end_ns, BLOCKED);
    }
free_spans:
    thread_spans_free(&spans);
    return code;
}

static int replay_pauses_read_waits(struct judge *judge, size_t count, struct error *err)
{
    struct keys os = { .width = 1 }, switched = { .width = 1 };
    int code;

    if ((code = find_processes(judge, "OSRT_API", &os, err)) != 0 ||
        (code = find_processes(judge, "SCHED_EVENTS", &switched, err)) != 0 ||
        (os.count && (code = read_os_calls(judge, err)) != 0) ||
        (switched.count && (code = replay_pauses_read_switches(judge, &os, err)) != 0))
        goto free_keys;
    for (size_t i = 0; i < count; i++) {
        int64_t process = global_process(judge->events->threads[judge->pauses[i].thread].id);
        judge->pauses[i].has_waits = keys_find(&os, &process) != NO_KEY || keys_find(&switched, &process) != NO_KEY;
    }
free_keys:
    keys_free(&os);
    keys_free(&switched);
    return code;
}

int replay_pauses_read(struct replay_pause *pauses, size_t count, const struct replay_events *events,
                       struct report *report, struct error *err)
{
    struct judge judge = { .pauses = pauses, .events = events, .report = report, .threads.width = 1 };
    int code;

    if (open_judge(&judge, count) != 0 && (code = error_short_memory(err, "for the calls of threads")) != 0)
        goto done;
    if ((code = replay_pauses_read_waits(&judge, count, err)) != 0)
        goto done;
    for (size_t i = 0; i < COUNT_OF(replay_pauses_sources); i++)
        if ((code = replay_pauses_read_source(&judge, &replay_pauses_sources[i], err)) != 0)
            goto done;
done:
    keys_free(&judge.threads);
    free(judge.first);
    return code;
}

/* ---- the verdict ----------------------------------------------------------------------------------------------- */

/* A thread that was not seen before the moment had not begun. */
static int replay_pauses_was_there(const struct replay_pause *pause)
{
    return pause->start_ns != INT64_MIN || pause->running.last_ns != INT64_MIN || pause->sampled.last_ns != INT64_MIN;
}

static int replay_pauses_is_silent(const struct replay_seen *seen, int64_t least_ns)
{
    return saturating_duration(seen->last_ns, seen->next_ns) >= least_ns;
}

int replay_pause_waits(const struct replay_pause *pause, int64_t *own_ns)
{
    int64_t from = pause->is_blocked ? pause->blocked_start_ns : pause->running.last_ns,
            to = pause->is_blocked ? pause->blocked_end_ns : pause->moment_ns;

    from = from > pause->start_ns ? from : pause->start_ns;
    to = to < pause->end_ns ? to : pause->end_ns;
    *own_ns = saturating_subtract(saturating_duration(pause->start_ns, pause->end_ns), saturating_duration(from, to));
    if (pause->is_blocked)
        return 1;
    if (pause->has_waits && replay_pauses_was_there(pause))
        return 0;
    return !pause->is_computing && replay_pauses_is_silent(&pause->running, SILENCE_NS) &&
           replay_pauses_is_silent(&pause->sampled, SAMPLED_NS);
}
