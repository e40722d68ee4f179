/* The lines of the summary, from the report: how the program ended, what may be wrong, the causes that cost most time,
 * where the time went, and what to type next. */
#include "summary_lines.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/analysis.h"
#include "analyze/model/lowered_detail.h"
#include "analyze/model/ranks/rank_lists.h"
#include "analyze/model/stacks/missing_stacks.h"
#include "analyze/registry.h"
#include "analyze/summary/run_figures.h"
#include "base/human.h"
#include "cmd/command.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "collect/collect.h"
#include "summary_advice.h"
#include "summary_cost.h"
#include "summary_findings.h"
#include "summary_wall.h"
#include "summary_wrap.h"
#include "wire/wire.h"

static void summary_lines_add_clean(struct text *out, const char *words, size_t columns)
{
    display_add(out, words, strlen(words), columns);
}

/* ---- How it ended ---------------------------------------------------------------------------------------------- */

static int is_running(const struct capture_facts *facts)
{
    return strcmp(facts->ending, "running") == 0;
}

/* If it was not the program that ended the capture. */
static void add_why_over(struct text *out, const struct capture_facts *facts)
{
    static const struct {
        const char *over, *words;
    } whys[] = { { "duration", " (--duration)" }, { "range", ", with the end of the capture range" } };
    int runs = is_running(facts);

    for (size_t i = 0; i < COUNT_OF(whys); i++) {
        if (strcmp(facts->over, whys[i].over) != 0 || (!runs && !facts->kill_signal))
            continue;
        if (!runs) {
            text_add(out, ": the capture ended after ");
            human_time(out, facts->recorded_ns);
        }
        text_add(out, whys[i].words);
    }
}

static void summary_lines_add_ending(struct text *out, const struct capture_facts *facts)
{
    int signal = (int)facts->kill_signal;

    if (is_running(facts) && signal)
        text_addf(out, " still runs, despite %s (--kill); the capture ended", collect_signal_name(signal));
    else if (is_running(facts))
        text_add(out, " still runs; the capture ended");
    else if (signal)
        text_addf(out, " was ended by tacho with %s (--kill)", collect_signal_name(signal));
    else if (strcmp(facts->ending, "signal") == 0)
        text_addf(out, " was ended by signal %d (%s)", (int)facts->signal, strsignal((int)facts->signal));
    else if (strcmp(facts->ending, "exit") == 0)
        text_addf(out, " ended with status %d", (int)facts->exit_status);
    else
        text_add(out, " ended");
    text_add(out, " after ");
    human_time(out, facts->process_ns);
    add_why_over(out, facts);
    if (facts->is_part) {
        text_add(out, "; recorded time ");
        human_time(out, facts->recorded_ns);
        if (facts->range_count > 1)
            text_addf(out, " in %zu capture ranges", facts->range_count);
    }
    if (facts->cpu_ns >= 0) {
        text_add(out, "; CPU time ");
        human_time(out, facts->cpu_ns);
    }
}

/* "57 processes (3 programs), 80 threads"; nothing if the report does not know */
static void summary_lines_add_tree(struct text *out, const struct capture_facts *facts)
{
    if (!facts->processes)
        return;
    text_add(out, "; ");
    human_count(out, facts->processes);
    text_add(out, facts->processes == 1 ? " process" : " processes");
    if (facts->processes > 1 && facts->programs > 1) {
        text_add(out, " (");
        human_count(out, facts->programs);
        text_add(out, " programs)");
    }
    if (facts->threads) {
        text_add(out, ", ");
        human_count(out, facts->threads);
        text_add(out, facts->threads == 1 ? " thread" : " threads");
    }
}

/* The first word of a command line that is quoted as for a shell. */
static size_t first_word(const char *command)
{
    size_t length = 0;

    for (int is_quoted = 0; command[length] && (is_quoted || command[length] != ' '); length++)
        is_quoted ^= command[length] == '\'';
    return length;
}

/* The first line: what was recorded, and how it ended. */
static void summary_lines_add_head(struct text *out, const struct summary *summary)
{
    enum { WIDEST = 60 };
    const struct capture_facts *facts = &summary->facts;
    const char *unnamed = facts->is_over ? "the program" : summary->request->report_path;

    text_addf(out, "tacho: %s", summary_bold(summary->request));
    display_add(out, *facts->program ? facts->program : unnamed,
                *facts->program ? first_word(facts->program) : strlen(unnamed), WIDEST);
    text_add(out, summary_plain(summary->request));
    if (facts->is_over && facts->rank >= 0 && (facts->signal || facts->exit_status))
        text_addf(out, " of rank %lld", (long long)facts->rank);
    if (facts->is_over) {
        summary_lines_add_ending(out, facts);
    } else {
        if (!facts->is_ours)
            text_addf(out, ": recorded by %s", facts->recorder ? facts->recorder : "another profiler");
        else
            text_add(out, report_health(summary->request->report).recovered
                              ? ": recovered from a damaged or unfinished report"
                              : ": the report is unfinished (tacho is still writing it, or was killed)");
        if (facts->recorded_ns > 0) {
            text_add(out, ", recorded time ");
            human_time(out, facts->recorded_ns);
        }
    }
    summary_lines_add_tree(out, facts);
    text_add_char(out, '\n');
}

/* "the reports of ranks 0,2 end before their programs" */
static void summary_lines_add_cut(struct text *out, const struct capture_facts *facts)
{
    enum { MOST_NAMED = 4 };

    if (!facts->cut_count)
        return;
    text_addf(out, "  the report%s of rank%s ", facts->cut_count == 1 ? "" : "s", facts->cut_count == 1 ? "" : "s");
    rank_list_add(out, facts->cut_ranks, facts->cut_count, MOST_NAMED);
    text_add(out, facts->cut_count == 1 ? " ends before its program\n" : " end before their programs\n");
}

/* "1 process runs on: sleep (pid 7)" */
static void summary_lines_add_left(struct text *out, const struct capture_facts *facts)
{
    if (!facts->left_count || !facts->is_over)
        return;
    text_addf(out, "  %zu process%s:", facts->left_count, facts->left_count == 1 ? " still runs" : "es still run");
    for (size_t i = 0; i < facts->left_count && i < CAPTURE_LEFT_MAX; i++) {
        text_add(out, i ? ", " : " ");
        summary_lines_add_clean(out, facts->left[i].name, 0);
        text_addf(out, " (pid %d)", facts->left[i].pid);
    }
    text_add(out, facts->left_count > CAPTURE_LEFT_MAX ? ", …\n" : "\n");
}

/* ---- Warnings -------------------------------------------------------------------------------------------------- */

static int is_in_report(const struct capture_facts *facts, const char *warning)
{
    for (size_t i = 0; i < facts->warning_count; i++)
        if (strcmp(capture_warning(facts, i), warning) == 0)
            return 1;
    return 0;
}

/* Those that the report lacks come first: they say why. */
static void summary_lines_add_warnings(struct text *out, const struct summary *summary)
{
    enum { MOST_SHOWN = 2 };
    const struct summary_request *request = summary->request;
    size_t count = 0, shown = 0;

    for (size_t i = 0; i < request->warning_count + summary->facts.warning_count; i++) {
        int is_own = i < request->warning_count;
        const char *warning = is_own ? request->warnings[i]
                                     : capture_warning(&summary->facts, i - request->warning_count);
        if (is_own && is_in_report(&summary->facts, warning))
            continue;
        if (count++ < MOST_SHOWN) {
            text_add(out, "  note: ");
            summary_lines_add_clean(out, warning, 0);
            text_add_char(out, '\n');
            shown++;
        }
    }
    if (count > shown)
        text_addf(out, "  note: %zu more %s in the report: tacho info\n", count - shown,
                  count - shown == 1 ? "is" : "are");
}

static void summary_lines_add_notes(struct text *out, const struct summary *summary)
{
    struct missing_stacks missing[MISSING_STACKS_MAX];
    struct error err;
    size_t count = 0;

    if (missing_stacks_read(missing, &count, summary->request->report, &err) != 0)
        count = 0;
    if (count) {
        text_add(out, "  note: ");
        missing_stacks_describe(out, missing, count);
        text_add_char(out, '\n');
    }
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (cmd_sources[i]->summary && cmd_sources[i]->summary->add_notes)
            cmd_sources[i]->summary->add_notes(out, summary);
}

/* A line for each loss, in proportion. Other lines report the rest: a note of the capture names processes without an
 * agent, and the line of events counts truncated stacks. */
static void summary_lines_add_losses(struct text *out, const struct capture_facts *facts)
{
    for (size_t i = 0; i < facts->sources.counts.loss_count; i++) {
        const struct loss *loss = &facts->sources.counts.losses[i];
        struct text clause = { 0 };
        if (loss_is_of_processes(loss) || loss->is_note)
            continue;
        loss_add(&clause, loss);
        text_add(out, loss_is_small(loss) ? "  incomplete: " : "  INCOMPLETE: ");
        summary_lines_add_clean(out, text_string(&clause), 0);
        text_add_char(out, '\n');
        text_free(&clause);
    }
}

/* One line for all sources of which --cost-limit recorded less. */
static void summary_lines_add_lowered(struct text *out, const struct summary *summary)
{
    struct lowered_detail detail;
    struct error err;

    if (lowered_detail_read(&detail, summary->request->report, &err) != 0 || !detail.count)
        return;
    for (size_t i = 0; i < detail.count; i++) {
        struct text clause = { 0 };
        lowered_detail_add(&clause, &detail.list[i]);
        text_add(out, i ? "; " : "  lowered: ");
        summary_lines_add_clean(out, text_string(&clause), 0);
        text_free(&clause);
    }
    lowered_detail_add_reason(out, &detail);
    text_add_char(out, '\n');
}

/* ---- Events and cost ------------------------------------------------------------------------------------------- */

/* The row of the source whose events are counted under this name, or NULL. */
static const struct cmd_source *summary_lines_source_of(const char *name)
{
    for (const struct cmd_source *const *source = cmd_sources; *source; source++) {
        for (int i = 0; i < WIRE_SOURCE_COUNT; i++)
            if ((*source)->events >> i & 1 && strcmp(wire_source_name(i), name) == 0)
                return *source;
        for (const struct cmd_source_table *at = (*source)->tables; at && at->events; at++)
            if (strcmp(at->events, name) == 0)
                return *source;
    }
    return NULL;
}

/* "cuda api" and "cuda kernels" are of "cuda", where that is not counted as a whole. */
static int summary_lines_has_recorded(const struct report_sources *sources, const char *name)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->list[i].recorded && text_begins_with(sources->list[i].name, name))
            return 1;
    return 0;
}

/* Whether no events of a source are worth a word: -t named it, or samples were to be taken. */
static int is_expected(const struct capture_facts *facts, const char *name)
{
    return capture_is_requested(facts, name) ||
           (*facts->sampling && strcmp(facts->sampling, "none") != 0 && strcmp(name, "samples") == 0);
}

/* A source that was counted as a whole needs no count of its single tables. */
static int is_counted_twice(const struct report_sources *sources, const struct report_source *source)
{
    for (size_t i = 0; i < sources->count; i++)
        if (!source->is_counted && sources->list[i].is_counted && sources->list[i].recorded &&
            summary_lines_source_of(sources->list[i].name) == summary_lines_source_of(source->name))
            return 1;
    return 0;
}

static void summary_lines_add_source(struct text *out, const struct capture_facts *facts,
                                     const struct report_source *source)
{
    const struct cmd_source *owner = summary_lines_source_of(source->name);
    const struct source_summary *row = owner->summary;

    summary_lines_add_clean(out, source->name, 40);
    text_add_char(out, ' ');
    human_count(out, source->recorded);
    if (row && row->add_event_note && strcmp(owner->tables->events, source->name) == 0)
        row->add_event_note(out, facts);
    if (source->below_threshold + source->untimed) {
        text_add(out, " (+ ");
        human_count(out, source->below_threshold + source->untimed);
        text_add(out, " short or uncontended, counted only)");
    }
    if (source->left_out) {
        text_add(out, " (+ ");
        human_count(out, source->left_out);
        text_add(out, " left out, counted only)");
    }
    if (source->empty_polls) {
        text_add(out, " (+ ");
        human_count(out, source->empty_polls);
        text_add(out, " that found nothing, counted only)");
    }
}

static void add_expected(struct text *out, const struct capture_facts *facts, const char **before)
{
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const char *name = wire_source_name(i);
        if (!is_expected(facts, name) || summary_lines_has_recorded(&facts->sources, name))
            continue;
        text_addf(out, "%s %s 0", *before, name);
        *before = ";";
    }
}

static void summary_lines_add_events(struct text *out, const struct capture_facts *facts)
{
    const struct report_sources *sources = &facts->sources;
    const char *before = "";
    int is_lossy = 0;

    text_add(out, "  events:");
    for (size_t i = 0; i < sources->count; i++) {
        const struct report_source *source = &sources->list[i];
        if (!source->recorded || !summary_lines_source_of(source->name) || is_counted_twice(sources, source))
            continue;
        text_addf(out, "%s ", before);
        summary_lines_add_source(out, facts, source);
        before = ";";
    }
    add_expected(out, facts, &before);
    for (size_t i = 0; i < sources->counts.loss_count; i++)
        is_lossy |= !loss_is_of_processes(&sources->counts.losses[i]) && !sources->counts.losses[i].is_note;
    text_add(out, !*before ? " none" : "");
    text_add(out, facts->is_over && !is_lossy && *before ? "; none lost\n" : "\n");
}

/* ---- The report and what to type next -------------------------------------------------------------------------- */

static void add_report(struct text *out, const struct summary *summary)
{
    const struct summary_request *request = summary->request;

    text_add(out, "  report: ");
    summary_lines_add_clean(out, request->report_path, 0);
    text_add(out, " (");
    human_bytes(out, request->report_bytes);
    text_add(out, request->report_error ? "; NOT COMPLETE: " : "");
    text_add(out, request->report_error ? error_name(request->report_error) : "");
    text_add(out, ")");
    for (size_t i = 0; i < request->export_count; i++) {
        text_add(out, ", ");
        summary_lines_add_clean(out, request->exports[i], 0);
    }
    if (summary->facts.has_output)
        text_add(out, "; the program's output is in it: tacho info --output");
    text_add_char(out, '\n');
}

/* A command line that works when it is pasted: the words before the file may come from a table of rules. Further
 * commands stand on the next line if this one is too narrow for both. */
static void summary_lines_add_command(struct text *out, const struct summary *summary, const char *words,
                                      const char *also)
{
    static const char label[] = "  next:   ";
    size_t columns = summary->request->columns;
    struct text line = { 0 };

    display_add_quoted(&line, command_name());
    text_addf(&line, " %s ", words);
    display_add_file(&line, summary->request->report_path);
    size_t taken = strlen(label) + display_columns(text_string(&line), line.length) + strlen(", ") + strlen(also);
    text_addf(out, "%s%s%s%s", label, summary_bold(summary->request), text_string(&line),
              summary_plain(summary->request));
    if (*also && columns && taken > columns)
        text_addf(out, "\n%*s%s\n", (int)strlen(label), "", also);
    else
        text_addf(out, "%s%s\n", *also ? ", " : "", also);
    text_free(&line);
}

static int has_events(const struct capture_facts *facts)
{
    for (size_t i = 0; i < facts->sources.count; i++)
        if (facts->sources.list[i].recorded && summary_lines_source_of(facts->sources.list[i].name))
            return 1;
    return 0;
}

/* The command for the requested data, else for the largest cause, else for the source that leads. */
static void summary_lines_add_next(struct text *out, const struct summary *summary)
{
    static const char also[] = "or stats for all tables, or view for the timeline";
    const struct cmd_source_subject *asked = report_sources_subject(summary->request->report);
    struct text rule = { 0 };

    if (asked) {
        summary_lines_add_command(out, summary, asked->next, also);
        return;
    }
    size_t first = 0, causes = summary->causes ? table_row_count(summary->causes) : 0;
    while (first < causes && summary_wall_has_cause(summary, first))
        first++;
    if (first < causes && summary_cause(&rule, summary->causes, first, "Rule")) {
        struct text words = { 0 };
        text_add(&words, "analyze -r ");
        display_add_quoted(&words, text_string(&rule));
        summary_lines_add_command(out, summary, text_string(&words), also);
        text_free(&words);
        text_free(&rule);
        return;
    }
    text_free(&rule);
    if (summary->wall) {
        summary_lines_add_command(out, summary, "stats -r wall_sum:lines", also);
        return;
    }
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (summary->findings[i] && cmd_sources[i]->summary->next) {
            summary_lines_add_command(out, summary, cmd_sources[i]->summary->next, cmd_sources[i]->summary->next_also);
            return;
        }
    if (has_events(&summary->facts))
        summary_lines_add_command(out, summary, "stats", "or view for the timeline");
    else
        summary_lines_add_command(out, summary, "info", "");
}

/* ---- The job ---------------------------------------------------------------------------------------------------- */

/* The line about the job comes before the one about the program: who waits for a rank need not read on. */
static void summary_lines_add_late_rank(struct text *out, const struct summary *summary)
{
    const char *words = run_late_rank(summary->causes);

    if (!*words)
        return;
    text_addf(out, "tacho: %s", summary_bold(summary->request));
    summary_lines_add_clean(out, words, 0);
    text_addf(out, "%s\n", summary_plain(summary->request));
}

/* ---- All of it ------------------------------------------------------------------------------------------------- */

/* NULL: there is nothing in it. */
static struct table *load_table(struct report *report, const char *analysis)
{
    struct analysis_request request = { 0 };
    struct table *table = NULL;
    struct error err;

    if (analysis_run(analysis_find(analysis), report, &request, &table, &err) != 0)
        return NULL;
    if (table_row_count(table))
        return table;
    table_delete(table);
    return NULL;
}

/* Where there is an answer, it is all that is shown, and nothing else is read: tables take much longer. */
static void read_report(struct summary *summary)
{
    struct report *report = summary->request->report;

    summary_read_advice(summary);
    summary->shown = summary->adviser.window ? summary->adviser.window : report;
    summary->has_gpu_work = summary->adviser.count > 0;
    if (summary->has_gpu_work)
        return;
    summary->wall = summary_read_wall(report);
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        const struct source_summary *source = cmd_sources[i]->summary;
        if (source && source->analysis)
            summary->tables[i] = load_table(summary->shown, source->analysis);
    }
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        const struct source_summary *source = cmd_sources[i]->summary;
        if (source && source->find)
            summary->findings[i] = source->find(summary);
    }
}

static void summary_lines_free_summary(struct summary *summary)
{
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        table_delete(summary->tables[i]);
        if (summary->findings[i])
            cmd_sources[i]->summary->free(summary->findings[i]);
    }
    table_delete(summary->causes);
    table_delete(summary->wall);
    adviser_free(&summary->adviser);
    capture_facts_free(&summary->facts);
}

/* No source leads: the tops of all tables share the lines. */
static void add_shared(struct text *out, const struct summary *summary)
{
    enum { MOST_ROWS = 3 };
    size_t tables = 0, others = 1; /* a heading each, lines about tables, functions */

    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        tables += summary->tables[i] != NULL;
        others += summary->tables[i] ? 1 + (cmd_sources[i]->summary->add_line != NULL) : 0;
    }
    size_t rows = tables && summary->lines_left > others ? (summary->lines_left - others) / tables : 0;
    rows = rows < MOST_ROWS ? rows : MOST_ROWS;
    for (size_t i = 0; i < CMD_SOURCE_COUNT && rows; i++)
        if (summary->tables[i])
            summary_add_top(out, summary, summary->tables[i], cmd_sources[i]->summary->heading, rows);
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (summary->tables[i] && cmd_sources[i]->summary->add_line)
            cmd_sources[i]->summary->add_line(out, summary->tables[i]);
    summary_add_functions(out, summary);
}

/* The part that a source arranges, if one has a finding and there is no answer. */
static void summary_lines_add_body(struct text *out, struct summary *summary)
{
    if (summary->adviser.count)
        return;
    if (summary->adviser.window) {
        text_add(out, " ");
        adviser_add_window(out, &summary->adviser);
        text_add(out, ":\n");
    }
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (summary->findings[i]) {
            cmd_sources[i]->summary->lead(out, summary, summary->findings[i]);
            return;
        }
    add_shared(out, summary);
}

static size_t summary_lines_count_lines(const struct text *text)
{
    size_t lines = 0;

    for (size_t i = 0; i < text->length; i++)
        lines += text->bytes[i] == '\n';
    return lines;
}

int summary_add(struct text *out, const struct summary_request *request, struct error *err)
{
    enum { LAST_LINES = 4, ROOM = SUMMARY_LINES - LAST_LINES }; /* events, cost, report, next */
    struct summary *summary = calloc(1, sizeof *summary);
    struct text first = { 0 }, lines = { 0 };
    int code;

    if (!summary)
        return error_no_memory(err);
    summary->request = request;
    if ((code = capture_facts_read(&summary->facts, request->report, err)) != 0)
        goto free_memory;
    read_report(summary);
    summary_lines_add_late_rank(&first, summary);
    summary_lines_add_head(&first, summary);
    summary_lines_add_left(&first, &summary->facts);
    summary_lines_add_cut(&first, &summary->facts);
    summary_lines_add_warnings(&first, summary);
    summary_lines_add_notes(&first, summary);
    summary_lines_add_losses(&first, &summary->facts);
    summary_lines_add_lowered(&first, summary);
    summary_add_answer(&first, summary);
    summary_add_wall(&first, summary);
    summary_add_changes(&first, summary);
    summary_add_causes(&first, summary);
    text_add(&lines, text_string(&first));
    size_t taken = summary_lines_count_lines(&first);
    summary->lines_left = taken < ROOM ? ROOM - taken : 0;
    text_free(&first);
    summary_lines_add_body(&lines, summary);
    summary_lines_add_events(&lines, &summary->facts);
    summary_add_cost(&lines, summary, is_running(&summary->facts) ? "the capture" : "the program");
    add_report(&lines, summary);
    summary_lines_add_next(&lines, summary);
    summary_wrap(out, text_string(&lines), request->columns);
    text_free(&lines);
    summary_lines_free_summary(summary);
free_memory:
    free(summary);
    return code;
}
