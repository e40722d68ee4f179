/* The summary that `tacho profile` prints when the capture is over: the most important findings, in a few lines. */
#include "summary.h"

#include <string.h>

#include "analyze/engine/analysis.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "base/number.h"
#include "cmd/command.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"

/* If it was not the program that ended the capture. */
static void add_why_over(struct text *out, const struct collect_result *result)
{
    static const char *const whys[] = {
        [COLLECT_OVER_PROGRAM] = "",
        [COLLECT_OVER_DURATION] = " (--duration)",
        [COLLECT_OVER_RANGE] = ", with the end of the capture range",
    };

    if (result->ending != COLLECT_RUNNING && (!result->kill_sent || result->over == COLLECT_OVER_PROGRAM))
        return;
    if (result->ending != COLLECT_RUNNING) {
        text_add(out, ": the capture was over");
        if (result->captured_ns > 0) {
            text_add(out, " after ");
            human_time(out, result->captured_ns);
        }
    }
    text_add(out, whys[result->over]);
}

/* "1 process runs on: sleep (pid 7)" */
static void add_left(struct text *out, const struct collect_result *result)
{
    if (result->left_count == 0)
        return;
    text_addf(out, "  %zu process%s:", result->left_count, result->left_count == 1 ? " runs on" : "es run on");
    for (size_t i = 0; i < result->left_count && i < COLLECT_LEFT_MAX; i++) {
        const struct collect_left *left = &result->left[i];
        text_add(out, i ? ", " : " ");
        display_add(out, left->name, strlen(left->name), 0);
        text_addf(out, " (pid %d)", left->pid);
    }
    text_add(out, result->left_count > COLLECT_LEFT_MAX ? ", …\n" : "\n");
}

static void add_ending(struct text *out, const struct summary_request *request)
{
    const struct collect_result *result = request->result;

    text_addf(out, "tacho: %s", summary_bold(request));
    display_add(out, request->program, strlen(request->program), 40);
    text_add(out, summary_plain(request));
    if (result->ending == COLLECT_RUNNING && result->kill_sent)
        text_addf(out, " runs on in spite of %s (--kill); the capture ended", collect_signal_name(result->kill_sent));
    else if (result->ending == COLLECT_RUNNING)
        text_add(out, " runs on; the capture ended");
    else if (result->kill_sent)
        text_addf(out, " was ended by tacho with %s (--kill)", collect_signal_name(result->kill_sent));
    else if (result->ending == COLLECT_SIGNALLED)
        text_addf(out, " was ended by signal %d (%s)", result->signal, strsignal(result->signal));
    else
        text_addf(out, " ended with status %d", result->exit_status);
    text_add(out, " after ");
    human_time(out, result->wall_ns);
    add_why_over(out, result);
    text_add(out, "; CPU time ");
    human_time(out, result->cpu_ns);
    text_addf(out, "; %llu program%s, %llu thread%s\n", (unsigned long long)result->process_count,
              result->process_count == 1 ? "" : "s", (unsigned long long)result->thread_count,
              result->thread_count == 1 ? "" : "s");
}

static uint64_t lost_of(const struct collect_counts *counts)
{
    static const struct {
        const char *fate;
    } fates[] = {
#define FATE_ROW(name, fate, cause) { fate },
        WIRE_FATES(FATE_ROW)
#undef FATE_ROW
    };
    uint64_t lost = counts->lost_damaged;

    for (int i = 0; i < WIRE_FATE_COUNT; i++)
        if (strcmp(fates[i].fate, "lost") == 0)
            lost += counts->fates[i];
    return lost;
}

/* The source whose events are counted under this number; NULL: none. */
static const struct cmd_source *source_of(int number)
{
    for (const struct cmd_source *const *source = cmd_sources; *source; source++)
        if ((*source)->events & 1u << number)
            return *source;
    return NULL;
}

static int is_expected(const struct summary_request *request, const struct cmd_source *source)
{
    return source && request->expected & cmd_source_bit(source);
}

static struct summary_count count_of(const struct cmd_source *source, const struct collect_result *result)
{
    return source->summary && source->summary->count ? source->summary->count(result) : (struct summary_count){ 0 };
}

/* What agents and the collector counted together, by kind; returns how many were lost. */
static uint64_t add_counted(struct text *out, const struct summary_request *request, const char **before)
{
    const struct collect_result *result = request->result;
    uint64_t lost = 0;

    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const struct collect_counts *counts = &result->counts[i];
        const struct cmd_source *source = source_of(i);
        if (!is_expected(request, source) && !counts->recorded && !lost_of(counts))
            continue;
        text_addf(out, "%s %s ", *before, wire_source_name(i));
        *before = ";";
        human_count(out, counts->recorded);
        if (source && source->summary && source->summary->add_event_note)
            source->summary->add_event_note(out, result);
        if (counts->fates[WIRE_BELOW_THRESHOLD] || counts->fates[WIRE_UNTIMED]) {
            text_add(out, " (+ ");
            human_count(out, counts->fates[WIRE_BELOW_THRESHOLD] + counts->fates[WIRE_UNTIMED]);
            text_add(out, " short or uncontended, counted only)");
        }
        lost += lost_of(counts);
    }
    return lost;
}

static void add_events(struct text *out, const struct summary_request *request)
{
    const struct collect_result *result = request->result;
    const char *before = "";

    text_add(out, "  events:");
    uint64_t lost = result->lost_disk + add_counted(out, request, &before);
    for (const struct cmd_source *const *source = cmd_sources; *source; source++) {
        struct summary_count count = count_of(*source, result);
        lost += count.lost;
        if (!count.name || (!is_expected(request, *source) && !count.count && !count.lost))
            continue;
        text_addf(out, "%s %s ", before, count.name);
        before = ";";
        human_count(out, count.count);
    }
    text_add(out, lost ? "; LOST " : *before ? "; none lost\n" : " none were asked for\n");
    if (lost) {
        human_count(out, lost);
        text_add(out, ": tacho info says why\n");
    }
    if (result->unrecorded) {
        text_add(out, "  NOT RECORDED: ");
        human_count(out, result->unrecorded);
        text_add(out,
                 result->unrecorded == 1 ? " process; tacho info says why\n" : " processes; tacho info says why\n");
    }
}

static void add_cost(struct text *out, const struct collect_result *result)
{
    text_add(out, "  ");
    if (result->cost_ns > 0) {
        text_add(out, "profiling cost about ");
        human_time(out, result->cost_ns);
        text_add(out, " of CPU time");
    }
    if (result->cost_ns > 0 && result->cpu_ns > 0) {
        text_add(out, " (");
        number_add_fixed(out, 100.0 * (double)result->cost_ns / (double)result->cpu_ns, 1, 0);
        text_add(out, " %)");
    }
    if (result->start_cost_ns > result->cost_ns / 2) {
        text_add(out, ", most of it for the start of ");
        human_count(out, result->process_count);
        text_add(out, result->process_count == 1 ? " program" : " programs");
    }
    int has_begun = result->cost_ns > 0;
    for (const struct cmd_source *const *source = cmd_sources; *source; source++) {
        struct summary_count count = count_of(*source, result);
        if (!count.work || !count.count || result->captured_ns <= 0)
            continue;
        text_addf(out, "%s%s took ", has_begun ? "; beside it, " : "", count.work);
        number_add_fixed(out, 100.0 * (double)count.work_ns / (double)result->captured_ns, 1, 0);
        text_add(out, " % of a CPU");
        has_begun = 1;
    }
    text_add(out, has_begun ? "; the report was ready " : "the report was ready ");
    human_time(out, result->finish_ns);
    text_add(out, result->ending == COLLECT_RUNNING ? " after the capture\n" : " after the program\n");
}

static void add_warnings(struct text *out, const struct collect_result *result, size_t shown)
{
    for (size_t i = 0; i < shown; i++) {
        text_add(out, "  note: ");
        display_add(out, result->warnings[i], strlen(result->warnings[i]), 0);
        text_add_char(out, '\n');
    }
    if (result->warning_count > shown)
        text_addf(out, "  note: %zu more are in the report: tacho info\n", result->warning_count - shown);
}

/* NULL: there is nothing in it. */
static struct table *load_table(struct report *report, const char *analysis)
{
    struct analysis_request request = { 0 };
    struct table *table = NULL;
    struct error err;

    if (!report || analysis_run(analysis_find(analysis), report, &request, &table, &err) != 0)
        return NULL;
    if (table_row_count(table))
        return table;
    table_delete(table);
    return NULL;
}

/* The functions in which most samples were taken, without what they called. */
static void add_functions(struct text *out, const struct table *table, const char *heading)
{
    enum { SELF = 0, FUNCTION = 4, NAMED = 3 };
    size_t count = table_row_count(table);

    text_addf(out, "  %s:", heading);
    for (size_t i = 0; i < NAMED && i < count; i++) {
        const struct table_cell *row = table_row(table, i);
        text_add(out, i ? ", " : " ");
        display_add(out, row[FUNCTION].text.bytes, row[FUNCTION].text.length, 40);
        text_add_char(out, ' ');
        number_add_fixed(out, row[SELF].real, 1, 0);
        text_add(out, " %");
    }
    text_add(out, count > NAMED ? ", …\n" : "\n");
}

static void add_path(struct text *out, const char *path)
{
    display_add(out, path, strlen(path), 0);
}

/* The report and what was written beside it, and the command to type next. */
static void add_report(struct text *out, const struct summary_request *request, const char *next, const char *also)
{
    const struct collect_result *result = request->result;

    text_add(out, "  report: ");
    add_path(out, request->report_path);
    text_add(out, " (");
    human_bytes(out, result->report_bytes);
    text_add(out, result->report_error ? "; NOT COMPLETE: " : "");
    text_add(out, result->report_error ? error_name(result->report_error) : "");
    text_add(out, ")");
    for (size_t i = 0; i < request->export_count; i++) {
        text_add(out, ", ");
        add_path(out, request->exports[i]);
    }
    if (request->output_hidden)
        text_add(out, "; the program's output is in it: tacho info --output");
    text_addf(out, "\n  next:   %s", summary_bold(request));
    display_add_quoted(out, command_name());
    text_addf(out, " %s ", next);
    display_add_quoted(out, request->report_path);
    text_addf(out, "%s%s\n", summary_plain(request), also);
}

static int is_nothing_recorded(const struct collect_result *result)
{
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++)
        if (result->counts[i].recorded)
            return 0;
    for (const struct cmd_source *const *source = cmd_sources; *source; source++) {
        struct summary_count count = count_of(*source, result);
        if (count.is_analyzed && count.count)
            return 0;
    }
    return 1;
}

static void read_report(struct summary *summary)
{
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        const struct source_summary *source = cmd_sources[i]->summary;
        if (source && source->analysis)
            summary->tables[i] = load_table(summary->request->report, source->analysis);
    }
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        const struct source_summary *source = cmd_sources[i]->summary;
        if (source && source->find && summary->request->report)
            summary->findings[i] = source->find(summary);
    }
}

static void free_summary(struct summary *summary)
{
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        table_delete(summary->tables[i]);
        if (summary->findings[i])
            cmd_sources[i]->summary->free(summary->findings[i]);
    }
}

/* The functions of the first source that has samples: the caller's to delete; NULL: there are none. */
static struct table *load_functions(struct report *report, const char **heading)
{
    enum { MOST_COUNTED = 1000000 }; /* nobody waits for more */
    struct table *functions = NULL;

    for (size_t i = 0; report && !functions && i < CMD_SOURCE_COUNT; i++) {
        const struct source_summary *source = cmd_sources[i]->summary;
        const struct report_table *samples = source && source->samples ? report_table(report, source->samples) : NULL;
        if (samples && samples->rows && samples->rows <= MOST_COUNTED) {
            functions = load_table(report, source->functions);
            *heading = source->functions_heading;
        }
    }
    return functions;
}

/* No source leads: the tops of all tables share the lines. */
static void add_shared(struct text *out, const struct summary *summary)
{
    const char *heading = NULL;
    struct table *functions = load_functions(summary->request->report, &heading);
    size_t tables = 0, others = functions != NULL; /* a heading each, lines about tables, functions */

    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        const struct source_summary *source = cmd_sources[i]->summary;
        tables += source && source->analysis;
        others += source && source->analysis ? 1 + (source->add_line != NULL) : 0;
    }
    size_t rows = summary->lines_left > others ? (summary->lines_left - others) / tables : 0;
    for (size_t i = 0; i < CMD_SOURCE_COUNT && rows; i++)
        if (summary->tables[i])
            summary_add_top(out, summary, summary->tables[i], cmd_sources[i]->summary->heading, rows);
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (summary->tables[i] && cmd_sources[i]->summary->add_line)
            cmd_sources[i]->summary->add_line(out, summary->tables[i]);
    if (functions)
        add_functions(out, functions, heading);
    table_delete(functions);
}

static void add_notes(struct text *out, const struct summary *summary)
{
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (cmd_sources[i]->summary && cmd_sources[i]->summary->add_notes)
            cmd_sources[i]->summary->add_notes(out, summary->request->result, summary->findings[i]);
}

/* The part that a source arranges, if one has a finding. */
static void add_body(struct text *out, struct summary *summary)
{
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (summary->findings[i]) {
            cmd_sources[i]->summary->lead(out, summary, summary->findings[i]);
            return;
        }
    add_shared(out, summary);
}

static void add_end(struct text *out, const struct summary *summary)
{
    const struct summary_request *request = summary->request;

    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (summary->findings[i] && cmd_sources[i]->summary->next) {
            add_report(out, request, cmd_sources[i]->summary->next, cmd_sources[i]->summary->next_also);
            return;
        }
    if (is_nothing_recorded(request->result))
        add_report(out, request, "info", "");
    else
        add_report(out, request, "stats", ", or view for the timeline");
}

static size_t count_lines(const struct text *text)
{
    size_t lines = 0;

    for (size_t i = 0; i < text->length; i++)
        lines += text->bytes[i] == '\n';
    return lines;
}

void summary_add(struct text *out, const struct summary_request *request)
{
    const struct collect_result *result = request->result;
    enum { LAST_LINES = 4, ROOM = SUMMARY_LINES - LAST_LINES, MOST_WARNINGS = 2 }; /* events, cost, report, next */
    struct summary summary = { .request = request };
    struct text first = { 0 };

    read_report(&summary);
    add_ending(&first, request);
    add_left(&first, result);
    add_warnings(&first, result, result->warning_count < MOST_WARNINGS ? result->warning_count : MOST_WARNINGS);
    add_notes(&first, &summary);
    text_add(out, text_string(&first));
    size_t taken = count_lines(&first);
    summary.lines_left = taken < ROOM ? ROOM - taken : 0;
    text_free(&first);
    add_body(out, &summary);
    add_events(out, request);
    add_cost(out, result);
    add_end(out, &summary);
    free_summary(&summary);
}
