/* The rule blocked_io: input and output that kept the whole program waiting.
 *
 * A thread that waits in read() does no harm while others work, and a server that waits for requests is idle, not slow.
 * So time counts only while no thread of any recorded process was active: each was in a call that waits. Such a stall
 * belongs to the call that ended it. Calls shorter than LEAST_CALL_NS count as activity. A read that gets next to
 * nothing in its time waits for someone who writes, at a terminal or the other end of a pipe. A thread that the kernel
 * had woken but that got no CPU did not wait for input or output: the rule cpu_oversubscription has that time. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/os_calls.h"
#include "analyze/model/stacks/call_origins.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "rule.h"
#include "tally.h"

#define LEAST_NS INT64_C(10000000)
#define LEAST_CALL_NS INT64_C(20000)
enum { LEAST_PERCENT = 5, LEAST_BYTES_PER_S = 4000 };

/* A change in the number of active threads: a thread begins or ends, or a call that waits does. */
struct blocked_io_change {
    int64_t time_ns;
    int by;
    int64_t call; /* the call that ends here; -1: none */
};

/* Calls of one name from one place of a process. */
enum { KEY_PROCESS, KEY_NAME, KEY_FRAME, KEY_PARTS };
struct blocked_io_place {
    int64_t impact_ns; /* stalls that its calls ended */
    int64_t total_ns, longest_ns, longest_start_ns, longest_thread, count, bytes;
};

struct blocked_io_search {
    struct rule_search base;
    struct os_calls calls;
    struct thread_lives lives;
    struct blocked_io_change *changes; /* owned */
    size_t change_count, change_room;
    int64_t *stalls;                   /* owned; by call: the time that it kept the program waiting */
    struct call_origins origins;
    struct thread_names names;
    struct keys keys;                  /* of KEY_PARTS */
    struct blocked_io_place *places;   /* owned; by key */
    size_t place_room;
};

static void blocked_io_search_free(void *context)
{
    struct blocked_io_search *search = context;

    os_calls_free(&search->calls);
    thread_lives_free(&search->lives);
    free(search->changes);
    free(search->stalls);
    call_origins_close(&search->origins);
    thread_names_free(&search->names);
    keys_free(&search->keys);
    free(search->places);
}

/* ---- stalls ---------------------------------------------------------------------------------------------------- */

static int blocked_io_add_change(struct blocked_io_search *search, int64_t time_ns, int by, int64_t call)
{
    return ARRAY_PUSH(search->changes, search->change_room, search->change_count,
                      (struct blocked_io_change){ time_ns, by, call });
}

static int add_life(struct blocked_io_search *search, int64_t start_ns, int64_t end_ns)
{
    return start_ns < end_ns && (blocked_io_add_change(search, start_ns, 1, -1) != 0 ||
                                 blocked_io_add_change(search, end_ns, -1, -1) != 0)
               ? ERR_NO_MEMORY
               : 0;
}

/* Threads whose lifetime is not in the report (an import) are active unless they wait. */
static int add_unknown_threads(struct blocked_io_search *search)
{
    int64_t last = -1;

    for (size_t i = 0; i < search->calls.count; i++) {
        int64_t thread = search->calls.list[search->calls.by_thread[i]].thread;
        if (thread != last &&
            thread_lives_time(&search->lives, thread, &(struct report_span){ INT64_MIN, INT64_MAX }) == 0 &&
            add_life(search, search->base.time.from_ns, search->base.time.to_ns) != 0)
            return ERR_NO_MEMORY;
        last = thread;
    }
    return 0;
}

/* Processes that were not recorded have only a known lifetime: they count as active. */
static int add_unrecorded(struct blocked_io_search *search, struct error *err)
{
    enum { START, END, WHY };
    static const char *const names[] = { [START] = "start", [END] = "end", [WHY] = "unrecorded", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, search->base.report, "TACHO_PROCESS", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows))
        if (!row_is_null(&rows, WHY) && !row_is_null(&rows, END) &&
            add_life(search, row_int(&rows, START), row_int(&rows, END)) != 0 &&
            (code = error_short_memory(err, "for the processes")) != 0)
            goto close_rows;
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int add_threads_and_calls(struct blocked_io_search *search)
{
    for (size_t i = 0; i < search->lives.count; i++)
        if (add_life(search, search->lives.list[i].start_ns, search->lives.list[i].end_ns) != 0)
            return ERR_NO_MEMORY;
    for (size_t i = 0; i < search->calls.count; i++) {
        const struct os_call *call = &search->calls.list[i];
        if (blocked_io_add_change(search, call->start_ns, -1, -1) != 0 ||
            blocked_io_add_change(search, call->end_ns, 1, (int64_t)i) != 0)
            return ERR_NO_MEMORY;
    }
    return add_unknown_threads(search);
}

/* Walks all changes in the order of time and gives each stall to the call that ended it. */
static void walk_changes(struct blocked_io_search *search, const uint32_t *order)
{
    int64_t since = 0;
    long active = 0;

    for (size_t i = 0; i < search->change_count; i++) {
        const struct blocked_io_change *change = &search->changes[order[i]];
        if (active <= 0 && active + change->by > 0 && change->call >= 0 && since >= search->base.time.from_ns) {
            int64_t begin = since > search->calls.list[change->call].start_ns
                                ? since
                                : search->calls.list[change->call].start_ns;
            search->stalls[change->call] = saturating_duration(begin, change->time_ns);
        }
        active += change->by;
        if (active <= 0 && active - change->by > 0)
            since = change->time_ns;
    }
}

static int find_stalls(struct blocked_io_search *search, struct error *err)
{
    uint32_t *order = NULL;
    int64_t *time = NULL;
    int code = add_unrecorded(search, err);

    if (code != 0)
        return code;
    if ((code = add_threads_and_calls(search)) != 0)
        goto done;
    order = malloc((search->change_count + 1) * sizeof *order);
    time = malloc((search->change_count + 1) * sizeof *time);
    search->stalls = calloc(search->calls.count + 1, sizeof *search->stalls);
    code = order && time && search->stalls && search->change_count < UINT32_MAX ? 0 : ERR_NO_MEMORY;
    if (code != 0)
        goto done;
    for (size_t i = 0; i < search->change_count; i++) {
        order[i] = (uint32_t)i;
        time[i] = search->changes[i].time_ns;
    }
    if ((code = order_by_time(order, search->change_count, time)) != 0)
        goto done;
    walk_changes(search, order);
done:
    free(order);
    free(time);
    return code;
}

/* A thread's calls waited at most for the time in which it was not ready to run. The kernel's sums do not say in which
 * calls it was, so all of them shrink alike. */
static void leave_out_runnable(struct blocked_io_search *search, const struct sched_times *times)
{
    const struct os_calls *calls = &search->calls;

    for (size_t i = 0, next, at = 0; i < calls->count; i = next) {
        int64_t id = calls->list[calls->by_thread[i]].thread;
        double total = 0;
        for (next = i; next < calls->count && calls->list[calls->by_thread[next]].thread == id; next++) {
            const struct os_call *call = &calls->list[calls->by_thread[next]];
            total += (double)saturating_duration(call->start_ns, call->end_ns);
        }
        while (at < times->thread_count && times->threads[at].id < id)
            at++;
        if (at == times->thread_count || times->threads[at].id != id)
            continue;
        const int64_t *state_ns = times->threads[at].state_ns;
        double most = (double)state_ns[SCHED_RUNNING] + (double)state_ns[SCHED_WAITING],
               lived = most + (double)state_ns[SCHED_RUNNABLE];
        total = total < lived ? total : lived; /* of calls that reach beyond the request's span */
        for (size_t c = i; total > most && c < next; c++) {
            int64_t *stall = &search->stalls[calls->by_thread[c]];
            *stall = saturating_from_double((double)*stall * most / total);
        }
    }
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

static int blocked_io_add_call(struct blocked_io_search *search, size_t at)
{
    const struct os_call *call = &search->calls.list[at];
    int64_t time = saturating_duration(call->start_ns, call->end_ns);
    struct call_origin origin;

    if (call_origins_find(&search->origins, call->chain, call->python, &origin) != 0)
        return ERR_NO_MEMORY;
    uint32_t number = keys_add(&search->keys,
                               (int64_t[KEY_PARTS]){ global_process(call->thread), call->name, origin.frame });
    if (number == NO_KEY ||
        array_reserve_zeroed(&search->places, &search->place_room, number + 1u, sizeof *search->places) != 0)
        return ERR_NO_MEMORY;
    struct blocked_io_place *place = &search->places[number];
    place->impact_ns = saturating_add(place->impact_ns, search->stalls[at]);
    place->total_ns = saturating_add(place->total_ns, time);
    place->count++;
    if (call->result > 0)
        place->bytes = saturating_add(place->bytes, call->result);
    if (time > place->longest_ns) {
        place->longest_ns = time;
        place->longest_start_ns = call->start_ns;
        place->longest_thread = call->thread;
    }
    return 0;
}

static int is_asked_for(const struct blocked_io_search *search, const struct os_call *call)
{
    return call->kind == OS_CALL_IO && filter_thread(&search->base.filter, call->thread, call->start_ns, call->end_ns);
}

/* The stalls of all I/O together: below the threshold no chain needs to be read. */
static int64_t stalls_of_all(const struct blocked_io_search *search)
{
    int64_t sum = 0;

    for (size_t i = 0; i < search->calls.count; i++)
        if (is_asked_for(search, &search->calls.list[i]))
            sum = saturating_add(sum, search->stalls[i]);
    return sum;
}

static int blocked_io_find_places(struct blocked_io_search *search, struct error *err)
{
    int code;

    if ((code = call_origins_open(&search->origins, search->base.report, err)) != 0 ||
        (code = thread_names_read(&search->names, search->base.report, err)) != 0)
        return code;
    for (size_t i = 0; i < search->calls.count; i++)
        if (is_asked_for(search, &search->calls.list[i]) && blocked_io_add_call(search, i) != 0)
            return error_short_memory(err, "for the calls of threads");
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { IMPACT, TOTAL, CALLS, LONGEST, START, BYTES, PID, TID, THREAD, CALL, WHERE, CELLS };
static const struct table_column blocked_io_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },  { "Total Time", CELL_INT, UNIT_NS, 0 }, { "Calls", CELL_INT, UNIT_NONE, 0 },
    { "Longest", CELL_INT, UNIT_NS, 0 }, { "Start", CELL_INT, UNIT_TIME, 0 },    { "Bytes", CELL_INT, UNIT_BYTES, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },     { "TID", CELL_INT, UNIT_ID, 0 },        { "Thread", CELL_TEXT, UNIT_NONE, 0 },
    { "Call", CELL_TEXT, UNIT_NAME, 0 }, { "Where", CELL_TEXT, UNIT_NONE, 0 },
};

static int blocked_io_add_texts(struct blocked_io_search *search, struct table *table, struct table_cell *row,
                                uint32_t number)
{
    const int64_t *key = keys_get(&search->keys, number);
    struct report *report = search->base.report;
    int code;

    if ((code = rule_set_thread(table, &row[THREAD], &search->names, report, search->places[number].longest_thread)) !=
            0 ||
        (code = cell_set_pooled(table, &row[CALL], report, key[KEY_NAME])) != 0)
        return code;
    return rule_set_frame(table, &row[WHERE], &search->origins.stacks, (uint32_t)key[KEY_FRAME]);
}

static int blocked_io_add_row(struct blocked_io_search *search, struct table *table, uint32_t number)
{
    const struct blocked_io_place *place = &search->places[number];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], place->impact_ns);
    cell_set_int(&row[TOTAL], place->total_ns);
    cell_set_int(&row[CALLS], place->count);
    cell_set_int(&row[LONGEST], place->longest_ns);
    cell_set_int(&row[START], place->longest_start_ns);
    if (os_call_counts_bytes(report_string(search->base.report, keys_get(&search->keys, number)[KEY_NAME], NULL)))
        cell_set_int(&row[BYTES], place->bytes);
    cell_set_int(&row[PID], global_pid_number(place->longest_thread));
    cell_set_int(&row[TID], global_tid_number(place->longest_thread));
    return blocked_io_add_texts(search, table, row, number);
}

/* Whether the place waits for input, not for a device. Sockets have calls of their own: a slow answer is a finding. */
static int waits_for_input(const struct blocked_io_search *search, uint32_t number)
{
    static const char *const names[] = { "read",       "readv",           "getline", "getdelim",
                                         "mq_receive", "mq_timedreceive", "msgrcv" };
    const char *name = report_string(search->base.report, keys_get(&search->keys, number)[KEY_NAME], NULL);
    const struct blocked_io_place *place = &search->places[number];

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (double)place->bytes * 1e9 < (double)place->total_ns * LEAST_BYTES_PER_S;
    return 0;
}

static int blocked_io_is_found(const struct blocked_io_search *search, int64_t stalled_ns)
{
    return stalled_ns >= LEAST_NS && rule_is_enough(&search->base, stalled_ns);
}

static int blocked_io_fill(void *context, struct table *table, struct error *err)
{
    struct blocked_io_search *search = context;
    struct sched_times times;
    int code;

    if ((code = find_stalls(search, err)) != 0)
        return code;
    if (!blocked_io_is_found(search, stalls_of_all(search)))
        return 0;
    if ((code = rule_sched_times(&search->base, &times, err)) != 0)
        return code;
    leave_out_runnable(search, &times);
    sched_times_free(&times);
    if ((code = blocked_io_find_places(search, err)) != 0)
        return code;
    for (uint32_t i = 0; i < search->keys.count; i++)
        if (blocked_io_is_found(search, search->places[i].impact_ns) && !waits_for_input(search, i) &&
            blocked_io_add_row(search, table, i) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int blocked_io_read_all(void *context, struct error *err)
{
    struct blocked_io_search *search = context;
    const struct filter everyone = { .span = &search->base.rule.span }; /* any thread is active, or not */
    struct os_call_choice waits;
    int code;

    for (int kind = 0; kind < OS_CALL_KINDS; kind++)
        waits.least_ns[kind] = kind == OS_CALL_OTHER || kind == OS_CALL_LOAD ? OS_CALL_NEVER : LEAST_CALL_NS;
    if ((code = os_calls_read(&search->calls, search->base.report, &waits, &everyone, err)) != 0)
        return code;
    return thread_lives_read(&search->lives, search->base.report, err);
}

static int blocked_io(struct report *report, const struct analysis_request *request, struct table **out,
                      struct error *err)
{
    static const struct rule_steps steps = { blocked_io_columns,    CELLS,
                                             LEAST_PERCENT,         "the calls of threads",
                                             blocked_io_read_all,   blocked_io_fill,
                                             blocked_io_search_free };
    struct blocked_io_search search = { .base.report = report, .keys.width = KEY_PARTS };

    return rule_run(&steps, &search.base, request, out, err);
}

/* "read in load (io.c:12) kept the program waiting for 1.20 s: worker (2100), 300 calls, 45.0 MB at 37.0 MB/s" */
static void blocked_io_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    rule_add_text(out, "", &row[CALL]);
    rule_add_text(out, " in ", &row[WHERE]);
    text_add(out, " kept the program waiting for ");
    human_time(out, row[IMPACT].integer);
    rule_add_text(out, ": ", &row[THREAD]);
    text_add(out, ", ");
    human_count(out, (uint64_t)row[CALLS].integer);
    text_add(out, row[CALLS].integer == 1 ? " call" : " calls");
    if (row[BYTES].kind == CELL_INT && row[BYTES].integer > 0 && row[TOTAL].integer > 0) {
        text_add(out, ", ");
        human_bytes(out, (uint64_t)row[BYTES].integer);
        text_add(out, " at ");
        human_bytes(out,
                    (uint64_t)saturating_from_double((double)row[BYTES].integer * 1e9 / (double)row[TOTAL].integer));
        text_add(out, "/s");
    }
}

/* Calls in which the other end of a connection, and no file, makes the program wait. */
static int is_of_connection(const struct table_cell *call)
{
    static const char *const begins[] = { "recv", "send", "connect" };

    for (size_t i = 0; i < COUNT_OF(begins); i++)
        if (call->kind == CELL_TEXT && call->text.length >= strlen(begins[i]) &&
            memcmp(call->text.bytes, begins[i], strlen(begins[i])) == 0)
            return 1;
    return 0;
}

static const char *blocked_io_advise(const struct table *table, size_t row)
{
    return is_of_connection(&table_row(table, row)[CALL])
               ? "The program does nothing while it waits for the other end of a connection. Send requests earlier, or "
                 "several at once, keep connections open, use fewer and larger messages, or work on something else "
                 "meanwhile (asynchronous I/O, another thread)."
               : rule_blocked_io.rule->advice;
}

const struct analysis rule_blocked_io = {
    .name = "blocked_io",
    .title = "Blocking Input and Output",
    .usage = RULE_OPTIONS "[:threshold=<percent>][:process=<pid>][:thread=<tid>]",
    .help =
        "Calls for files, sockets and pipes that kept the whole program waiting: no thread of any recorded process "
        "was active, and the call ended that. Impact is the sum of these times, without the time in which the thread "
        "was "
        "ready to run but had no CPU. A place is a finding if that is at "
        "least threshold (5) percent of the capture's time, and 10 ms. Calls shorter than 20 µs count as activity. "
        "Waits for events (epoll_wait, accept) are left out: a server that waits for requests is idle. So are reads "
        "(read, getline, msgrcv) of less than 4 kB per second: these wait for a terminal or another program.",
    .needs = { { "OS calls", TABLES("OSRT_API") } },
    .run = blocked_io,
    .rule = ANALYSIS_RULE(
            .finding = blocked_io_say, .advise = blocked_io_advise, .scope = RULE_OF_RUN,
            .advice = "The program does nothing while it waits for these calls. Read ahead or write behind in another "
                      "thread, use larger blocks and buffers, fewer fsync() calls, asynchronous I/O, or a faster file "
                      "system.",
            .praise = "No input or output kept the whole program waiting for a relevant share of the time."),
};
