/* The rule process_starts: programs that start many short processes, one after another.
 *
 * A process is recorded from the moment at which its program runs. Its parent shows what it costs before that and after
 * its end: the time in fork(), in waitpid(), and in similar calls. Pages that the parent copies after a fork are not
 * recorded, so the sum is a lower bound. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/os_calls.h"
#include "analyze/model/stacks/call_origins.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "base/path.h"
#include "rule.h"
#include "tally.h"

#define SHORT_NS INT64_C(100000000) /* a process that lives longer does some work */
enum { LEAST_STARTS = 20, LEAST_RATE = 10, LEAST_PERCENT = 10 };
enum { WHAT_RAN, STARTED_IN }; /* questions of the tally; the groups are parents */

/* A process, from its first program to its last. */
struct life {
    int64_t id, parent, start_ns, end_ns;
    int64_t exe; /* of its last program; a string id, -1: not known */
};

/* The short processes of a parent: when the first and the last of them began, and the time that they took. */
struct parent {
    int64_t id, count, first_ns, last_ns;
    int64_t impact_ns, begin_ns, until_ns;
};

/* A span of time that a parent spent on short processes. */
struct process_starts_stretch {
    uint32_t parent;
    int64_t from_ns, to_ns;
};

struct process_starts_search {
    struct rule_search base;
    struct keys ids;                          /* of processes */
    struct life *lives;                       /* owned; by number of the id, later by start */
    size_t life_room;
    struct keys parent_ids;
    struct parent *parents;                   /* owned; by number of the id */
    size_t parent_room;
    struct process_starts_stretch *stretches; /* owned */
    size_t stretch_count, stretch_room;
    struct tally tally;
    struct os_calls calls;
    struct call_origins origins;
    struct process_names names;
};

static void process_starts_search_free(void *context)
{
    struct process_starts_search *search = context;

    keys_free(&search->ids);
    free(search->lives);
    keys_free(&search->parent_ids);
    free(search->parents);
    free(search->stretches);
    tally_free(&search->tally);
    os_calls_free(&search->calls);
    call_origins_close(&search->origins);
    process_names_free(&search->names);
}

/* ---- processes ------------------------------------------------------------------------------------------------- */

enum { START, END, ID, PARENT, EXE };

static int process_starts_add_program(struct process_starts_search *search, const struct row_cursor *rows)
{
    int64_t id = row_int(rows, ID), start = row_int(rows, START), end = row_int_or(rows, END, INT64_MIN);
    size_t known = search->ids.count;
    uint32_t number = keys_add(&search->ids, &id);

    if (number == NO_KEY || array_reserve(&search->lives, &search->life_room, number + 1u, sizeof *search->lives) != 0)
        return ERR_NO_MEMORY;
    struct life *life = &search->lives[number];
    if (number == known)
        *life = (struct life){ id, -1, start, end, -1 };
    life->parent = row_int_or(rows, PARENT, life->parent);
    life->start_ns = start < life->start_ns ? start : life->start_ns;
    life->end_ns = end > life->end_ns ? end : life->end_ns;
    life->exe = row_int_or(rows, EXE, life->exe);
    return 0;
}

static int process_starts_by_start(const void *a, const void *b)
{
    const struct life *x = a, *y = b;

    return COMPARE(x->start_ns, y->start_ns);
}

static int read_lives(struct process_starts_search *search, struct error *err)
{
    static const char *const names[] = {
        [START] = "start", [END] = "end", [ID] = "globalPid", [PARENT] = "parentGlobalPid", [EXE] = "exe", NULL
    };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, search->base.report, "TACHO_PROCESS", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows))
        if (process_starts_add_program(search, &rows) != 0 &&
            (code = error_short_memory(err, "for the processes")) != 0)
            goto close_rows;
    if (search->ids.count)
        qsort(search->lives, search->ids.count, sizeof *search->lives, process_starts_by_start);
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int process_starts_add_stretch(struct process_starts_search *search, uint32_t parent, int64_t from_ns,
                                      int64_t to_ns)
{
    return ARRAY_PUSH(search->stretches, search->stretch_room, search->stretch_count,
                      (struct process_starts_stretch){ parent, from_ns, to_ns });
}

static int process_starts_add_child(struct process_starts_search *search, const struct life *life)
{
    uint32_t number = keys_add(&search->parent_ids, &life->parent);

    if (number == NO_KEY ||
        array_reserve_zeroed(&search->parents, &search->parent_room, number + 1u, sizeof *search->parents) != 0)
        return ERR_NO_MEMORY;
    struct parent *parent = &search->parents[number];
    if (parent->count++ == 0)
        *parent = (struct parent){ life->parent, 1, life->start_ns, life->start_ns, 0, INT64_MAX, INT64_MIN };
    parent->last_ns = life->start_ns;
    return process_starts_add_stretch(search, number, life->start_ns, life->end_ns) != 0 ||
                   tally_add(&search->tally, (int64_t[TALLY_PARTS]){ number, WHAT_RAN, life->exe, 0 }, 1) != 0
               ? ERR_NO_MEMORY
               : 0;
}

static int find_parents(struct process_starts_search *search)
{
    for (size_t i = 0; i < search->ids.count; i++) {
        const struct life *life = &search->lives[i];
        int64_t time = saturating_duration(life->start_ns, life->end_ns);
        if (life->parent != -1 && time >= 0 && time < SHORT_NS &&
            filter_process(&search->base.filter, life->parent, life->start_ns, life->end_ns) &&
            process_starts_add_child(search, life) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* A call of a parent that started a process, or waited for one. */
static int process_starts_add_call(struct process_starts_search *search, uint32_t parent, const struct os_call *call)
{
    struct call_origin origin;

    if (saturating_duration(call->start_ns, call->end_ns) < SHORT_NS &&
        process_starts_add_stretch(search, parent, call->start_ns, call->end_ns) != 0)
        return ERR_NO_MEMORY;
    if (call->kind != OS_CALL_START)
        return 0;
    if (call_origins_find(&search->origins, call->chain, call->python, &origin) != 0)
        return ERR_NO_MEMORY;
    return origin.frame == NO_KEY
               ? 0
               : tally_add(&search->tally, (int64_t[TALLY_PARTS]){ parent, STARTED_IN, origin.frame, 0 }, 1);
}

static int process_starts_find_calls(struct process_starts_search *search)
{
    for (size_t i = 0; i < search->calls.count; i++) {
        const struct os_call *call = &search->calls.list[i];
        uint32_t parent = keys_find(&search->parent_ids, &(int64_t){ global_process(call->thread) });
        if (parent != NO_KEY && process_starts_add_call(search, parent, call) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct process_starts_stretch *x = a, *y = b;

    return COMPARE(x->from_ns, y->from_ns);
}

/* Adds up the time that the stretches of each parent cover. */
static void process_starts_sum_up(struct process_starts_search *search)
{
    if (search->stretch_count)
        qsort(search->stretches, search->stretch_count, sizeof *search->stretches, by_begin);
    for (size_t i = 0; i < search->stretch_count; i++) {
        const struct process_starts_stretch *stretch = &search->stretches[i];
        struct parent *parent = &search->parents[stretch->parent];
        int64_t from = stretch->from_ns > parent->until_ns ? stretch->from_ns : parent->until_ns;
        parent->begin_ns = stretch->from_ns < parent->begin_ns ? stretch->from_ns : parent->begin_ns;
        if (from >= stretch->to_ns)
            continue;
        parent->impact_ns = saturating_add(parent->impact_ns, saturating_duration(from, stretch->to_ns));
        parent->until_ns = stretch->to_ns;
    }
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { IMPACT, PROCESSES, RATE, DURATION, AT, PID, PROGRAM, STARTS, WHERE, CELLS };
static const struct table_column process_starts_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },        { "Processes", CELL_INT, UNIT_NONE, 0 },
    { "Per Second", CELL_REAL, UNIT_NONE, 1 }, { "Duration", CELL_INT, UNIT_NS, 0 },
    { "Start", CELL_INT, UNIT_TIME, 0 },       { "PID", CELL_INT, UNIT_ID, 0 },
    { "Program", CELL_TEXT, UNIT_NONE, 0 },    { "Starts", CELL_TEXT, UNIT_NONE, 0 },
    { "Where", CELL_TEXT, UNIT_NONE, 0 },
};

/* The answer with the most processes; -1 if there is none. */
static int64_t largest_answer(const struct process_starts_search *search, uint32_t parent, int64_t question)
{
    struct tally_largest largest = tally_largest(&search->tally, parent, question);

    return largest.key == NO_KEY ? -1 : keys_get(&search->tally.keys, largest.key)[TALLY_ANSWER];
}

static int process_starts_add_texts(const struct process_starts_search *search, struct table *table,
                                    struct table_cell *row, uint32_t number)
{
    struct report *report = search->base.report;
    int64_t exe = largest_answer(search, number, WHAT_RAN), frame = largest_answer(search, number, STARTED_IN);
    int code = rule_set_program(table, &row[PROGRAM], &search->names, report, search->parents[number].id);

    if (code != 0 || (exe >= 0 && (code = cell_set_string(table, &row[STARTS],
                                                          path_base_name(report_string(report, exe, NULL)))) != 0))
        return code;
    return rule_set_frame(table, &row[WHERE], &search->origins.stacks, frame < 0 ? NO_KEY : (uint32_t)frame);
}

static double process_starts_rate_of(const struct parent *parent)
{
    int64_t span = saturating_duration(parent->first_ns, parent->last_ns);

    return span > 0 ? (double)(parent->count - 1) * 1e9 / (double)span : 0;
}

static int process_starts_add_row(const struct process_starts_search *search, struct table *table, uint32_t number)
{
    const struct parent *parent = &search->parents[number];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], parent->impact_ns);
    cell_set_int(&row[PROCESSES], parent->count);
    cell_set_real(&row[RATE], process_starts_rate_of(parent));
    cell_set_int(&row[DURATION], saturating_duration(parent->begin_ns, parent->until_ns));
    cell_set_int(&row[AT], parent->begin_ns);
    cell_set_int(&row[PID], global_pid_number(parent->id));
    return process_starts_add_texts(search, table, row, number);
}

static int process_starts_is_found(const struct process_starts_search *search, const struct parent *parent)
{
    return parent->count >= LEAST_STARTS && process_starts_rate_of(parent) >= LEAST_RATE && parent->impact_ns > 0 &&
           rule_is_enough(&search->base, parent->impact_ns);
}

static int process_starts_fill(void *context, struct table *table, struct error *err)
{
    struct process_starts_search *search = context;

    if (find_parents(search) != 0 || process_starts_find_calls(search) != 0)
        return ERR_NO_MEMORY;
    process_starts_sum_up(search);
    for (uint32_t i = 0; i < search->parent_ids.count; i++)
        if (process_starts_is_found(search, &search->parents[i]) && process_starts_add_row(search, table, i) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int process_starts_read_all(void *context, struct error *err)
{
    struct process_starts_search *search = context;
    struct report *report = search->base.report;
    struct os_call_choice starts = os_calls_of(OS_CALL_START);
    int code = read_lives(search, err);

    if (code != 0 || search->ids.count < LEAST_STARTS) /* no need to read calls */
        return code;
    starts.least_ns[OS_CALL_CHILD] = 0;
    if ((code = os_calls_read(&search->calls, report, &starts, &search->base.filter, err)) != 0 ||
        (code = call_origins_open(&search->origins, report, err)) != 0)
        return code;
    return process_names_read(&search->names, report, err);
}

static int process_starts(struct report *report, const struct analysis_request *request, struct table **out,
                          struct error *err)
{
    static const struct rule_steps steps = {
        process_starts_columns,    CELLS, LEAST_PERCENT, "the processes", process_starts_read_all, process_starts_fill,
        process_starts_search_free
    };
    struct process_starts_search search = {
        .base.report = report, .ids.width = 1, .parent_ids.width = 1, .tally = TALLY_NONE
    };

    return rule_run(&steps, &search.base, request, out, err);
}

/* "make (2100) started 412 processes that lived less than 100 ms, 129 a second, mostly cc1, in run_job (job.c:12);
 * they took at least 1.30 s" */
static void process_starts_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    rule_add_process(out, &row[PROGRAM], &row[PID]);
    text_add(out, " started ");
    human_count(out, (uint64_t)row[PROCESSES].integer);
    text_addf(out, " processes that lived less than 100 ms, %.0f a second", row[RATE].real);
    rule_add_text(out, ", mostly ", &row[STARTS]);
    rule_add_text(out, ", in ", &row[WHERE]);
    text_add(out, "; they took at least ");
    human_time(out, row[IMPACT].integer);
}

const struct analysis rule_process_starts = {
    .name = "process_starts",
    .title = "Many Short Processes",
    .usage = RULE_OPTIONS "[:threshold=<percent>][:process=<pid>]",
    .help =
        "Programs that start many short processes. A program is a finding if it starts at least 20 processes that "
        "live less than 100 ms each, at least 10 a second, and if these take at least threshold (10) percent of the "
        "capture's time. Impact is the wall time in which at least one of them lived, or the program was in a call "
        "that started one or waited for one (fork, posix_spawn, waitpid, if OS calls were recorded). It is a lower "
        "bound: page faults of the program after a fork are not recorded.",
    .needs = { { "processes", TABLES("TACHO_PROCESS") } },
    .run = process_starts,
    .rule = ANALYSIS_RULE(.finding = process_starts_say, .scope = RULE_OF_RUN,
                          .advice = "Starting a process costs milliseconds: fork, exec, loading of libraries. Do the "
                                    "work in the program itself or in one process that stays (a pool of workers, xargs "
                                    "-n with many arguments, shell built-ins).",
                          .praise = "No program started many short processes."),
};
