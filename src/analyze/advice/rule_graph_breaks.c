/* The rule graph_breaks: lines at which torch.compile ends a graph, because it cannot compile the code there. The
 * parts of the function are then launched by themselves, with Python between them, and nothing is fused across the
 * line. The cost depends on the code around it: there is no figure. Breaks are recorded when a function is
 * compiled, mostly before the loop. */
#include <stdlib.h>
#include <string.h>

#include "advice_groups.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/path.h"

static const char *const graph_breaks_event_tables[] = { "TACHO_PYTHON_EVENT", NULL };
static const char break_kind[] = "graph break";
enum { MOST_BREAKS = 4 }; /* lines that are reported */

struct graph_break {
    int64_t count;
    int64_t symbol, reason, thread, time_ns; /* of the first */
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
    if (*module)
        text_addf(&cause.where, "%s:%lld %s", module + path_folder_length(module), (long long)key[1], symbol);
    cause.advice = "torch.compile compiles what is before and behind this line by itself. Move it out of the compiled "
                   "function, or guard it with torch.compiler.is_compiling(); fullgraph=True makes breaks errors.";
    return adviser_add(adviser, &cause, err);
}

static int find_graph_breaks(struct adviser *adviser, struct error *err)
{
    struct graph_breaks breaks = { .lines.width = 2 };
    int code = read_breaks(&breaks, adviser->report, err);

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
            "itself. There is no figure. Needs --advise or --python-events=true.",
    .needs = { { "CUDA trace data", advice_call_tables },
               { "GPU trace data", advice_work_tables },
               { "events of Python", graph_breaks_event_tables } },
    ADVICE_RULE(graph_breaks, .advice = "Move what torch.compile cannot compile out of the function.",
                .praise = "torch.compile compiles functions as a whole, or none was compiled."),
};
