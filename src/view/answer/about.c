/* The answer about the report as a whole. */
#include <stdlib.h>

#include "analyze/engine/analysis.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/event_counts.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/model/lowered_detail.h"
#include "analyze/model/recorder.h"
#include "analyze/model/threads.h"
#include "analyze/registry.h"
#include "answers.h"
#include "base/json_write.h"
#include "base/path.h"
#include "report/reader/unite.h"

/* UTC of the report's time 0; 0 if it does not say. */
static int64_t read_utc(struct view *view)
{
    static const char *const names[] = { "utcEpochNs", NULL };
    struct row_cursor rows;
    int64_t utc = 0;

    if (row_cursor_open(&rows, view->report, "TARGET_INFO_SESSION_START_TIME", names, NULL) != 0)
        return 0;
    if (row_cursor_next(&rows))
        utc = row_int_or(&rows, 0, 0);
    row_cursor_close(&rows);
    return utc;
}

struct about_process {
    int64_t process, rank;
    int has_rank;
};

/* Reads the processes, and returns the command that was profiled. "" and no processes if the table is missing or
 * unreadable: the rest of the answer is still useful. */
static const char *about_read_processes(struct view *view, struct about_process **out, size_t *count)
{
    enum { PROCESS, COMMAND, RANK };
    static const char *const names[] = { "globalPid", "command", "rank", NULL };
    struct row_cursor rows;
    const char *command = "";

    *count = 0;
    *out = NULL;
    if (row_cursor_open(&rows, view->report, "TACHO_PROCESS", names, NULL) != 0)
        return "";
    *out = calloc(rows.columns.rows + 1, sizeof **out);
    while (*out && row_cursor_next(&rows)) {
        (*out)[(*count)++] = (struct about_process){ row_int(&rows, PROCESS), row_int(&rows, RANK),
                                                     !row_is_null(&rows, RANK) };
        if (!*command && !row_is_null(&rows, COMMAND))
            command = report_string(view->report, row_int(&rows, COMMAND), NULL);
    }
    row_cursor_close(&rows);
    return command;
}

static void about_add_processes(struct view *view, struct text *out, const struct process_names *names)
{
    struct about_process *list;
    size_t count;
    const char *command = about_read_processes(view, &list, &count);

    json_addf(out, "'program':%s,'processes':[", command);
    for (size_t i = 0; i < view->row_count; i++) {
        const struct view_row *row = &view->rows[i];
        if (row->type != ROW_PROCESS)
            continue;
        int64_t name = process_name_find(names, row->process);
        json_addf(out, "{'pid':%jd,'name':%s", global_pid_number(row->process),
                  name < 0 ? "" : report_string(view->report, name, NULL));
        for (size_t p = 0; p < count; p++)
            if (list[p].process == row->process && list[p].has_rank) {
                json_addf(out, "'rank':%jd", list[p].rank);
                break;
            }
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
    free(list);
}

static void about_add_gpus(struct view *view, struct text *out)
{
    json_addf(out, "'gpus':[");
    for (size_t i = 0; i < view->row_count; i++)
        if (view->rows[i].type == ROW_GPU) {
            size_t length;
            const char *name = gpu_name(view->report, view->rows[i].device, &length);
            json_addf(out, "{'id':%jd,'name':%.*s}", view->rows[i].device, (int)length, name);
        }
    text_add_char(out, ']');
}

static void add_warning(struct text *line, struct text *out)
{
    json_addf(out, "%.*s", (int)line->length, text_string(line));
    text_clear(line);
}

/* What the file lacks of the capture. */
static void about_add_losses(struct view *view, struct text *line, struct text *out)
{
    struct event_counts counts;
    struct lowered_detail detail;

    if (event_counts_read(&counts, view->report, NULL) == 0)
        for (size_t i = 0; i < counts.loss_count; i++) {
            loss_add(line, &counts.losses[i]);
            text_add_char(line, '.');
            add_warning(line, out);
        }
    if (lowered_detail_read(&detail, view->report, NULL) == 0)
        for (size_t i = 0; i < detail.count; i++) {
            text_add(line, "Lowered: ");
            lowered_detail_add(line, &detail.list[i]);
            lowered_detail_add_reason(line, &detail);
            text_add_char(line, '.');
            add_warning(line, out);
        }
    text_add(line, "The file was imported only in part: ");
    if (import_losses_add(line, view->report)) {
        text_add(line, ". Events are missing, and figures may be wrong.");
        add_warning(line, out);
    }
    text_clear(line);
}

static void about_add_warnings(struct view *view, struct text *out)
{
    struct report_health health = report_health(view->report);
    struct text line = { 0 };

    json_addf(out, "'warnings':[");
    if (!health.complete && !health.recovered) {
        text_add(&line, "The report is unfinished: tacho is still writing it, or was killed. Everything up to its last "
                        "chunk is here.");
        add_warning(&line, out);
    }
    if (health.damaged_chunks) {
        text_addf(&line, "Damaged chunks of the file, which are skipped: %llu.",
                  (unsigned long long)health.damaged_chunks);
        add_warning(&line, out);
    }
    about_add_losses(view, &line, out);
    if (report_rows(view->report, "TACHO_OVERVIEW")) {
        text_add(&line, "This file was exported with a size limit: most of the capture is only an overview, and "
                        "figures refer to the part that was kept.");
        add_warning(&line, out);
    }
    if (view->is_cut) {
        text_add(&line, "Some times are more than 104 days after the first event; the timeline shows them at that "
                        "limit.");
        add_warning(&line, out);
    }
    if (view->is_map) {
        text_addf(&line,
                  "The job has %zu ranks and %llu events: the timeline shows how busy each rank was. Click on a "
                  "rank to see its events; for those of several ranks, run tacho view --filter-rank 0-7.",
                  view->ranks.rank_count, (unsigned long long)view->event_count);
        add_warning(&line, out);
    }
    if (view->is_unprojected) {
        text_add(&line, "NVTX ranges are not projected onto the GPUs: the capture has too many CUDA calls.");
        add_warning(&line, out);
    }
    text_free(&line);
    text_add_char(out, ']');
}

/* The spans whose events are all there, in a report that was cut to a size. */
static void about_add_detail(struct view *view, struct text *out)
{
    enum { START, END };
    static const char *const names[] = { "start", "end", NULL };
    struct row_cursor rows;

    row_cursor_open(&rows, view->report, "TACHO_DETAIL", names, NULL);
    if (!rows.columns.rows) {
        json_addf(out, "'detail':null");
        goto close_rows;
    }
    json_addf(out, "'detail':[");
    while (row_cursor_next(&rows))
        json_addf(out, "{'from':%jd,'to':%jd}", view_time(view, row_int(&rows, START)),
                  view_time(view, row_int(&rows, END)));
    text_add_char(out, ']');
close_rows:
    row_cursor_close(&rows);
}

static void about_add_reports(struct view *view, struct text *out)
{
    int has_work = 0;

    for (size_t i = 0; i < view->row_count; i++)
        has_work |= view->rows[i].type == ROW_STREAM;
    json_addf(out, "'reports':[");
    for (const struct analysis *const *at = analyses; *at; at++)
        if (!analysis_missing(*at, view->report) && (has_work || !(*at)->is_of_gpus))
            json_addf(out, "{'name':%s,'title':%s}", (*at)->name, (*at)->title);
    text_add_char(out, ']');
}

int view_about(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct process_names names;
    const char *recorder;
    int64_t utc = read_utc(view);
    int code;

    if ((code = recorder_read(&recorder, view->report, err)) != 0 ||
        (code = process_names_read(&names, view->report, err)) != 0)
        return code;
    const char *first = names.count ? report_string(view->report, names.list[0].name, NULL) : "";
    json_addf(out, "{'name':%s", view->name ? view->name : path_base_name(first));
    if (view->other && view->other->name)
        json_addf(out, "'other':%s", view->other->name);
    json_addf(out, "'version':%s,'recorder':%s,'origin':'%jd'", TACHO_VERSION, recorder ? recorder : "",
              view->origin_ns);
    json_addf(out, utc ? "'utc':'%jd'" : "'utc':null", saturating_add(utc, view->origin_ns));
    json_addf(out, "'from':%jd,'to':%jd,'focus':{'from':%jd,'to':%jd}", view_time(view, view->begin_ns),
              view_time(view, view->end_ns), view_time(view, view->focus_from_ns), view_time(view, view->focus_to_ns));
    json_addf(out, "'events':%ju,'rows':%zu,'map':%i", view->event_count, view->row_count,
              view->is_map && report_part_count(view->report));
    about_add_gpus(view, out);
    about_add_processes(view, out, &names);
    json_addf(out, view->step_count ? "'steps':{'count':%zu,'source':%s}" : "'steps':null", view->step_count,
              view->step_source);
    about_add_warnings(view, out);
    about_add_detail(view, out);
    about_add_reports(view, out);
    text_add_char(out, '}');
    process_names_free(&names);
    return 0;
}
