/* The rule slow_calls: calls on the chain that set the wall time which have a faster form. Functions of Python
 * libraries are in slow_calls.def, OS calls in slow_waits.def, both with the change. */
#include <stdlib.h>
#include <string.h>

#include "analyze/advice/adviser.h"
#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/model/wall/wall_lines.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "rule.h"

#define LEAST_NS INT64_C(10000000)
enum { LEAST_PERCENT = 5 };

static const struct slow_wait {
    const char *calls, *what, *faster;
} slow_waits[] = {
#define SLOW_WAIT(calls, what, faster) { calls, what, faster },
#include "slow_waits.def"
};
static const struct slow_wait slow_loading = {
    "", "batches are loaded while the training waits",
    "Load them in other processes meanwhile (DataLoader(…, num_workers=4, persistent_workers=True)), or make loading "
    "cheaper."
};

/* Calls of one kind by a function of the program. What: of slow_calls, of slow_waits after them, or the loading. */
enum { KEY_WHAT, KEY_FILE, KEY_FUNCTION, KEY_COMMAND, KEY_PARTS };
enum { FIRST_WAIT = 1000, LOADING = 2000, NOTHING = -1 };
struct slow_calls_group {
    int64_t impact_ns, count, longest_ns;
    uint32_t line; /* the one with most time */
};

struct slow_calls_search {
    struct rule_search base;
    struct wall_lines lines;
    struct keys loading;             /* file and function of those that load batches in the loop of a training */
    struct keys keys;
    struct slow_calls_group *groups; /* owned; by key */
    size_t room;
};

static void slow_calls_search_free(void *context)
{
    struct slow_calls_search *search = context;

    wall_lines_free(&search->lines);
    keys_free(&search->loading);
    keys_free(&search->keys);
    free(search->groups);
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

static int64_t slow_wait_of(const char *call)
{
    struct text name = { 0 };
    int64_t found = NOTHING;

    text_addf(&name, " %s ", call);
    for (size_t i = 0; i < COUNT_OF(slow_waits) && found == NOTHING; i++)
        if (strstr(slow_waits[i].calls, text_string(&name)))
            found = FIRST_WAIT + (int64_t)i;
    text_free(&name);
    return found;
}

static int slow_calls_loads(const struct slow_calls_search *search, const struct wall_line *line)
{
    struct place place = places_get(&search->lines.places, (uint32_t)line->place);

    return place.loop != NO_PLACE || strcmp(places_string(&search->lines.places, place.act), place_loads) == 0;
}

static int slow_calls_find_loading(struct slow_calls_search *search)
{
    const struct wall_lines *lines = &search->lines;

    for (uint32_t i = 0; i < lines->keys.count; i++) {
        const struct wall_line *line = &lines->list[i];
        if (line->place < 0 || !slow_calls_loads(search, line))
            continue;
        const int64_t key[] = { places_get(&lines->places, (uint32_t)line->place).file,
                                wall_line_function(lines, line) };
        if (keys_add(&search->loading, key) == NO_KEY)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int64_t slow_calls_what(const struct slow_calls_search *search, const struct wall_line *line)
{
    const struct wall_lines *lines = &search->lines;

    if (line->state == WALL_READY || line->state == WALL_IMPORTS)
        return NOTHING;
    if (line->call >= 0)
        return slow_wait_of(report_string(lines->places.report, line->call, NULL));
    if (line->state != WALL_RUNS || line->place < 0)
        return NOTHING;
    struct place place = places_get(&lines->places, (uint32_t)line->place);
    const int64_t function[] = { place.file, wall_line_function(lines, line) };
    if (slow_calls_loads(search, line) || keys_find(&search->loading, function) != NO_KEY)
        return LOADING;
    return place.slow == NO_SLOW_CALL ? NOTHING : place.slow;
}

/* Loading is one thing, whatever functions it is made of. */
static int slow_calls_add_line(struct slow_calls_search *search, uint32_t number)
{
    const struct wall_lines *lines = &search->lines;
    const struct wall_line *line = &lines->list[number];
    int64_t key[KEY_PARTS] = { slow_calls_what(search, line), -1, -1,
                               process_name_find(&lines->commands, line->process) };

    if (key[KEY_WHAT] == NOTHING || line->place < 0)
        return 0;
    if (key[KEY_WHAT] != LOADING) {
        key[KEY_FILE] = places_get(&lines->places, (uint32_t)line->place).file;
        key[KEY_FUNCTION] = wall_line_function(lines, line);
    }
    uint32_t at = keys_add(&search->keys, key);
    if (at == NO_KEY || array_reserve_zeroed(&search->groups, &search->room, at + 1u, sizeof *search->groups) != 0)
        return ERR_NO_MEMORY;
    struct slow_calls_group *group = &search->groups[at];
    if (line->total_ns > group->longest_ns || !group->impact_ns) {
        group->longest_ns = line->total_ns;
        group->line = number;
    }
    group->impact_ns = saturating_add(group->impact_ns, line->total_ns);
    group->count += line->state == WALL_RUNS ? 0 : line->count;
    return 0;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

enum { IMPACT, SHARE, CALLS, START, WHAT, WHERE, CALL, PID, PROGRAM, CELLS };
static const struct table_column slow_calls_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },     { "Share", CELL_REAL, UNIT_PERCENT, 1 },
    { "Calls", CELL_INT, UNIT_NONE, 0 },    { "Start", CELL_INT, UNIT_TIME, 0 },
    { "What", CELL_TEXT, UNIT_NONE, 0 },    { "Where", CELL_TEXT, UNIT_NONE, 0 },
    { "Call", CELL_TEXT, UNIT_NONE, 0 },    { "PID", CELL_INT, UNIT_ID, 0 },
    { "Program", CELL_TEXT, UNIT_NONE, 0 },
};

static const char *slow_calls_words(int64_t what)
{
    return what == LOADING      ? slow_loading.what
           : what >= FIRST_WAIT ? slow_waits[what - FIRST_WAIT].what
                                : slow_calls[what].what;
}

static int slow_calls_add_row(const struct slow_calls_search *search, struct table *table, uint32_t at)
{
    const struct slow_calls_group *group = &search->groups[at];
    const struct wall_line *line = &search->lines.list[group->line];
    struct table_cell *row = table_add_row(table);

    if (!row || cell_set_string(table, &row[WHAT], slow_calls_words(keys_get(&search->keys, at)[KEY_WHAT])) != 0)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], group->impact_ns);
    cell_set_real(&row[SHARE], 100.0 * (double)group->impact_ns / (double)search->lines.whole_ns);
    cell_set_int(&row[CALLS], group->count);
    cell_set_int(&row[START], line->longest_from_ns);
    cell_set_int(&row[PID], global_pid_number(line->process));
    return wall_line_set(table, (struct wall_line_cells){ &row[WHERE], &row[CALL], &row[PROGRAM] }, &search->lines,
                         line);
}

static int slow_calls_fill(void *context, struct table *table, struct error *err)
{
    struct slow_calls_search *search = context;

    if (slow_calls_find_loading(search) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < search->lines.keys.count; i++)
        if (slow_calls_add_line(search, i) != 0)
            return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < search->keys.count; i++)
        if (search->groups[i].impact_ns >= LEAST_NS && rule_is_enough(&search->base, search->groups[i].impact_ns) &&
            slow_calls_add_row(search, table, i) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* What GPUs wait for is another question, which the rules on the replay answer. */
static int slow_calls_read(void *context, struct error *err)
{
    struct slow_calls_search *search = context;

    if (advice_has_gpu_work(search->base.report))
        return 0;
    int code = wall_lines_read(&search->lines, search->base.report, &search->base.filter, err);
    return code == ERR_NO_DATA ? 0 : code;
}

static int run_slow_calls(struct report *report, const struct analysis_request *request, struct table **out,
                          struct error *err)
{
    static const struct rule_steps steps = { slow_calls_columns, CELLS,           LEAST_PERCENT,         "the calls",
                                             slow_calls_read,    slow_calls_fill, slow_calls_search_free };
    struct slow_calls_search search = { .base.report = report, .loading.width = 2, .keys.width = KEY_PARTS };

    return rule_run(&steps, &search.base, request, out, err);
}

/* "each change waits until the disk has it: fdatasync, 1,604 times, 13.2 % of the wall time" */
static void slow_calls_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    rule_add_text(out, "", &row[WHAT]);
    rule_add_text(out, ": ", &row[CALL]);
    if (row[CALLS].integer > 1) {
        text_add(out, ", ");
        human_count(out, (uint64_t)row[CALLS].integer);
        text_add(out, " times");
    }
    text_addf(out, ", %.1f %% of the wall time", row[SHARE].real);
}

static int slow_calls_is(const struct table_cell *cell, const char *what)
{
    return cell->text.length == strlen(what) && memcmp(cell->text.bytes, what, cell->text.length) == 0;
}

static const char *slow_calls_advise(const struct table *table, size_t row)
{
    const struct table_cell *what = &table_row(table, row)[WHAT];

    for (size_t i = 0; i < COUNT_OF(slow_waits); i++)
        if (slow_calls_is(what, slow_waits[i].what))
            return slow_waits[i].faster;
    for (size_t i = 0; i < slow_call_count; i++)
        if (slow_calls_is(what, slow_calls[i].what))
            return slow_calls[i].faster;
    return slow_loading.faster;
}

const struct analysis rule_slow_calls = {
    .name = "slow_calls",
    .title = "Calls with a Faster Form",
    .usage = RULE_OPTIONS "[:threshold=<percent>]",
    .help = "Calls that a program need not make, or not in this form: functions of Python libraries that are known to "
            "have a faster one (row-wise pandas, regular expressions that are compiled in loops, deep copies, text "
            "formats), batches that are loaded while a training on CPUs waits, and waits for the disk, for sleep, for "
            "names of hosts, for connections and for locks of files. Impact is their time on the chain of threads and "
            "processes that set the wall time (wall_sum), so it is the most that a change can save. A function of the "
            "program with at least threshold (5) percent of the capture's time in one of them is a finding. Programs "
            "that use a GPU have none.",
    .needs = { { "lifetimes of threads", TABLES("TACHO_THREAD") },
               { "OS calls, context switches or samples",
                 TABLES("OSRT_API", "SCHED_EVENTS", "TACHO_PYTHON_SAMPLE", "COMPOSITE_EVENTS") } },
    .run = run_slow_calls,
    .rule = ANALYSIS_RULE(.finding = slow_calls_say, .advise = slow_calls_advise, .scope = RULE_OF_RUN, .is_each = 1,
                          .advice = "Use the faster form.",
                          .praise = "No call that is known to have a faster form took a relevant share of the time."),
};
