/* The rows of wall_sum as lines, in words: see summary_wall.h. */
#include "summary_wall.h"

#include <string.h>

#include "analyze/engine/analysis.h"
#include "analyze/registry.h"
#include "analyze/summary/run_figures.h"
#include "base/human.h"
#include "cmd/print/display.h"

enum { MOST_ROWS = 2000000 }; /* of events: nobody waits for more at the end of a program */
#define LEAST_SHARE 2             /* percent of the wall time: less is not worth a line */
static const char ready[] = "no CPU";

/* What a line of code does, by state, and what is around the call. */
static const struct wall_words {
    const char *state, *words, *before, *after;
} wall_words[] = {
    { "computing", "", ": ", "" },
    { "sleeping", " sleeps", " (", ")" },
    { "I/O", " waits for I/O", " (", ")" },
    { "events", " waits for others", " (", ")" },
    { "lock", " waits for a lock", " (", ")" },
    { "waiting", " waits", " (", ")" },
};

static int is_ready(const struct table *wall, size_t row)
{
    return strcmp(table_text_at(wall, row, "State"), ready) == 0;
}

/* That a program without known lines computed, or had no CPU, says nothing. */
static int says_something(const struct table *wall)
{
    for (size_t row = 0; row < table_row_count(wall); row++)
        if (!is_ready(wall, row) &&
            (*table_text_at(wall, row, "Where") != '[' ||
             strcmp(table_text_at(wall, row, "State"), wall_words->state) != 0 ||
             strcmp(table_text_at(wall, row, "Process"), table_text_at(wall, 0, "Process")) != 0))
            return 1;
    return 0;
}

struct table *summary_read_wall(struct report *report)
{
    static const char *const tables[] = { "OSRT_API", "SCHED_EVENTS", "TACHO_PYTHON_SAMPLE", "COMPOSITE_EVENTS" };
    struct table *table;
    uint64_t rows = 0;
    struct error err;

    for (size_t i = 0; i < COUNT_OF(tables); i++)
        rows += report_rows(report, tables[i]);
    if (rows > MOST_ROWS || run_table_read(&table, report, RUN_TABLE_WALL, NULL, &err) != 0 || !table)
        return NULL;
    if (table_row_count(table) && says_something(table))
        return table;
    table_delete(table);
    return NULL;
}

static double share_of(const struct table *wall, size_t row)
{
    return table_number_at(wall, row, "Time");
}

/* "    401 ms  " */
static void add_time(struct text *out, int64_t time_ns)
{
    enum { TIME_COLUMNS = 12 };
    struct text time = { 0 };

    human_time(&time, time_ns);
    size_t columns = display_columns(text_string(&time), time.length);
    text_add_repeat(out, ' ', columns < TIME_COLUMNS ? TIME_COLUMNS - columns : 1);
    text_addf(out, "%s  ", text_string(&time));
    text_free(&time);
}

/* "     26.4 %     401 ms  " */
static void add_figures(struct text *out, double share, int64_t time_ns)
{
    enum { SHARE_COLUMNS = 9 };

    text_addf(out, "%*.1f %%", SHARE_COLUMNS, share);
    add_time(out, time_ns);
}

/* "slow.py:6 slow_join: dumps", "slow.py:14 main sleeps (clock_nanosleep)", "Python imports, most of them by t.py:1" */
static void add_doing(struct text *out, const struct table *wall, size_t row)
{
    enum { WIDEST = 70, WIDEST_CALL = 40 };
    const char *where = table_text_at(wall, row, "Where"), *call = table_text_at(wall, row, "Call"),
               *state = table_text_at(wall, row, "State"), *process = table_text_at(wall, row, "Process");
    int is_import = strcmp(state, "importing") == 0;

    text_add(out, is_import ? "Python imports, most of them by " : "");
    display_add(out, *where ? where : process, strlen(*where ? where : process), WIDEST);
    for (size_t i = 0; i < COUNT_OF(wall_words) && !is_import; i++)
        if (strcmp(wall_words[i].state, state) == 0) {
            text_add(out, wall_words[i].words);
            text_add(out, *call ? wall_words[i].before : "");
            display_add(out, call, strlen(call), WIDEST_CALL);
            text_add(out, *call ? wall_words[i].after : "");
        }
    text_add_char(out, '\n');
}

void summary_add_wall(struct text *out, const struct summary *summary)
{
    enum { MOST_SHOWN = 4 };
    const struct table *wall = summary->wall;
    double without_cpu = 0;
    int64_t without_cpu_ns = 0;
    size_t shown = 0;

    if (!wall)
        return;
    text_addf(out, "  %swhere the wall time went%s\n", summary_bold(summary->request), summary_plain(summary->request));
    for (size_t row = 0; row < table_row_count(wall); row++) {
        int64_t time_ns = (int64_t)table_number_at(wall, row, "Wall Time");
        if (is_ready(wall, row)) {
            without_cpu += share_of(wall, row);
            without_cpu_ns += time_ns;
        } else if (shown < MOST_SHOWN && (share_of(wall, row) >= LEAST_SHARE || !shown)) {
            shown++;
            add_figures(out, share_of(wall, row), time_ns);
            add_doing(out, wall, row);
        }
    }
    if (without_cpu < LEAST_SHARE)
        return;
    add_figures(out, without_cpu, without_cpu_ns);
    text_add(out, "ready to run, but without a CPU\n");
}

/* ---- changes ---------------------------------------------------------------------------------------------------- */

static int is_change(const struct summary *summary, size_t row)
{
    return *table_text_at(summary->causes, row, "Where") != 0;
}

/* "   1    127 ms  regular expressions are compiled: _compile, 20.8 % of the wall time", and the change. */
static void add_change(struct text *out, const struct table *causes, size_t row, size_t number)
{
    enum { WIDEST = 100 };
    const char *what = table_text_at(causes, row, "Finding"), *where = table_text_at(causes, row, "Where");

    text_addf(out, "   %zu ", number);
    add_time(out, (int64_t)table_number_at(causes, row, "Impact"));
    display_add(out, what, strlen(what), WIDEST);
    text_add(out, "\n     ");
    display_add(out, where, strlen(where), WIDEST);
    text_addf(out, ": %s\n", table_text_at(causes, row, "Advice"));
}

void summary_add_changes(struct text *out, const struct summary *summary)
{
    enum { MOST_SHOWN = 3 };
    size_t rows = summary->wall && summary->causes ? table_row_count(summary->causes) : 0, shown = 0;

    for (size_t row = 0; row < rows && shown < MOST_SHOWN; row++) {
        if (!is_change(summary, row))
            continue;
        if (!shown)
            text_addf(out, "  %swhat to change first%s; each saves its time at most\n", summary_bold(summary->request),
                      summary_plain(summary->request));
        add_change(out, summary->causes, row, ++shown);
    }
}

int summary_wall_has_cause(const struct summary *summary, size_t row)
{
    static const char *const said[] = { "cpu_oversubscription", "slow_start", "blocked_io" };
    const char *rule = table_text_at(summary->causes, row, "Rule");

    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (summary->wall && strcmp(rule, said[i]) == 0)
            return 1;
    return summary->wall && is_change(summary, row);
}
