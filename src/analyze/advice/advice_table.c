/* The table of a rule on the replay: a row for each cause. */
#include "adviser.h"
#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/report_options.h"

const char *const advice_call_tables[] = { "CUPTI_ACTIVITY_KIND_RUNTIME", NULL };
const char *const advice_work_tables[] = { "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                           "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", NULL };

int advice_has_gpu_work(struct report *report)
{
    for (const char *const *name = advice_work_tables; *name; name++)
        if (report_rows(report, *name))
            return 1;
    return 0;
}

static const struct table_column advice_table_columns[ADVICE_COLUMNS] = {
    [ADVICE_IMPACT] = { "Impact", CELL_INT, UNIT_NS, 0 },
    [ADVICE_SAVES] = { "Saves per Step", CELL_INT, UNIT_NS, 0 },
    [ADVICE_FROM] = { "From", CELL_INT, UNIT_NS, 0 },
    [ADVICE_TO] = { "To", CELL_INT, UNIT_NS, 0 },
    [ADVICE_CONFIDENCE] = { "Confidence", CELL_TEXT, UNIT_NONE, 0 },
    [ADVICE_FOUND] = { "Found", CELL_INT, UNIT_NONE, 0 },
    [ADVICE_WHAT] = { "Finding", CELL_TEXT, UNIT_NONE, 0 },
    [ADVICE_WHERE] = { "Where", CELL_TEXT, UNIT_NONE, 0 },
    [ADVICE_RATE] = { "Rate", CELL_TEXT, UNIT_NONE, 0 },
    [ADVICE_HOW] = { "Advice", CELL_TEXT, UNIT_NONE, 0 },
    [ADVICE_START] = { "Start", CELL_INT, UNIT_TIME, 0 },
    [ADVICE_DURATION] = { "Longest", CELL_INT, UNIT_NS, 0 },
    [ADVICE_PID] = { "PID", CELL_INT, UNIT_ID, 0 },
    [ADVICE_TID] = { "TID", CELL_INT, UNIT_ID, 0 },
};

static int advice_table_add_row(struct table *table, const struct adviser *adviser, const struct advice_cause *cause)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[ADVICE_IMPACT], saturating_multiply(cause->bound_ns, adviser_run_steps(adviser)));
    cell_set_int(&row[ADVICE_SAVES], cause->estimate_ns);
    cell_set_int(&row[ADVICE_FROM], cause->range.low_ns);
    cell_set_int(&row[ADVICE_TO], cause->range.high_ns);
    cell_set_int(&row[ADVICE_FOUND], cause->count);
    cell_set_int(&row[ADVICE_START], cause->start_ns);
    cell_set_int(&row[ADVICE_DURATION], cause->duration_ns);
    if (cause->thread) {
        cell_set_int(&row[ADVICE_PID], global_pid_number(cause->thread));
        cell_set_int(&row[ADVICE_TID], global_tid_number(cause->thread));
    }
    if (cell_set_string(table, &row[ADVICE_CONFIDENCE], advice_confidence_names[cause->confidence]) != 0 ||
        cell_set_built(table, &row[ADVICE_WHAT], &cause->what) != 0 ||
        cell_set_built(table, &row[ADVICE_WHERE], &cause->where) != 0 ||
        cell_set_built(table, &row[ADVICE_RATE], &cause->rate) != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &row[ADVICE_HOW], cause->advice);
}

int advice_table_of(struct adviser *adviser, const struct analysis *rule, struct table **out, struct error *err)
{
    struct table *table = table_new(advice_table_columns, ADVICE_COLUMNS);
    int code = ERR_NO_MEMORY;

    if (!table)
        goto hand_over;
    for (size_t i = 0; i < adviser->count; i++)
        if (adviser->causes[i].rule == rule && (code = advice_table_add_row(table, adviser, &adviser->causes[i])) != 0)
            goto hand_over;
    code = adviser_note_table(adviser, table);
hand_over:
    return table_hand_over(table, code, out, err);
}

int advice_table(struct report *report, const struct analysis_request *request, const void *rule, struct table **out,
                 struct error *err)
{
    struct adviser adviser;
    int64_t rows;
    int code;

    if ((code = option_number(request, "rows", -1, -1, INT64_MAX, &rows, err)) != 0 ||
        (code = adviser_open(&adviser, report, request, err)) != 0)
        return code;
    adviser.options = request;
    if ((code = adviser_find(&adviser, rule, err)) != 0 || (code = adviser_judge(&adviser, err)) != 0 ||
        (code = advice_table_of(&adviser, rule, out, err)) != 0)
        goto free_adviser;
    if (rows >= 0)
        table_limit(*out, (size_t)rows);
free_adviser:
    adviser_free(&adviser);
    return code;
}

void advice_say(struct text *out, const struct table *table, size_t row)
{
    const struct table_cell *cells = table_row(table, row);

    text_add_bytes(out, cells[ADVICE_WHAT].text.bytes, cells[ADVICE_WHAT].text.length);
    if (cells[ADVICE_WHERE].text.length) {
        text_add(out, ", ");
        text_add_bytes(out, cells[ADVICE_WHERE].text.bytes, cells[ADVICE_WHERE].text.length);
    }
}
