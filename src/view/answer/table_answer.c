/* The request table: a report of tacho stats, for a span and a part of the capture. */
#include <string.h>

#include "analyze/engine/analysis.h"
#include "analyze/engine/event_columns.h"
#include "analyze/registry.h"
#include "answers.h"
#include "base/json_write.h"
#include "event_fields.h"
#include "row_answers.h"

enum { USUAL_ROWS = 1000, MOST_ROWS = 100000, MOST_OPTIONS = 8 };

static const char *const table_answer_kind_names[] = {
    [CELL_NONE] = "text", [CELL_INT] = "int", [CELL_REAL] = "real", [CELL_TEXT] = "text"
};
static const char *const unit_names[] = {
    [UNIT_NONE] = "none",       [UNIT_NS] = "ns",       [UNIT_TIME] = "time",
    [UNIT_PERCENT] = "percent", [UNIT_BYTES] = "bytes", [UNIT_MEGABYTES] = "megabytes",
    [UNIT_ID] = "id",           [UNIT_NAME] = "none",
};

/* The column whose texts are names of events, or -1. */
static int name_column(const struct table *table)
{
    for (size_t c = 0; c < table_column_count(table); c++)
        if (table_columns(table)[c].unit == UNIT_NAME)
            return (int)c;
    return -1;
}

static void table_answer_add_cell(struct view *view, struct text *out, const struct table_column *column,
                                  const struct table_cell *cell)
{
    switch (cell->kind) {
    case CELL_INT:
        if (column->unit == UNIT_TIME)
            event_fields_add_time(view, out, cell->integer);
        else
            event_fields_add_int(out, cell->integer);
        break;
    case CELL_REAL: json_add_real(out, cell->real); break;
    case CELL_TEXT: json_add_text(out, cell->text.bytes, cell->text.length); break;
    default: text_add(out, "null");
    }
}

void view_add_table_members(struct view *view, struct text *out, const struct analysis *analysis,
                            const struct table *table, size_t limit)
{
    const struct table_column *columns = table_columns(table);
    size_t column_count = table_column_count(table), rows = table_row_count(table);
    int name = name_column(table);

    json_addf(out, "'report':%s,'title':%s,'columns':[", analysis->name, analysis->title);
    for (size_t c = 0; c < column_count; c++)
        json_addf(out, "{'name':%s,'kind':%s,'unit':%s,'decimals':%d}", columns[c].name,
                  table_answer_kind_names[columns[c].kind], unit_names[columns[c].unit], columns[c].decimals);
    json_addf(out, "],'rows':[");
    for (size_t r = 0; r < rows && r < limit; r++) {
        const struct table_cell *cells = table_row(table, r);
        text_add(out, r ? ",[" : "[");
        for (size_t c = 0; c < column_count; c++) {
            text_add(out, c ? "," : "");
            table_answer_add_cell(view, out, &columns[c], &cells[c]);
        }
        text_add_char(out, ']');
    }
    json_addf(out, name < 0 ? "],'total':%zu,'name_column':null" : "],'total':%zu,'name_column':%d", table_total(table),
              name);
}

/* Rows have the id of the GPU, tables have the device number within the process: where each process sees one GPU only,
 * the number 0 means a different GPU in each. */
static void table_answer_find_device(const struct view *view, struct analysis_filter *filter)
{
    int64_t device = -1, process = -1;
    int is_one_device = 1, is_one_process = 1;

    for (size_t r = 0; r < view->row_count; r++) {
        const struct view_row *row = &view->rows[r];
        if (row->type != ROW_STREAM || row->device != filter->device ||
            (filter->only & ONLY_PID && global_pid_number(row->process) != filter->pid))
            continue;
        is_one_device &= device == -1 || device == row->key[KEY_A];
        is_one_process &= process == -1 || process == row->process;
        device = row->key[KEY_A];
        process = row->process;
    }
    if (device != -1 && is_one_device)
        filter->device = device;
    if (process != -1 && is_one_process) {
        filter->only |= ONLY_PID;
        filter->pid = global_pid_number(process);
    }
}

/* The arguments pid, tid, device (a GPU, as rows have it) and stream. */
static int read_filter(const struct view *view, const struct arguments *arguments, struct analysis_filter *filter,
                       struct error *err)
{
    const struct {
        const char *name;
        int bit;
        int64_t *value;
    } parts[] = {
        { "pid", ONLY_PID, &filter->pid },
        { "tid", ONLY_TID, &filter->tid },
        { "device", ONLY_DEVICE, &filter->device },
        { "stream", ONLY_STREAM, &filter->stream },
    };
    int code;

    *filter = (struct analysis_filter){ 0 };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if ((code = argument_int(arguments, parts[i].name, 0, INT64_MAX, parts[i].value, err)) != 0)
            return code;
        filter->only |= argument_text(arguments, parts[i].name, NULL) ? parts[i].bit : 0;
    }
    if (filter->only & ONLY_DEVICE)
        table_answer_find_device(view, filter);
    return 0;
}

/* The argument options, "rank=3:peer=5", like the words after the name of a report. `copy` holds their text. */
static size_t read_options(const struct arguments *arguments, struct text *copy, struct analysis_option *out,
                           size_t most)
{
    size_t count = 0;

    text_add(copy, argument_text(arguments, "options", NULL) ? argument_text(arguments, "options", NULL) : "");
    for (char *at = copy->bytes; at && *at && count < most; count++) {
        char *end = at + strcspn(at, ":"), *equals = at + strcspn(at, ":=");
        int is_last = !*end;
        out[count] = (struct analysis_option){ at, *equals == '=' ? equals + 1 : NULL };
        *equals = *end = 0;
        at = is_last ? NULL : end + 1;
    }
    return count;
}

int view_table(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    const char *name = argument_text(arguments, "report", NULL);
    const struct analysis *analysis = name ? analysis_find(name) : NULL;
    struct report_span span;
    struct analysis_filter filter;
    struct analysis_option options[MOST_OPTIONS];
    struct text words = { 0 };
    struct table *table;
    int64_t limit = USUAL_ROWS;
    int code;

    if (!name)
        return error_set(err, ERR_BAD_ARGUMENT, "table: the argument report is missing");
    if (!analysis)
        return error_set(err, ERR_NOT_FOUND, "no report named %.60s", name);
    if ((code = view_argument_span(view, arguments, &span, err)) != 0 ||
        (code = read_filter(view, arguments, &filter, err)) != 0 ||
        (code = argument_int(arguments, "limit", 0, MOST_ROWS, &limit, err)) != 0)
        return code;
    int is_all = span.from_ns == INT64_MIN && span.to_ns == INT64_MAX;
    const struct analysis_request request = { .span = is_all ? NULL : &span,
                                              .filter = filter.only ? &filter : NULL,
                                              .options = options,
                                              .first_rows = (size_t)limit + !limit,
                                              .option_count = read_options(arguments, &words, options, MOST_OPTIONS) };
    code = analysis_run(analysis, view->report, &request, &table, err);
    text_free(&words);
    if (code != 0)
        return code;
    text_add_char(out, '{');
    view_add_table_members(view, out, analysis, table, (size_t)limit);
    text_add_char(out, '}');
    table_delete(table);
    return 0;
}
