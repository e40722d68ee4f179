/* The rule slow_start: time that a process needs before its work begins: Python's imports, the initialisation of CUDA,
 * allocation of pinned memory, and loading of libraries.
 *
 * Imports come from Python samples with importlib on the stack; they belong to the line outside of importlib that asked
 * for the outermost module. CUDA's initialisation is the time in CUDA calls before the first work of the process on a
 * GPU, but for those that pin memory. Loading is the time in dlopen(), for a process of which no Python samples were
 * taken: imports contain it. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/calls.h"
#include "analyze/model/gpu.h"
#include "analyze/model/os_calls.h"
#include "analyze/model/stacks/call_origins.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "rule.h"
#include "tally.h"

#define LEAST_NS INT64_C(200000000)
#define LONGEST_SAMPLE_NS INT64_C(100000000)
enum { LEAST_PERCENT = 5, COMPILED_PERCENT = 25 }; /* of the imports: compiling is reported from this share on */
enum phase { IMPORTS, CUDA_START, PINNING, LOADING, PHASES };
static const struct {
    int is_of_cuda;
    const char *name, *advice;
} phases[PHASES] = {
    [IMPORTS] = { 0, "Python imports",
                  "Import modules where they are used or not at all (python -X importtime lists them), keep them on a "
                  "fast disk, or let one process serve many runs." },
    [CUDA_START] = { 1, "CUDA initialization",
                     "The first CUDA call of a process creates a context and loads GPU code. CUDA_MODULE_LOADING=LAZY "
                     "(the default since CUDA 12.2), GPU code that was compiled for this GPU, and fewer libraries "
                     "shorten that; or let one process serve many runs." },
    [PINNING] = { 1, "allocation of pinned memory",
                  "Pinning memory takes time for each page (the first CUDA call of a process also creates its "
                  "context). Allocate less pinned memory, allocate it once and use it again, or in a thread of its own "
                  "while the program works." },
    [LOADING] = { 0, "loading of libraries",
                  "Link fewer libraries, load plugins when they are first used, keep them on a fast disk, or let one "
                  "process serve many runs." },
};

/* Imports of sources that Python had to compile: a .pyc file has the result. */
static const char compiled_advice[] =
    "Python compiled the sources of these modules, because it found no valid bytecode cache (.pyc). Write the cache "
    "once "
    "(python -m compileall, best when the image or environment is built), keep __pycache__ writable or set "
    "PYTHONPYCACHEPREFIX, and do not set PYTHONDONTWRITEBYTECODE.";

/* Questions of the tally. */
enum { WHERE_IT_WAS, COMPILED };

/* A span of time of a phase. */
struct slow_start_stretch {
    int64_t process;
    enum phase phase;
    int64_t from_ns, to_ns;
    int64_t where; /* a frame of the phase's stacks, or the name of a call; -1: not known */
    int compiles;  /* an import that compiles a source */
};

/* A phase of a process: the time that its stretches cover. */
struct start {
    int64_t impact_ns, first_ns, until_ns;
};

struct slow_start_search {
    struct rule_search base;
    struct call_origins origins;
    struct slow_start_stretch *stretches; /* owned */
    size_t count, room;
    struct keys keys;                     /* process, phase */
    struct start *starts;                 /* owned; by key */
    size_t start_room;
    struct tally tally;                   /* groups: keys; answers: as `where` of a stretch; 0 for COMPILED */
    struct process_names names;
};

static void slow_start_search_free(void *context)
{
    struct slow_start_search *search = context;

    call_origins_close(&search->origins);
    free(search->stretches);
    keys_free(&search->keys);
    free(search->starts);
    tally_free(&search->tally);
    process_names_free(&search->names);
}

static int slow_start_add_stretch(struct slow_start_search *search, struct slow_start_stretch stretch)
{
    return ARRAY_PUSH(search->stretches, search->room, search->count, stretch);
}

/* ---- imports --------------------------------------------------------------------------------------------------- */

/* Whether importlib compiles a source at this moment: the code that it runs afterwards has frames of its own. */
static int is_compiling(const struct stacks *stacks, uint32_t stack)
{
    for (; stack != STACK_EMPTY; stack = stack_parent(stacks, stack)) {
        uint32_t frame = stack_innermost(stacks, stack);
        if (!stack_frame_is_import(stacks, frame))
            return 0;
        if (strstr(report_string(stacks->report, stack_frame(stacks, frame)[FRAME_SYMBOL], NULL), "source_to_code"))
            return 1;
    }
    return 0;
}

/* The frame that asked for the outermost import of a stack of join.python; NO_KEY: nothing is imported. */
static uint32_t importing_frame(const struct stacks *stacks, uint32_t stack)
{
    uint32_t found = NO_KEY;
    int was_importlib = 0;

    for (; stack != STACK_EMPTY; stack = stack_parent(stacks, stack)) {
        uint32_t frame = stack_innermost(stacks, stack);
        int imports = stack_frame_is_import(stacks, frame);
        if (was_importlib && !imports)
            found = frame;
        was_importlib = imports;
    }
    return found;
}

/* The last sample of a thread, which stands for the time up to the next one. */
struct last_sample {
    int64_t time_ns;
    uint32_t frame; /* NO_KEY: it imported nothing */
    int compiles;
};

enum { SAMPLE_START, SAMPLE_THREAD, SAMPLE_CHAIN };

static int slow_start_add_sample(struct slow_start_search *search, const struct row_cursor *rows,
                                 struct last_sample *last, size_t *hint, int is_first)
{
    int64_t time = row_int(rows, SAMPLE_START), thread = row_int(rows, SAMPLE_THREAD);
    int64_t gap = is_first ? 0 : saturating_duration(last->time_ns, time);
    const struct stacks *python = &search->origins.join.python;

    if (last->frame != NO_KEY && gap > 0 && gap <= LONGEST_SAMPLE_NS &&
        slow_start_add_stretch(search, (struct slow_start_stretch){ global_process(thread), IMPORTS, last->time_ns,
                                                                    time, last->frame, last->compiles }) != 0)
        return ERR_NO_MEMORY;
    uint32_t stack = stack_chains_find(&search->origins.join.chains, row_int(rows, SAMPLE_CHAIN), hint);
    *last = (struct last_sample){ time, importing_frame(python, stack), is_compiling(python, stack) };
    return 0;
}

static int find_imports(struct slow_start_search *search, struct error *err)
{
    static const char *const names[] = { "start", "globalTid", "callchainId", NULL };
    struct row_cursor rows;
    struct keys threads = { .width = 1 };
    struct last_sample *last = NULL;
    size_t room = 0, hint = 0;
    int code = row_cursor_open(&rows, search->base.report, "TACHO_PYTHON_SAMPLE", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t thread = row_int(&rows, SAMPLE_THREAD), time = row_int(&rows, SAMPLE_START);
        size_t known = threads.count;
        if (!filter_thread(&search->base.filter, thread, time, time))
            continue;
        uint32_t number = keys_add(&threads, &thread);
        if (number == NO_KEY || array_reserve(&last, &room, number + 1u, sizeof *last) != 0)
            goto no_memory;
        if (number == known)
            last[number].frame = NO_KEY;
        if (slow_start_add_sample(search, &rows, &last[number], &hint, number == known) != 0)
            goto no_memory;
    }
    goto done;
no_memory:
    code = error_short_memory(err, "for the samples of Python");
done:
    keys_free(&threads);
    free(last);
    row_cursor_close(&rows);
    return code;
}

/* ---- CUDA ------------------------------------------------------------------------------------------------------ */

/* The begin of the first work of each process on a GPU. */
struct first_works {
    struct keys processes;
    int64_t *start_ns; /* owned */
    size_t room;
    int64_t latest_ns; /* of these */
};

static uint32_t number_process(struct first_works *first, int64_t process)
{
    size_t known = first->processes.count;

    /* room comes first: every process must have a start */
    if (array_reserve(&first->start_ns, &first->room, known + 1, sizeof *first->start_ns) != 0)
        return NO_KEY;
    uint32_t number = keys_add(&first->processes, &process);
    if (number == known)
        first->start_ns[number] = INT64_MAX;
    return number;
}

static int slow_start_add_works(struct first_works *first, struct report *report, const char *table, struct error *err)
{
    static const char *const names[] = { "start", "globalPid", NULL };
    struct row_cursor rows;
    uint32_t number = NO_KEY;
    int code = row_cursor_open(&rows, report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t process = row_int_or(&rows, 1, 0), start = row_int(&rows, 0);
        if ((number == NO_KEY || *keys_get(&first->processes, number) != process) &&
            (number = number_process(first, process)) == NO_KEY &&
            (code = error_short_memory(err, "for the work of GPUs")) != 0)
            goto close_rows;
        if (start < first->start_ns[number])
            first->start_ns[number] = start;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

enum { CUDA_FROM, CUDA_TO, CUDA_THREAD, CUDA_NAME };

static int pins_memory(const char *call)
{
    static const char *const parts[] = { "MallocHost", "HostAlloc", "AllocHost", "HostRegister" };

    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (strstr(call, parts[i]))
            return 1;
    return 0;
}

/* The part of a call before the first work of its process. */
static int add_cuda_call(struct slow_start_search *search, const struct row_cursor *rows,
                         const struct first_works *first)
{
    int64_t thread = row_int_or(rows, CUDA_THREAD, 0), start = row_int(rows, CUDA_FROM), end = row_int(rows, CUDA_TO);
    uint32_t number = start < first->latest_ns ? keys_find(&first->processes, &(int64_t){ global_process(thread) })
                                               : NO_KEY;

    if (number == NO_KEY || start >= first->start_ns[number] ||
        !filter_thread(&search->base.filter, thread, start, end))
        return 0;
    end = end < first->start_ns[number] ? end : first->start_ns[number];
    int64_t name = row_int(rows, CUDA_NAME);
    enum phase phase = pins_memory(report_string(search->base.report, name, NULL)) ? PINNING : CUDA_START;
    return slow_start_add_stretch(search,
                                  (struct slow_start_stretch){ global_process(thread), phase, start, end, name, 0 });
}

static int find_cuda(struct slow_start_search *search, struct error *err)
{
    static const char *const names[] = { "start", "end", "globalTid", "nameId", NULL };
    struct first_works first = { .processes.width = 1, .latest_ns = INT64_MIN };
    struct row_cursor rows = { 0 };
    int code = 0;

    for (size_t i = 0; gpu_tables[i]; i++)
        if ((code = slow_start_add_works(&first, search->base.report, gpu_tables[i], err)) != 0)
            goto done;
    for (size_t i = 0; i < first.processes.count; i++)
        first.latest_ns = first.start_ns[i] > first.latest_ns ? first.start_ns[i] : first.latest_ns;
    if (!first.processes.count ||
        (code = row_cursor_open(&rows, search->base.report, gpu_call_tables[0], names, err)) != 0)
        goto done;
    while (row_cursor_next(&rows))
        if (add_cuda_call(search, &rows, &first) != 0 && (code = error_short_memory(err, "for the calls of CUDA")) != 0)
            goto done;
done:
    keys_free(&first.processes);
    free(first.start_ns);
    row_cursor_close(&rows);
    return code;
}

/* ---- libraries ------------------------------------------------------------------------------------------------- */

static int has_imports(const struct slow_start_search *search, int64_t process)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->stretches[i].phase == IMPORTS && search->stretches[i].process == process)
            return 1;
    return 0;
}

static int add_load(struct slow_start_search *search, const struct os_call *call)
{
    struct call_origin origin;

    if (call_origins_find(&search->origins, call->chain, call->python, &origin) != 0)
        return ERR_NO_MEMORY;
    return slow_start_add_stretch(search, (struct slow_start_stretch){
                                              global_process(call->thread), LOADING, call->start_ns, call->end_ns,
                                              origin.frame == NO_KEY ? -1 : (int64_t)origin.frame, 0 });
}

static int find_loading(struct slow_start_search *search, struct error *err)
{
    const struct os_call_choice loads = os_calls_of(OS_CALL_LOAD);
    struct os_calls calls = { 0 };
    int code;

    if ((code = os_calls_read(&calls, search->base.report, &loads, &search->base.filter, err)) != 0)
        goto free_calls;
    for (size_t i = 0; i < calls.count; i++)
        if (!has_imports(search, global_process(calls.list[i].thread)) && add_load(search, &calls.list[i]) != 0 &&
            (code = error_short_memory(err, "for the calls of threads")) != 0)
            goto free_calls;
free_calls:
    os_calls_free(&calls);
    return code;
}

/* ---- phases ---------------------------------------------------------------------------------------------------- */

/* By start; of those that begin together, the longest first. */
static int slow_start_by_start(const void *a, const void *b)
{
    const struct slow_start_stretch *x = a, *y = b;

    return COMPARE(x->from_ns, y->from_ns) ?: COMPARE(y->to_ns, x->to_ns);
}

/* The end of what is counted already. A CUDA call inside another one is not counted again, whatever their phases. */
static int64_t counted_until(const struct slow_start_search *search, const struct slow_start_stretch *stretch)
{
    int64_t until = INT64_MIN;

    for (int phase = 0; phase < PHASES; phase++) {
        if (phase != (int)stretch->phase && !(phases[phase].is_of_cuda && phases[stretch->phase].is_of_cuda))
            continue;
        uint32_t number = keys_find(&search->keys, (int64_t[]){ stretch->process, phase });
        if (number != NO_KEY && search->starts[number].until_ns > until)
            until = search->starts[number].until_ns;
    }
    return until;
}

/* Adds the part of a stretch that no earlier one covers. */
static int sum_stretch(struct slow_start_search *search, const struct slow_start_stretch *stretch)
{
    size_t known = search->keys.count;
    uint32_t number = keys_add(&search->keys, (int64_t[]){ stretch->process, stretch->phase });

    if (number == NO_KEY ||
        array_reserve(&search->starts, &search->start_room, number + 1u, sizeof *search->starts) != 0)
        return ERR_NO_MEMORY;
    struct start *start = &search->starts[number];
    if (number == known)
        *start = (struct start){ 0, stretch->from_ns, INT64_MIN };
    int64_t until = counted_until(search, stretch), from = stretch->from_ns > until ? stretch->from_ns : until;
    if (from >= stretch->to_ns)
        return 0;
    int64_t ns = saturating_duration(from, stretch->to_ns);
    start->impact_ns = saturating_add(start->impact_ns, ns);
    start->until_ns = stretch->to_ns;
    if (stretch->compiles && tally_add(&search->tally, (int64_t[TALLY_PARTS]){ number, COMPILED, 0, 0 }, ns) != 0)
        return ERR_NO_MEMORY;
    return stretch->where < 0
               ? 0
               : tally_add(&search->tally, (int64_t[TALLY_PARTS]){ number, WHERE_IT_WAS, stretch->where, 0 }, ns);
}

static int slow_start_sum_up(struct slow_start_search *search)
{
    if (search->count)
        qsort(search->stretches, search->count, sizeof *search->stretches, slow_start_by_start);
    for (size_t i = 0; i < search->count; i++)
        if (sum_stretch(search, &search->stretches[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { IMPACT, SHARE, DURATION, START, PID, PROGRAM, PHASE, WHERE, WHERE_NS, COMPILED_NS, CELLS };
static const struct table_column slow_start_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },   { "Time", CELL_REAL, UNIT_PERCENT, 1 },
    { "Duration", CELL_INT, UNIT_NS, 0 }, { "Start", CELL_INT, UNIT_TIME, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },      { "Program", CELL_TEXT, UNIT_NONE, 0 },
    { "Phase", CELL_TEXT, UNIT_NONE, 0 }, { "Mostly In", CELL_TEXT, UNIT_NONE, 0 },
    { "Mostly", CELL_INT, UNIT_NS, 0 },   { "Compiled", CELL_INT, UNIT_NS, 0 },
};

static void slow_start_add_where(struct text *out, const struct slow_start_search *search, enum phase phase,
                                 int64_t where)
{
    size_t length;

    if (phases[phase].is_of_cuda) {
        const char *name = report_string(search->base.report, where, &length);
        text_add_bytes(out, name, call_name_length(name, length));
    } else {
        stack_frame_label(out, phase == IMPORTS ? &search->origins.join.python : &search->origins.stacks,
                          (uint32_t)where);
    }
}

static int slow_start_add_texts(struct slow_start_search *search, struct table *table, struct table_cell *row,
                                uint32_t number)
{
    const int64_t *key = keys_get(&search->keys, number);
    struct tally_largest largest = tally_largest(&search->tally, number, WHERE_IT_WAS);
    struct text text = { 0 };
    int code;

    if ((code = rule_set_program(table, &row[PROGRAM], &search->names, search->base.report, key[0])) != 0 ||
        (code = cell_set_string(table, &row[PHASE], phases[key[1]].name)) != 0)
        return code;
    if (largest.key == NO_KEY)
        return 0;
    slow_start_add_where(&text, search, (enum phase)key[1], keys_get(&search->tally.keys, largest.key)[TALLY_ANSWER]);
    code = cell_set_built(table, &row[WHERE], &text);
    cell_set_int(&row[WHERE_NS], largest.ns);
    text_free(&text);
    return code;
}

static int slow_start_add_row(struct slow_start_search *search, struct table *table, uint32_t number, double wall)
{
    const struct start *start = &search->starts[number];
    struct tally_largest compiled = tally_largest(&search->tally, number, COMPILED);
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (compiled.key != NO_KEY)
        cell_set_int(&row[COMPILED_NS], compiled.ns);
    cell_set_int(&row[IMPACT], start->impact_ns);
    cell_set_real(&row[SHARE], wall > 0 ? 100 * (double)start->impact_ns / wall : 0);
    cell_set_int(&row[DURATION], saturating_duration(start->first_ns, start->until_ns));
    cell_set_int(&row[START], start->first_ns);
    cell_set_int(&row[PID], global_pid_number(keys_get(&search->keys, number)[0]));
    return slow_start_add_texts(search, table, row, number);
}

static int slow_start_fill(void *context, struct table *table, struct error *err)
{
    struct slow_start_search *search = context;
    double wall = (double)saturating_duration(search->base.time.from_ns, search->base.time.to_ns);

    if (slow_start_sum_up(search) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < search->keys.count; i++)
        if (search->starts[i].impact_ns >= LEAST_NS && rule_is_enough(&search->base, search->starts[i].impact_ns) &&
            slow_start_add_row(search, table, i, wall) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int slow_start_read_all(void *context, struct error *err)
{
    struct slow_start_search *search = context;
    int code;

    if ((code = call_origins_open(&search->origins, search->base.report, err)) != 0 ||
        (code = find_imports(search, err)) != 0 || (code = find_cuda(search, err)) != 0 ||
        (code = find_loading(search, err)) != 0)
        return code;
    return process_names_read(&search->names, search->base.report, err);
}

static int slow_start(struct report *report, const struct analysis_request *request, struct table **out,
                      struct error *err)
{
    static const struct rule_steps steps = { slow_start_columns,    CELLS,
                                             LEAST_PERCENT,         "the starts of processes",
                                             slow_start_read_all,   slow_start_fill,
                                             slow_start_search_free };
    struct slow_start_search search = { .base.report = report, .keys.width = 2, .tally = TALLY_NONE };

    return rule_run(&steps, &search.base, request, out, err);
}

static int compiles_much(const struct table_cell *row)
{
    return row[COMPILED_NS].kind == CELL_INT &&
           (double)row[COMPILED_NS].integer >= (double)row[IMPACT].integer * COMPILED_PERCENT / 100;
}

/* "python3 (2100): Python imports took 2.60 s, 41 % of the time; 1.50 s of it compiled sources: no bytecode cache;
 * mostly <module> (train.py:3), 2.10 s" */
static void slow_start_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    rule_add_process(out, &row[PROGRAM], &row[PID]);
    rule_add_text(out, ": ", &row[PHASE]);
    text_add(out, " took ");
    human_time(out, row[IMPACT].integer);
    text_addf(out, ", %.0f %% of the time", row[SHARE].real);
    if (compiles_much(row)) {
        text_add(out, "; ");
        human_time(out, row[COMPILED_NS].integer);
        text_add(out, " of it compiled sources, without a bytecode cache");
    }
    if (row[WHERE].kind != CELL_TEXT)
        return;
    rule_add_text(out, "; mostly ", &row[WHERE]);
    text_add(out, ", ");
    human_time(out, row[WHERE_NS].integer);
}

static const char *slow_start_advise(const struct table *table, size_t at)
{
    const struct table_cell *phase = &table_row(table, at)[PHASE];

    if (compiles_much(table_row(table, at)))
        return compiled_advice;
    for (int i = 0; i < PHASES; i++)
        if (strlen(phases[i].name) == phase->text.length &&
            memcmp(phases[i].name, phase->text.bytes, phase->text.length) == 0)
            return phases[i].advice;
    return rule_slow_start.rule->advice;
}

const struct analysis rule_slow_start = {
    .name = "slow_start",
    .title = "Slow Start",
    .usage = RULE_OPTIONS "[:threshold=<percent>][:process=<pid>][:thread=<tid>]",
    .help =
        "Time that a process needs before its work begins: Python imports (from Python samples with importlib on the "
        "stack), CUDA initialization and allocation of pinned memory (CUDA calls before the first work on a GPU), and "
        "loading of libraries (dlopen, for processes without imports). A phase is a finding if it takes at least "
        "threshold (5) percent of the capture's time, and 200 ms. Impact is the wall time of the phase; Compiled is "
        "the part of the imports "
        "in which Python compiled sources, because it found no bytecode cache (.pyc).",
    .needs = { { "Python samples, CUDA calls or OS calls",
                 TABLES("TACHO_PYTHON_SAMPLE", "CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API") } },
    .run = slow_start,
    .rule = ANALYSIS_RULE(
            .finding = slow_start_say, .scope = RULE_OF_START, .advise = slow_start_advise,
            .advice = "The start takes a relevant share of the run: do less of it, later, or once for many runs.",
            .praise = "Of Python imports, CUDA initialization, pinned memory and loading of libraries, those that were "
                      "recorded took no relevant share of the time."),
};
