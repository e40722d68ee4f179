/* The rule gil_contention: Python threads that wait for the GIL while another one holds it.
 *
 * A round of the Python sampler looks at all threads of a process at one time, so who waited and who held the GIL are
 * known for the same moment. A round stands for the time up to the next one.
 *
 * Threads take turns: the one that waits most is often the one that holds the GIL most, at other times. So the holder
 * that is named is the one that held it while the named waiter waited. */
#include <stdlib.h>

#include "analyze/engine/order.h"
#include "analyze/model/stacks/stacks.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "rule.h"
#include "tally.h"

#define LONGEST_ROUND_NS INT64_C(100000000) /* a longer gap between rounds says nothing about its middle */
enum { LEAST_PERCENT = 10, LEAST_ROUNDS = 20 };
enum { HOLDS = 1, WAITS = 2 };
enum { WHO_WAITED, HELD_BY, HOLDER_RAN, WAITED_IN }; /* questions of the tally */
enum { NOBODY = -1 };

enum { START, THREAD, GIL, CHAIN, SAMPLE_COLUMNS };

struct gil {
    int64_t process, impact_ns, waited_ns, sampled_ns, rounds;
    int64_t longest_ns, longest_start_ns; /* the longest run of rounds in which any thread waited */
    int64_t run_ns, run_start_ns;         /* the run of now */
};

struct gil_waits_search {
    struct rule_search base;
    struct report_columns samples;
    uint32_t *order;    /* owned; samples by process, then by time */
    size_t count;
    struct gil *gils;   /* owned; by process */
    size_t gil_count, gil_room;
    struct keys scenes; /* the index of a gil, a waiter, and a holder or NOBODY */
    struct tally tally; /* groups: indices of gils, and scenes (group_of); answers: threads, chains */
    struct stacks stacks;
    struct stack_chains chains;
    struct thread_names names;
};

static void gil_waits_search_free(void *context)
{
    struct gil_waits_search *search = context;

    report_columns_free(&search->samples);
    free(search->order);
    free(search->gils);
    keys_free(&search->scenes);
    tally_free(&search->tally);
    stacks_free(&search->stacks);
    stack_chains_free(&search->chains);
    thread_names_free(&search->names);
}

static int64_t gil_waits_value(const struct gil_waits_search *search, int column, size_t at)
{
    return search->samples.values[column][search->order[at]];
}

static int64_t process_at(const struct gil_waits_search *search, size_t at)
{
    return global_process(gil_waits_value(search, THREAD, at));
}

/* Leaves the samples of the processes that are asked for, by process and time: a holder may be any thread. */
static int gil_waits_put_in_order(struct gil_waits_search *search)
{
    size_t rows = search->samples.rows;
    int64_t *process = malloc((rows + 1) * sizeof *process);
    int code = rows ? ERR_NO_MEMORY : 0;

    search->order = malloc((rows + 1) * sizeof *search->order);
    if (!process || !search->order || !rows || rows >= UINT32_MAX)
        goto free_process;
    for (size_t row = 0; row < rows; row++) {
        int64_t thread = search->samples.values[THREAD][row], start = search->samples.values[START][row];
        process[row] = global_process(thread);
        if (filter_process(&search->base.filter, thread, start, start))
            search->order[search->count++] = (uint32_t)row;
    }
    code = order_by_thread(search->order, search->count, process, search->samples.values[START]);
free_process:
    free(process);
    return code;
}

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

/* Scenes lie below the indices of gils. */
static int64_t gil_waits_group_of(uint32_t scene)
{
    return -1 - (int64_t)scene;
}

static int gil_waits_answer(struct gil_waits_search *search, int64_t group, int64_t question, int64_t is, int64_t ns)
{
    return tally_add(&search->tally, (int64_t[TALLY_PARTS]){ group, question, is, 0 }, ns);
}

/* Counts the round of one waiter; `holder` is its sample, or NOBODY. ERR_NO_MEMORY or 0. */
static int add_waiter(struct gil_waits_search *search, size_t waiter, int64_t holder, int64_t ns)
{
    int64_t gil = (int64_t)search->gil_count - 1, thread = gil_waits_value(search, THREAD, waiter);
    uint32_t alone = keys_add(&search->scenes, (int64_t[]){ gil, thread, NOBODY });

    if (alone == NO_KEY || gil_waits_answer(search, gil, WHO_WAITED, thread, ns) != 0 ||
        gil_waits_answer(search, gil_waits_group_of(alone), WAITED_IN, gil_waits_value(search, CHAIN, waiter), ns) != 0)
        return ERR_NO_MEMORY;
    if (holder == NOBODY)
        return 0;
    int64_t other = gil_waits_value(search, THREAD, (size_t)holder);
    uint32_t both = keys_add(&search->scenes, (int64_t[]){ gil, thread, other });
    return both == NO_KEY || gil_waits_answer(search, gil_waits_group_of(alone), HELD_BY, other, ns) != 0 ||
                   gil_waits_answer(search, gil_waits_group_of(both), HOLDER_RAN,
                                    gil_waits_value(search, CHAIN, (size_t)holder), ns) != 0
               ? ERR_NO_MEMORY
               : 0;
}

static void end_run(struct gil *gil, int64_t ns, int64_t start_ns, int has_waiter)
{
    if (!has_waiter) {
        gil->run_ns = 0;
        return;
    }
    if (gil->run_ns == 0)
        gil->run_start_ns = start_ns;
    gil->run_ns = saturating_add(gil->run_ns, ns);
    if (gil->run_ns > gil->longest_ns) {
        gil->longest_ns = gil->run_ns;
        gil->longest_start_ns = gil->run_start_ns;
    }
}

/* One round: the samples from `first` up to `behind` are of one process and time, and stand for ns. */
static int gil_waits_add_round(struct gil_waits_search *search, size_t first, size_t behind, int64_t ns)
{
    struct gil *gil = &search->gils[search->gil_count - 1];
    int64_t start = gil_waits_value(search, START, first), holder = NOBODY;
    int has_waiter = 0;

    for (size_t i = first; i < behind; i++)
        if (gil_waits_value(search, GIL, i) == HOLDS)
            holder = (int64_t)i;
    for (size_t i = first; i < behind; i++) {
        if (gil_waits_value(search, GIL, i) != WAITS ||
            !filter_thread(&search->base.filter, gil_waits_value(search, THREAD, i), start, start))
            continue;
        has_waiter = 1;
        gil->waited_ns = saturating_add(gil->waited_ns, ns);
        if (add_waiter(search, i, holder, ns) != 0)
            return ERR_NO_MEMORY;
    }
    gil->rounds++;
    gil->sampled_ns = saturating_add(gil->sampled_ns, ns);
    gil->impact_ns = saturating_add(gil->impact_ns, has_waiter ? ns : 0);
    end_run(gil, ns, start, has_waiter);
    return 0;
}

static int gil_waits_next_process(struct gil_waits_search *search, int64_t process)
{
    if (array_reserve_zeroed(&search->gils, &search->gil_room, search->gil_count + 1, sizeof *search->gils) != 0)
        return ERR_NO_MEMORY;
    search->gils[search->gil_count++] = (struct gil){ .process = process };
    return 0;
}

static int walk_rounds(struct gil_waits_search *search)
{
    for (size_t first = 0, behind; first < search->count; first = behind) {
        int64_t process = process_at(search, first), start = gil_waits_value(search, START, first), ns = 0;
        for (behind = first + 1; behind < search->count && gil_waits_value(search, START, behind) == start &&
                                 process_at(search, behind) == process;)
            behind++;
        if ((first == 0 || process != process_at(search, first - 1)) && gil_waits_next_process(search, process) != 0)
            return ERR_NO_MEMORY;
        if (behind < search->count && process_at(search, behind) == process)
            ns = saturating_duration(start, gil_waits_value(search, START, behind));
        if (gil_waits_add_round(search, first, behind, ns < LONGEST_ROUND_NS ? ns : LONGEST_ROUND_NS) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { IMPACT, WAITED, SHARE, LONGEST, START_TIME, THREADS, PID, TID, WHERE, HOLDER, HOLDER_IN, CELLS };
static const struct table_column gil_waits_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },        { "Waited", CELL_INT, UNIT_NS, 0 },
    { "Share", CELL_REAL, UNIT_PERCENT, 1 },   { "Longest", CELL_INT, UNIT_NS, 0 },
    { "Start", CELL_INT, UNIT_TIME, 0 },       { "Threads", CELL_INT, UNIT_NONE, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },           { "TID", CELL_INT, UNIT_ID, 0 },
    { "Waited In", CELL_TEXT, UNIT_NONE, 0 },  { "Held By", CELL_TEXT, UNIT_NONE, 0 },
    { "Holder Ran", CELL_TEXT, UNIT_NONE, 0 },
};

/* The answer with the most time; NOBODY if there is none. */
static int64_t largest_answer(const struct gil_waits_search *search, int64_t group, int64_t question)
{
    struct tally_largest largest = tally_largest(&search->tally, group, question);

    return largest.key == NO_KEY ? NOBODY : keys_get(&search->tally.keys, largest.key)[TALLY_ANSWER];
}

/* The innermost function of a chain; NO_KEY if there is none. */
static uint32_t gil_waits_function_of(const struct gil_waits_search *search, int64_t chain)
{
    size_t hint = 0;
    uint32_t stack = chain == NOBODY ? STACK_EMPTY : stack_chains_find(&search->chains, chain, &hint);

    return stack == STACK_EMPTY ? NO_KEY : stack_innermost(&search->stacks, stack);
}

/* The cells about the thread that waited most: where it waited, who held the GIL meanwhile, and what that one ran. */
static int set_scene(struct gil_waits_search *search, struct table *table, struct table_cell *row, int64_t gil)
{
    int64_t waiter = largest_answer(search, gil, WHO_WAITED);
    int64_t alone = gil_waits_group_of(keys_find(&search->scenes, (int64_t[]){ gil, waiter, NOBODY }));
    int64_t holder = largest_answer(search, alone, HELD_BY);

    cell_set_int(&row[TID], global_tid_number(waiter));
    uint32_t where = gil_waits_function_of(search, largest_answer(search, alone, WAITED_IN));
    if (rule_set_frame(table, &row[WHERE], &search->stacks, where) != 0)
        return ERR_NO_MEMORY;
    if (holder == NOBODY)
        return 0;
    int64_t both = gil_waits_group_of(keys_find(&search->scenes, (int64_t[]){ gil, waiter, holder }));
    uint32_t ran = gil_waits_function_of(search, largest_answer(search, both, HOLDER_RAN));
    return rule_set_thread(table, &row[HOLDER], &search->names, search->base.report, holder) != 0 ||
                   rule_set_frame(table, &row[HOLDER_IN], &search->stacks, ran) != 0
               ? ERR_NO_MEMORY
               : 0;
}

static int gil_waits_add_row(struct gil_waits_search *search, struct table *table, size_t number)
{
    const struct gil *gil = &search->gils[number];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], gil->impact_ns);
    cell_set_int(&row[WAITED], gil->waited_ns);
    cell_set_real(&row[SHARE], 100.0 * (double)gil->impact_ns / (double)gil->sampled_ns);
    cell_set_int(&row[LONGEST], gil->longest_ns);
    cell_set_int(&row[START_TIME], gil->longest_start_ns);
    cell_set_int(&row[THREADS], tally_largest(&search->tally, (int64_t)number, WHO_WAITED).answers);
    cell_set_int(&row[PID], global_pid_number(gil->process));
    return set_scene(search, table, row, (int64_t)number);
}

static int gil_waits_is_found(const struct gil *gil, int64_t percent)
{
    return gil->rounds >= LEAST_ROUNDS && gil->impact_ns > 0 &&
           (double)gil->impact_ns >= (double)gil->sampled_ns * (double)percent / 100;
}

static int gil_waits_fill(void *context, struct table *table, struct error *err)
{
    struct gil_waits_search *search = context;

    if (gil_waits_put_in_order(search) != 0 || walk_rounds(search) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < search->gil_count; i++)
        if (gil_waits_is_found(&search->gils[i], search->base.percent) && gil_waits_add_row(search, table, i) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int gil_waits_read_all(void *context, struct error *err)
{
    static const char *const names[SAMPLE_COLUMNS] = { "start", "globalTid", "gil", "callchainId" };
    struct gil_waits_search *search = context;
    struct report *report = search->base.report;
    int code;

    if ((code = columns_read(report, "TACHO_PYTHON_SAMPLE", names, SAMPLE_COLUMNS, &search->samples, err)) != 0 ||
        (code = stacks_open(&search->stacks, report, err)) != 0 ||
        (code = stack_chains_read(&search->chains, &search->stacks, "TACHO_PYTHON_CALLCHAINS", STACKS_WITH_LINES,
                                  err)) != 0)
        return code;
    return thread_names_read(&search->names, report, err);
}

static int gil_contention(struct report *report, const struct analysis_request *request, struct table **out,
                          struct error *err)
{
    static const struct rule_steps steps = { gil_waits_columns,    CELLS,
                                             LEAST_PERCENT,        "the samples of Python",
                                             gil_waits_read_all,   gil_waits_fill,
                                             gil_waits_search_free };
    struct gil_waits_search search = { .base.report = report, .tally = TALLY_NONE, .scenes.width = 3 };

    return rule_run(&steps, &search.base, request, out, err);
}

/* "GIL of process 2100: 3 threads waited 1.80 s, mostly 2105 in load (a.py:9); held by MainThread (2100), which ran
 * parse (a.py:30)" */
static void gil_waits_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);
    int has_several = row[THREADS].integer > 1;
    const struct {
        int cell;
        const char *before;
    } parts[] = { { WHERE, has_several ? " in " : ", in " }, { HOLDER, "; held by " }, { HOLDER_IN, ", which ran " } };

    text_addf(out, "GIL of process %lld: %lld thread%s waited ", (long long)row[PID].integer,
              (long long)row[THREADS].integer, row[THREADS].integer == 1 ? "" : "s");
    human_time(out, row[WAITED].integer);
    if (has_several)
        text_addf(out, ", mostly %lld", (long long)row[TID].integer);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        rule_add_text(out, parts[i].before, &row[parts[i].cell]);
}

const struct analysis rule_gil_contention = {
    .name = "gil_contention",
    .title = "GIL Contention",
    .usage = RULE_OPTIONS "[:threshold=<percent>][:process=<pid>][:thread=<tid>]",
    .help =
        "Python processes whose threads wait for the global interpreter lock (GIL). Impact is the wall time in which "
        "at least one thread waited for it, from samples that see all threads at the same time. A process is a "
        "finding if that is at least threshold (10) percent of its sampled time, and it has 20 rounds of samples.",
    .needs = { { "Python samples", TABLES("TACHO_PYTHON_SAMPLE") } },
    .run = gil_contention,
    .rule = ANALYSIS_RULE(.finding = gil_waits_say,
                          .advice = "Python runs the bytecode of one thread at a time. Move the work that holds the "
                                    "GIL to other processes (multiprocessing, ProcessPoolExecutor), to code that "
                                    "releases it (NumPy, C extensions), or use a free-threaded build of Python.",
                          .praise = "Python threads hardly waited for the GIL."),
};
