/* thread_wait_sum: time that threads waited, in calls of the C library and pthread, and off the CPU outside of them. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/stacks/call_origins.h"
#include "analyze/model/stacks/thread_spans.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/hash.h"

/* Names that are not in the string pool. */
enum { WAIT_BLOCKED = -2, WAIT_PREEMPTED = -3 };
enum { KEY_OWNER, KEY_OWNER_NAME, KEY_NAME, KEY_HOLDER, KEY_FRAME, KEY_STACK, KEY_PARTS };
enum { NAME_NONE = -1, NAME_UNUSED = -2 }; /* KEY_OWNER_NAME of unnamed threads, and of threads with own rows */
enum { DEEPEST_SHOWN = 32 };

struct thread_wait_row {
    int64_t total_ns, longest_ns, off_cpu_ns, count;
    int64_t thread, threads; /* the last one, and how many */
};

/* The key of calls that were met before: most calls are of few kinds, and looking a kind up costs more than adding. */
enum { KNOWN_KINDS = 1024 };
struct call_kind {
    int64_t thread, name, chain, other, python;
    uint32_t key; /* key + 1; 0: none */
};

struct thread_waits {
    struct report *report;
    struct thread_spans calls, off_cpu;
    struct call_origins origins;
    struct thread_names names;
    struct keys keys;             /* KEY_PARTS wide */
    struct thread_wait_row *list; /* owned; by key */
    size_t room;
    int with_stacks, is_folded;   /* is_folded: threads of the same name share rows, with their number */
    struct call_kind known[KNOWN_KINDS];
};

static void waits_free(struct thread_waits *waits)
{
    thread_spans_free(&waits->calls);
    thread_spans_free(&waits->off_cpu);
    call_origins_close(&waits->origins);
    thread_names_free(&waits->names);
    keys_free(&waits->keys);
    free(waits->list);
}

static int thread_wait_sum_read_spans(struct thread_waits *waits, struct report *report,
                                      const struct analysis_request *request, struct error *err)
{
    /* nsys writes notes of its own into the same table, with another class. */
    static const struct thread_span_source source = { "OSRT_API",          "nameId",     "callchainId",   "lockHolder",
                                                      "pythonCallchainId", "eventClass", EVENT_CLASS_OSRT };
    struct filter filter = { 0 };
    int code;

    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto close_filter;
    if ((code = thread_spans_read(&waits->calls, report, &source, &filter, err)) != 0)
        goto close_filter;
    if ((code = thread_spans_off_cpu(&waits->off_cpu, report, &filter, err)) != 0)
        goto close_filter;
    thread_spans_keep_outermost(&waits->calls);
    thread_spans_keep_outermost(&waits->off_cpu);
close_filter:
    filter_close(&filter);
    return code;
}

/* Finds the rows that a wait counts in: the thread's own, as for main threads, or those of all threads of its name. */
static void set_owner(int64_t key[KEY_PARTS], const struct thread_waits *waits, int64_t thread)
{
    const struct thread_name *name = thread_name_find(&waits->names, thread);
    int is_alone = !waits->is_folded || global_tid_number(thread) == global_pid_number(thread);

    key[KEY_OWNER] = is_alone ? thread : global_process(thread);
    key[KEY_OWNER_NAME] = is_alone ? NAME_UNUSED : name ? name->name : NAME_NONE;
}

static uint32_t thread_wait_sum_find_key(struct thread_waits *waits, int64_t thread, int64_t key[KEY_PARTS])
{
    set_owner(key, waits, thread);
    uint32_t number = keys_add(&waits->keys, key);

    return number == NO_KEY || array_reserve_zeroed(&waits->list, &waits->room, number + 1u, sizeof *waits->list) != 0
               ? NO_KEY
               : number;
}

/* The waits under a key are added thread by thread. */
static void thread_wait_sum_add_wait(struct thread_waits *waits, uint32_t key, int64_t thread, int64_t time_ns,
                                     int64_t off_cpu_ns)
{
    struct thread_wait_row *wait = &waits->list[key];

    wait->total_ns = saturating_add(wait->total_ns, time_ns);
    wait->off_cpu_ns = saturating_add(wait->off_cpu_ns, off_cpu_ns);
    wait->longest_ns = time_ns > wait->longest_ns ? time_ns : wait->longest_ns;
    wait->threads += wait->count == 0 || wait->thread != thread;
    wait->thread = thread;
    wait->count++;
}

/* The time that spans of others share with a span of the thread. Both lists are by thread and time without overlaps, so
 * *at, where the search begins, only moves on from one span to the next. */
static int64_t shared_time(const struct thread_spans *others, size_t *at, const struct thread_span *span)
{
    int64_t sum = 0;

    while (*at < others->count &&
           (others->list[*at].thread < span->thread ||
            (others->list[*at].thread == span->thread && others->list[*at].end_ns <= span->start_ns)))
        ++*at;
    for (size_t i = *at;
         i < others->count && others->list[i].thread == span->thread && others->list[i].start_ns < span->end_ns; i++) {
        const struct thread_span *other = &others->list[i];
        int64_t start = other->start_ns > span->start_ns ? other->start_ns : span->start_ns,
                end = other->end_ns < span->end_ns ? other->end_ns : span->end_ns;
        sum = saturating_add(sum, saturating_duration(start, end));
    }
    return sum;
}

/* The key of a call; NO_KEY when memory is short. */
static uint32_t key_of_call(struct thread_waits *waits, const struct thread_span *call)
{
    uint64_t hash = hash_number((uint64_t)call->thread ^
                                hash_number((uint64_t)call->chain + ((uint64_t)call->python << 32)) ^
                                (uint64_t)call->name << 40 ^ (uint64_t)call->other << 8);
    struct call_kind *known = &waits->known[hash % KNOWN_KINDS];
    struct call_origin origin;

    if (known->key && known->thread == call->thread && known->name == call->name && known->chain == call->chain &&
        known->other == call->other && known->python == call->python)
        return known->key - 1;
    if (call_origins_find(&waits->origins, call->chain, call->python, &origin) != 0)
        return NO_KEY;
    int64_t key[KEY_PARTS] = { [KEY_NAME] = call->name,
                               [KEY_HOLDER] = call->other,
                               [KEY_FRAME] = origin.frame,
                               [KEY_STACK] = waits->with_stacks ? origin.stack : STACK_EMPTY };
    uint32_t number = thread_wait_sum_find_key(waits, call->thread, key);
    if (number != NO_KEY)
        *known = (struct call_kind){ call->thread, call->name, call->chain, call->other, call->python, number + 1 };
    return number;
}

static int thread_wait_sum_calls(struct thread_waits *waits)
{
    size_t at = 0;

    for (size_t i = 0; i < waits->calls.count; i++) {
        const struct thread_span *call = &waits->calls.list[i];
        uint32_t key = key_of_call(waits, call);
        if (key == NO_KEY)
            return ERR_NO_MEMORY;
        thread_wait_sum_add_wait(waits, key, call->thread, saturating_duration(call->start_ns, call->end_ns),
                                 shared_time(&waits->off_cpu, &at, call));
    }
    return 0;
}

/* The parts of the times off the CPU that lie outside of the thread's calls. */
static int sum_outside(struct thread_waits *waits)
{
    size_t at = 0;

    for (size_t i = 0; i < waits->off_cpu.count; i++) {
        const struct thread_span *off = &waits->off_cpu.list[i];
        int64_t left = saturating_duration(off->start_ns, off->end_ns) - shared_time(&waits->calls, &at, off);
        int64_t key[KEY_PARTS] = { [KEY_NAME] = off->name == OFF_CPU_PREEMPTED ? WAIT_PREEMPTED : WAIT_BLOCKED,
                                   [KEY_FRAME] = NO_KEY,
                                   [KEY_STACK] = STACK_EMPTY };
        if (left <= 0)
            continue;
        uint32_t number = thread_wait_sum_find_key(waits, off->thread, key);
        if (number == NO_KEY)
            return ERR_NO_MEMORY;
        thread_wait_sum_add_wait(waits, number, off->thread, left, left);
    }
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum {
    CELL_SHARE,
    CELL_TOTAL,
    CELL_COUNT,
    CELL_AVG,
    CELL_MAX,
    CELL_OFF_CPU,
    CELL_PID,
    CELL_TID,
    CELL_THREAD, /* from here on one place further if folded: CELL_THREADS is there */
    CELL_NAME,
    CELL_HOLDER,
    CELL_WHERE,
    CELL_STACK,
    CELLS,
    CELL_THREADS = CELL_THREAD
};

static void thread_wait_sum_add_name(struct text *out, const struct thread_waits *waits, int64_t name)
{
    size_t length;

    if (name == WAIT_BLOCKED)
        text_add(out, "[off CPU outside of recorded calls]");
    else if (name == WAIT_PREEMPTED)
        text_add(out, "[preempted]");
    else {
        const char *bytes = report_string(waits->report, name, &length);
        text_add_bytes(out, bytes, length);
    }
}

static void add_thread_name(struct text *out, const struct thread_waits *waits, int64_t thread)
{
    const struct thread_name *name = thread_name_find(&waits->names, thread);
    size_t length;

    if (!name)
        return;
    const char *bytes = report_string(waits->report, name->name, &length);
    text_add_bytes(out, bytes, length);
}

static void thread_wait_sum_add_stack(struct text *out, const struct stacks *stacks, uint32_t stack)
{
    for (int i = 0; stack != STACK_EMPTY && i < DEEPEST_SHOWN; stack = stack_parent(stacks, stack), i++) {
        if (i)
            text_add(out, " < ");
        stack_frame_label(out, stacks, stack_innermost(stacks, stack));
    }
}

/* The text of a column that names something; empty where nothing is known. */
static void make_label(struct text *out, const struct thread_waits *waits, uint32_t number, int column)
{
    const int64_t *key = keys_get(&waits->keys, number);

    text_clear(out);
    switch (column) {
    case CELL_THREAD: add_thread_name(out, waits, waits->list[number].thread); break;
    case CELL_NAME: thread_wait_sum_add_name(out, waits, key[KEY_NAME]); break;
    case CELL_HOLDER:
        if (key[KEY_HOLDER])
            thread_name_label(out, &waits->names, waits->report, key[KEY_HOLDER]);
        break;
    case CELL_WHERE:
        if (key[KEY_FRAME] != NO_KEY)
            stack_frame_label(out, &waits->origins.stacks, (uint32_t)key[KEY_FRAME]);
        break;
    case CELL_STACK: thread_wait_sum_add_stack(out, &waits->origins.stacks, (uint32_t)key[KEY_STACK]); break;
    }
}

static int thread_wait_sum_add_row(struct table *table, struct thread_waits *waits, uint32_t number, int64_t whole_ns,
                                   struct text *text)
{
    const struct thread_wait_row *wait = &waits->list[number];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[CELL_SHARE], whole_ns > 0 ? 100.0 * (double)wait->total_ns / (double)whole_ns : 0);
    cell_set_int(&row[CELL_TOTAL], wait->total_ns);
    cell_set_int(&row[CELL_COUNT], wait->count);
    cell_set_real(&row[CELL_AVG], (double)wait->total_ns / (double)wait->count);
    cell_set_int(&row[CELL_MAX], wait->longest_ns);
    if (waits->off_cpu.count)
        cell_set_int(&row[CELL_OFF_CPU], wait->off_cpu_ns);
    cell_set_int(&row[CELL_PID], global_pid_number(wait->thread));
    if (wait->threads == 1)
        cell_set_int(&row[CELL_TID], global_tid_number(wait->thread));
    if (waits->is_folded)
        cell_set_int(&row[CELL_THREADS], wait->threads);
    for (int column = CELL_THREAD; column < (waits->with_stacks ? CELLS : CELL_STACK); column++) {
        make_label(text, waits, number, column);
        if (cell_set_built(table, &row[column + waits->is_folded], text) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int thread_wait_sum_fill(struct table *table, struct thread_waits *waits)
{
    struct text text = { 0 };
    int64_t whole = 0;
    int thread = CELL_THREAD + waits->is_folded, code = 0; /* up to CELL_WHERE */

    for (uint32_t i = 0; i < waits->keys.count; i++)
        whole = saturating_add(whole, waits->list[i].total_ns);
    for (uint32_t i = 0; i < waits->keys.count; i++)
        if ((code = thread_wait_sum_add_row(table, waits, i, whole, &text)) != 0)
            goto free_text;
    table_sort_by(table, BY(DOWN(CELL_TOTAL), CELL_PID, CELL_TID, thread, thread + 1, thread + 2, thread + 3));
free_text:
    text_free(&text);
    return code;
}

static struct table *thread_wait_sum_new_table(const struct thread_waits *waits)
{
    static const struct table_column columns[CELLS] = {
        { "Time", CELL_REAL, UNIT_PERCENT, 1 }, { "Total Time", CELL_INT, UNIT_NS, 0 },
        { "Count", CELL_INT, UNIT_NONE, 0 },    { "Avg", CELL_REAL, UNIT_NS, 1 },
        { "Max", CELL_INT, UNIT_NS, 0 },        { "Off CPU", CELL_INT, UNIT_NS, 0 },
        { "PID", CELL_INT, UNIT_ID, 0 },        { "TID", CELL_INT, UNIT_ID, 0 },
        { "Thread", CELL_TEXT, UNIT_NONE, 0 },  { "Waited For", CELL_TEXT, UNIT_NONE, 0 },
        { "Held By", CELL_TEXT, UNIT_NONE, 0 }, { "Where", CELL_TEXT, UNIT_NONE, 0 },
        { "Stack", CELL_TEXT, UNIT_NONE, 0 },
    };
    static const struct table_column threads = { "Threads", CELL_INT, UNIT_NONE, 0 };
    struct table_column shown[CELLS + 1];
    size_t count = 0;

    for (int i = 0; i < (waits->with_stacks ? CELLS : CELL_STACK); i++) {
        if (i == CELL_THREAD && waits->is_folded)
            shown[count++] = threads;
        shown[count++] = columns[i];
    }
    return table_new(shown, count);
}

static int thread_wait_sum(struct report *report, const struct analysis_request *request, struct table **out,
                           struct error *err)
{
    struct thread_waits waits = { .report = report,
                                  .keys.width = KEY_PARTS,
                                  .with_stacks = option_given(request, "stack") };
    struct table *table = NULL;
    int code;

    if ((code = option_truth(request, "fold", &waits.is_folded, err)) != 0 ||
        (code = thread_wait_sum_read_spans(&waits, report, request, err)) != 0)
        goto done;
    if ((code = call_origins_open(&waits.origins, report, err)) != 0 ||
        (code = thread_names_read(&waits.names, report, err)) != 0)
        goto done;
    table = thread_wait_sum_new_table(&waits);
    if (!table || thread_wait_sum_calls(&waits) != 0 || sum_outside(&waits) != 0 ||
        thread_wait_sum_fill(table, &waits) != 0)
        code = error_short_memory(err, "for the waits of threads");
done:
    waits_free(&waits);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_thread_wait_sum = {
    .name = "thread_wait_sum",
    .title = "Thread Wait Summary",
    .usage = "[:stack][:fold=<true|false>]",
    .help =
        "For each thread, the outermost libc and pthread calls by name, by the thread that held the lock, and by "
        "the Python line or function that made the call, as far as these were recorded (stack: by the whole call "
        "stack). Off CPU is the part of the time in which the thread did not run, if context switches were "
        "recorded. Off-CPU time outside of all calls has rows of its own. fold: one row for all threads of a process "
        "that have the same name and waited for the same in the same place, with their number; a main thread keeps "
        "its own rows.",
    .needs = { { "OS calls or context switches", TABLES("OSRT_API", "SCHED_EVENTS") } },
    .by_default = 22,
    .default_where = "TACHO_THREAD",
    .default_rows = 20,
    .for_people = { "fold", "true" },
    .overlap = "threads wait at the same time",
    .run = thread_wait_sum,
};
