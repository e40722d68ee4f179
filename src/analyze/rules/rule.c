/* Turns the options of rules into spans and filters, and the rows that a rule found into a table. */
#include "rule.h"

#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/calls.h"
#include "analyze/model/nvtx_span.h"
#include "analyze/model/recorded.h"
#include "base/human.h"
#include "base/path.h"
#include "base/saturating.h"

/* Leaves the part of the span that lies in `to`. */
static void narrow_span(struct report_span *span, const struct report_span *to)
{
    span->from_ns = to->from_ns > span->from_ns ? to->from_ns : span->from_ns;
    span->to_ns = to->to_ns < span->to_ns ? to->to_ns : span->to_ns;
}

int rule_open(struct rule *rule, struct report *report, const struct analysis_request *request, struct error *err)
{
    const char *range = option_text(request, "nvtx");
    int64_t pid, tid;
    struct report_span span;
    int code;

    *rule = (struct rule){ .request = *request, .span = { INT64_MIN, INT64_MAX } };
    if (request->span)
        rule->span = *request->span;
    if (request->filter)
        rule->only = *request->filter;
    if ((code = option_number(request, "rows", RULE_ROWS, -1, INT64_MAX, &rule->rows, err)) != 0 ||
        (code = option_number(request, "start", INT64_MIN, INT64_MIN, INT64_MAX, &span.from_ns, err)) != 0 ||
        (code = option_number(request, "end", INT64_MAX, INT64_MIN, INT64_MAX, &span.to_ns, err)) != 0 ||
        (code = option_number(request, "process", -1, 0, INT64_MAX, &pid, err)) != 0 ||
        (code = option_number(request, "thread", -1, 0, INT64_MAX, &tid, err)) != 0)
        return code;
    narrow_span(&rule->span, &span);
    if (range) {
        if ((code = nvtx_span_find(report, range, &span, err)) != 0)
            return code;
        narrow_span(&rule->span, &span);
    }
    if (pid >= 0) {
        rule->only.only |= ONLY_PID;
        rule->only.pid = pid;
    }
    if (tid >= 0) {
        rule->only.only |= ONLY_TID;
        rule->only.tid = tid;
    }
    rule->request.span = &rule->span;
    rule->request.filter = &rule->only;
    return 0;
}

int rule_finish(const struct rule *rule, struct table *table, int code, struct table_order order, struct table **out,
                struct error *err)
{
    if (code != 0)
        return table_hand_over(table, code, out, err);
    table_sort_by(table, order);
    if (rule->rows >= 0)
        table_limit(table, (size_t)rule->rows);
    if (strcmp(table_columns(table)[0].name, "Row#") == 0)
        table_number_rows(table);
    *out = table;
    return 0;
}

void rule_add_text(struct text *out, const char *before, const struct table_cell *cell)
{
    if (cell->kind != CELL_TEXT || !cell->text.length)
        return;
    text_add(out, before);
    text_add_bytes(out, cell->text.bytes, cell->text.length);
}

/* From the start of the capture to its end, as ANALYSIS_DETAILS has it, of a set from the first start to the last end;
 * without it, from the first to the last time of any event. */
static int whole_span(struct report *report, struct report_span *out, struct error *err)
{
    static const char *const names[] = { "startTime", "stopTime", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "ANALYSIS_DETAILS", names, err);

    if (code != 0)
        return code;
    *out = (struct report_span){ INT64_MAX, INT64_MIN };
    while (row_cursor_next(&rows)) {
        if (row_is_null(&rows, 0) || row_is_null(&rows, 1))
            continue;
        out->from_ns = row_int(&rows, 0) < out->from_ns ? row_int(&rows, 0) : out->from_ns;
        out->to_ns = row_int(&rows, 1) > out->to_ns ? row_int(&rows, 1) : out->to_ns;
    }
    row_cursor_close(&rows);
    if (out->from_ns < out->to_ns)
        return 0;
    *out = report_times(report);
    return 0;
}

/* The span that was recorded: in a capture with a range, shares are of that range. *length is its time, less the time
 * between several ranges. */
static int capture_span(struct report *report, struct report_span *out, int64_t *length, struct error *err)
{
    struct recorded recorded;
    int code = recorded_read(&recorded, report, err);

    if (code != 0)
        return code;
    if (recorded.is_part && recorded.count) {
        *out = (struct report_span){ recorded.spans[0].from_ns, recorded.spans[recorded.count - 1].to_ns };
        *length = recorded_time(&recorded);
    } else if ((code = whole_span(report, out, err)) == 0) {
        *length = out->from_ns < out->to_ns ? saturating_duration(out->from_ns, out->to_ns) : INT64_MAX;
    }
    recorded_free(&recorded);
    return code;
}

int rule_capture_time(struct report *report, int64_t *out, struct error *err)
{
    struct report_span span;

    return capture_span(report, &span, out, err);
}

int rule_time(const struct rule *rule, struct report *report, struct report_span *out, struct error *err)
{
    int64_t length;
    int code = capture_span(report, out, &length, err);

    if (code != 0)
        return code;
    narrow_span(out, &rule->span);
    return 0;
}

/* "…: 1.2 ms, Pageable, Device, 4.19 MB, cudaMemcpyAsync" */
static void rule_add_figures(struct text *out, const struct table *table, size_t row)
{
    const struct table_column *columns = table_columns(table);
    const struct table_cell *cells = table_row(table, row);

    for (size_t c = 0; c < table_column_count(table); c++)
        if (columns[c].unit == UNIT_NS && cells[c].kind == CELL_INT)
            human_time(out, cells[c].integer);
    for (size_t c = 0; c < table_column_count(table); c++) {
        if (cells[c].kind == CELL_TEXT && cells[c].text.length) {
            text_add(out, ", ");
            text_add_bytes(out, cells[c].text.bytes, call_name_length(cells[c].text.bytes, cells[c].text.length));
        } else if (cells[c].kind == CELL_REAL)
            text_addf(out, ", %.3g%s", cells[c].real, columns[c].unit == UNIT_MEGABYTES ? " MB" : "");
    }
}

void rule_finding(struct text *out, const struct analysis *rule, const struct table *table, size_t row)
{
    if (rule->rule->finding) {
        rule->rule->finding(out, table, row);
        return;
    }
    text_addf(out, "%s: ", rule->rule->meaning);
    rule_add_figures(out, table, row);
}

const char *rule_advice(const struct analysis *rule, const struct table *table, size_t row)
{
    return rule->rule->advise ? rule->rule->advise(table, row) : rule->rule->advice;
}

/* Advice is a constant, so equal pointers are equal texts. */
void rule_add_advice(struct text *out, const struct analysis *rule, const struct table *table)
{
    const char *given[8];
    size_t count = 0, at;

    for (size_t row = 0; row < table_row_count(table) && count < COUNT_OF(given); row++) {
        const char *advice = rule_advice(rule, table, row);
        for (at = 0; at < count && given[at] != advice;)
            at++;
        if (at < count)
            continue;
        text_addf(out, "%s%s", count ? " " : "", advice);
        given[count++] = advice;
    }
}

int rule_run(const struct rule_steps *steps, struct rule_search *search, const struct analysis_request *request,
             struct table **out, struct error *err)
{
    struct report *report = search->report;
    struct table *table = table_new(steps->columns, steps->column_count);
    int code;

    if ((code = option_number(request, "threshold", steps->percent, 0, 100, &search->percent, err)) != 0 ||
        (code = rule_open(&search->rule, report, request, err)) != 0 ||
        (code = rule_time(&search->rule, report, &search->time, err)) != 0 ||
        (code = filter_open(&search->filter, report, &search->rule.request, err)) != 0 ||
        (code = steps->read(search, err)) != 0)
        goto done;
    code = table ? steps->fill(search, table, err) : ERR_NO_MEMORY;
    if (code == ERR_NO_MEMORY)
        error_set(err, code, "not enough memory for %s", steps->things);
done:
    filter_close(&search->filter);
    steps->free(search);
    return rule_finish(&search->rule, table, code, BY(DOWN(0)), out, err);
}

/* The kernel's sums of whole lifetimes are used only for a request without a span. */
int rule_sched_times(const struct rule_search *search, struct sched_times *times, struct error *err)
{
    struct analysis_request request = search->rule.request;

    if (search->rule.span.from_ns == INT64_MIN && search->rule.span.to_ns == INT64_MAX)
        request.span = NULL;
    return sched_times_read(times, search->report, &request, err);
}

int rule_is_enough(const struct rule_search *search, int64_t time_ns)
{
    double wall = (double)saturating_duration(search->time.from_ns, search->time.to_ns);

    return (double)time_ns >= wall * (double)search->percent / 100;
}

int rule_set_thread(struct table *table, struct table_cell *cell, const struct thread_names *names,
                    struct report *report, int64_t thread)
{
    struct text text = { 0 };

    thread_name_label(&text, names, report, thread);
    int code = cell_set_built(table, cell, &text);
    text_free(&text);
    return code;
}

int rule_set_frame(struct table *table, struct table_cell *cell, const struct stacks *stacks, uint32_t frame)
{
    struct text text = { 0 };

    if (frame == NO_KEY)
        return 0;
    stack_frame_label(&text, stacks, frame);
    int code = cell_set_built(table, cell, &text);
    text_free(&text);
    return code;
}

int rule_set_program(struct table *table, struct table_cell *cell, const struct process_names *names,
                     struct report *report, int64_t process)
{
    int64_t name = process_name_find(names, process);

    return name < 0 ? 0 : cell_set_string(table, cell, path_base_name(report_string(report, name, NULL)));
}

void rule_add_process(struct text *out, const struct table_cell *program, const struct table_cell *pid)
{
    int has_name = program->kind == CELL_TEXT && program->text.length;

    rule_add_text(out, "", program);
    text_addf(out, has_name ? " (%lld)" : "process %lld", (long long)pid->integer);
}
