/* The request diff: a report of both runs that are shown, compared as tacho diff compares it. */
#include <string.h>

#include "analyze/engine/table_diff.h"
#include "analyze/registry.h"
#include "analyze/reports/run_sum.h"
#include "base/json_write.h"
#include "base/path.h"
#include "view/answer/answers.h"
#include "view/answer/row_answers.h"

enum { USUAL_ROWS = 1000, MOST_ROWS = 100000, MOST_REPORTS = 64, RUNS = 2 };

/* Names that differ, both of them known. */
static int diff_answer_find_programs(struct report *const *reports, const char *programs[RUNS], struct error *err)
{
    for (size_t i = 0; i < RUNS; i++) {
        struct run_times times;
        int code = run_times_read(&times, reports[i], err);
        if (code != 0)
            return code;
        programs[i] = path_base_name(times.program);
    }
    return 0;
}

static int diff_answer_make_table(const struct analysis *analysis, struct report *report, struct table **out,
                                  struct error *err)
{
    const struct analysis_request request = { .options = &analysis->for_people,
                                              .option_count = analysis->for_people.name ? 1 : 0 };
    int code = analysis_run(analysis, report, &request, out, err);

    if (code == ERR_NO_DATA) { /* a run without that data is no error */
        *err = (struct error){ 0 };
        *out = NULL;
        return 0;
    }
    return code;
}

static int diff_answer_compare(const struct analysis *analysis, struct report *const *reports, const char *column,
                               int with_all, struct table_diff *out, struct error *err)
{
    struct table *tables[RUNS] = { 0 };
    const char *programs[RUNS];
    int code;

    if ((code = diff_answer_find_programs(reports, programs, err)) != 0)
        return code;
    for (size_t i = 0; i < RUNS; i++)
        if ((code = diff_answer_make_table(analysis, reports[i], &tables[i], err)) != 0)
            goto delete_tables;
    int is_renamed = *programs[0] && *programs[1] && strcmp(programs[0], programs[1]) != 0;
    const struct table_diff_request request = { .report = analysis->name,
                                                .column = column,
                                                .rows_overlap = analysis->overlap != NULL,
                                                .with_unchanged = with_all,
                                                .is_overview = analysis == &analysis_run_sum,
                                                .programs = is_renamed ? programs : NULL };
    code = table_diff_make(tables, 1, 1, &request, out, err);
delete_tables:
    for (size_t i = 0; i < RUNS; i++)
        table_delete(tables[i]);
    return code;
}

/* The reports that tacho diff compares, the first of which is the run as a whole. */
static void diff_answer_add_reports(struct view *view, struct text *out)
{
    const struct analysis *list[MOST_REPORTS] = { &analysis_run_sum };
    size_t count = 1 + analysis_defaults_for_people(view->report, list + 1, MOST_REPORTS - 1, NULL);

    json_addf(out, "'reports':[");
    for (size_t i = 0; i < count; i++)
        json_addf(out, "{'name':%s,'title':%s}", list[i]->name, list[i]->title);
    text_add_char(out, ']');
}

int view_diff(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    const char *name = argument_text(arguments, "report", NULL), *column = argument_text(arguments, "column", NULL);
    const struct analysis *analysis = name ? analysis_find(name) : &analysis_run_sum;
    struct table_diff diff = { 0 };
    int64_t limit = USUAL_ROWS, with_all = 0;
    int code;

    if (!view->other)
        return error_set(err, ERR_UNSUPPORTED, "one run is shown; to compare two: tacho view A B");
    if (!analysis)
        return error_set(err, ERR_NOT_FOUND, "no report named %.60s", name);
    if ((code = argument_int(arguments, "limit", 0, MOST_ROWS, &limit, err)) != 0 ||
        (code = argument_int(arguments, "all", 0, 1, &with_all, err)) != 0)
        return code;
    struct report *const reports[RUNS] = { view->report, view->other->report };
    if ((code = diff_answer_compare(analysis, reports, column, (int)with_all, &diff, err)) == 0) {
        text_add_char(out, '{');
        view_add_table_members(view, out, analysis, diff.table, (size_t)limit);
        json_addf(out, "'compared':%s,'unchanged':%zu", diff.column, diff.unchanged);
        diff_answer_add_reports(view, out);
        text_add_char(out, '}');
    }
    table_diff_free(&diff);
    return code;
}
