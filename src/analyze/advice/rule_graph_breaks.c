/* The rule graph_breaks: lines at which torch.compile ends a graph, because it cannot compile the code there. The
 * parts of the function are then launched by themselves, with Python between them, and nothing is fused across the
 * line. The cost depends on the code around it: there is no figure. Breaks are recorded when a function is
 * compiled, mostly before the loop. Without events of Python, the names of functions on Python's stacks say where
 * graphs broke: Dynamo makes a function of what follows a break, and names it after function and line. */
#include <stdlib.h>
#include <string.h>

#include "advice_groups.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/path.h"

static const char *const graph_breaks_event_tables[] = { "TACHO_PYTHON_EVENT", "TACHO_PYTHON_SAMPLE", NULL };
static const char break_kind[] = "graph break";
enum { MOST_BREAKS = 4 }; /* lines that are reported */
static const char resume_mark[] = "torch_dynamo_resume_in_", line_mark[] = "_at_";

struct graph_break {
    int64_t count;
    int64_t symbol, reason, thread, time_ns; /* of the first */
    int64_t chain; /* a stack that shows it, if no event does; then neither count nor reason is known */
};

struct graph_breaks {
    struct keys lines;        /* file, line */
    struct graph_break *list; /* owned; by line */
    size_t room;
};

static int read_breaks(struct graph_breaks *breaks, struct report *report, struct error *err)
{
    enum { START, THREAD, KIND, SYMBOL, MODULE, LINE, REASON };
    static const char *const names[] = { "start", "globalTid", "kind", "symbol", "module", "line", "reasonId", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, graph_breaks_event_tables[0], names, err);

    if (code != 0)
        return code;
    while (code == 0 && row_cursor_next(&rows)) {
        if (strcmp(report_string(report, row_int(&rows, KIND), NULL), break_kind) != 0)
            continue;
        code = array_reserve_zeroed(&breaks->list, &breaks->room, breaks->lines.count + 1, sizeof *breaks->list);
        uint32_t line = code == 0 ? keys_add(&breaks->lines,
                                             (int64_t[]){ row_int_or(&rows, MODULE, 0), row_int_or(&rows, LINE, 0) })
                                  : NO_KEY;
        if (line == NO_KEY) {
            code = error_short_memory(err, "for the graph breaks");
        } else if (!breaks->list[line].count++) {
            breaks->list[line].symbol = row_int_or(&rows, SYMBOL, 0);
            breaks->list[line].reason = row_int_or(&rows, REASON, 0);
            breaks->list[line].thread = row_int(&rows, THREAD);
            breaks->list[line].time_ns = row_int(&rows, START);
        }
    }
    row_cursor_close(&rows);
    return code;
}

/* The function and the line of a break, out of "Net.torch_dynamo_resume_in_forward_at_43". 0: it is no such name. */
static int64_t resumed_line(const char *name, const char **function, size_t *length)
{
    const char *mark = strstr(name, resume_mark), *at = NULL;
    int64_t line = 0;

    if (!mark)
        return 0;
    *function = mark + sizeof resume_mark - 1;
    for (const char *next = *function; (next = strstr(next, line_mark)); next += sizeof line_mark - 1)
        at = next;
    if (!at || at == *function)
        return 0;
    for (const char *digit = at + sizeof line_mark - 1; *digit; digit++) {
        if (*digit < '0' || *digit > '9' || line > INT32_MAX)
            return 0;
        line = 10 * line + (*digit - '0');
    }
    *length = (size_t)(at - *function);
    return line;
}

/* Breaks that the stacks show. A name is looked at once. */
static int read_resumed(struct graph_breaks *breaks, struct report *report, struct error *err)
{
    enum { ID, SYMBOL, MODULE };
    static const char *const names[] = { "id", "symbol", "module", NULL };
    struct keys symbols = { .width = 1 };
    struct row_cursor rows;
    const char *function;
    size_t length;
    int code = row_cursor_open(&rows, report, "TACHO_PYTHON_CALLCHAINS", names, err);

    if (code != 0)
        return code;
    while (code == 0 && row_cursor_next(&rows)) {
        int64_t symbol = row_int(&rows, SYMBOL);
        size_t before = symbols.count;
        uint32_t number = keys_add(&symbols, &symbol), line;
        int64_t at = number != NO_KEY && number == before
                         ? resumed_line(report_string(report, symbol, NULL), &function, &length)
                         : 0;
        if (number == NO_KEY)
            code = error_short_memory(err, "for the graph breaks");
        if (!at || code != 0)
            continue;
        if (array_reserve_zeroed(&breaks->list, &breaks->room, breaks->lines.count + 1, sizeof *breaks->list) != 0 ||
            (line = keys_add(&breaks->lines, (int64_t[]){ row_int(&rows, MODULE), at })) == NO_KEY)
            code = error_short_memory(err, "for the graph breaks");
        else if (!breaks->list[line].chain)
            breaks->list[line] = (struct graph_break){ .symbol = symbol, .chain = row_int(&rows, ID) };
    }
    row_cursor_close(&rows);
    keys_free(&symbols);
    return code;
}

/* Where to look on the timeline: the first sample with such a stack. */
static int find_samples(struct graph_breaks *breaks, struct report *report, struct error *err)
{
    enum { START, THREAD, CHAIN };
    static const char *const names[] = { "start", "globalTid", "callchainId", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_PYTHON_SAMPLE", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        for (uint32_t line = 0; line < breaks->lines.count && line < MOST_BREAKS; line++)
            if (breaks->list[line].chain == row_int(&rows, CHAIN) && !breaks->list[line].thread) {
                breaks->list[line].thread = row_int(&rows, THREAD);
                breaks->list[line].time_ns = row_int(&rows, START);
            }
    row_cursor_close(&rows);
    return 0;
}

/* "graph break: call of print() (3 times)", at "train.py:43 forward" */
static int add_break(struct adviser *adviser, const struct graph_breaks *breaks, uint32_t line, struct error *err)
{
    const struct graph_break *own = &breaks->list[line];
    const int64_t *key = keys_get(&breaks->lines, line);
    const char *reason = own->reason ? report_string(adviser->report, own->reason, NULL) : "",
               *symbol = own->symbol ? report_string(adviser->report, own->symbol, NULL) : "",
               *module = key[0] ? report_string(adviser->report, key[0], NULL) : "";
    struct advice_cause cause = {
        .confidence = ADVICE_TRY, .count = own->count, .start_ns = own->time_ns, .thread = own->thread
    };

    text_addf(&cause.what, "graph break%s%.*s", *reason ? ": " : "", (int)strcspn(reason, "\n"), reason);
    if (own->count > 1)
        text_addf(&cause.what, " (%lld times)", (long long)own->count);
    size_t symbol_length = strlen(symbol);
    if (own->chain)
        resumed_line(symbol, &symbol, &symbol_length);
    if (*module)
        text_addf(&cause.where, "%s:%lld %.*s", module + path_folder_length(module), (long long)key[1],
                  (int)symbol_length, symbol);
    cause.advice =
        own->chain
            ? "torch.compile compiles what is before and behind this line by itself; "
              "--python-events=true says why. Move it out of the compiled function, or guard it with "
              "torch.compiler.is_compiling(); fullgraph=True makes breaks errors."
            : "torch.compile compiles what is before and behind this line by itself. Move it out of the compiled "
              "function, or guard it with torch.compiler.is_compiling(); fullgraph=True makes breaks errors.";
    return adviser_add(adviser, &cause, err);
}

static int find_graph_breaks(struct adviser *adviser, struct error *err)
{
    struct graph_breaks breaks = { .lines.width = 2 };
    int code = read_breaks(&breaks, adviser->report, err);

    if (code == 0 && !breaks.lines.count && (code = read_resumed(&breaks, adviser->report, err)) == 0 &&
        breaks.lines.count)
        code = find_samples(&breaks, adviser->report, err);
    for (uint32_t line = 0; code == 0 && line < breaks.lines.count && line < MOST_BREAKS; line++)
        code = add_break(adviser, &breaks, line, err);
    keys_free(&breaks.lines);
    free(breaks.list);
    return code;
}

const struct analysis rule_graph_breaks = {
    .name = "graph_breaks",
    .title = "Graph Breaks",
    .help = "Lines at which torch.compile ends a graph, with its reason: the first four. What follows is compiled by "
            "itself. There is no figure. Without --advise or --python-events=true they are those that Python samples "
            "have seen, without the reason.",
    .needs = { { "CUDA trace data", advice_call_tables },
               { "GPU trace data", advice_work_tables },
               { "events of Python", graph_breaks_event_tables } },
    ADVICE_RULE(graph_breaks, .is_of_torch = 1, .advice = "Move what torch.compile cannot compile out of the function.",
                .praise = "torch.compile compiles functions as a whole, or none was compiled."),
};
