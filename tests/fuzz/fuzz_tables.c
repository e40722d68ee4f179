/* The fuzzer's way past the checksums: bytes become a report with hostile rows (hostile_report.h), and all that reads
 * reports is let loose on it: every analysis and rule with any options, torch's table, differences, the formats of
 * tables, the exports, and the timeline. scripts/fuzz links it with libFuzzer; tests/unit/tables_fuzz.c calls it with
 * fixed seeds. Any table, file or refusal is right; a refusal has a sentence. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/hostile_report.h"
#include "analyze/engine/table_diff.h"
#include "analyze/model/filter.h"
#include "analyze/model/torch/steps_read.h"
#include "analyze/registry.h"
#include "analyze/reports/torch/torch_ops.h"
#include "cmd/print/print.h"
#include "export/export.h"
#include "view/load/view_state.h"
#include "view/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST_ROWS = 30 };

static char folder[] = "/tmp/tacho-fuzz-XXXXXX";
static char report_path[64], export_path[64];

static void remove_folder(void)
{
    unlink(report_path);
    rmdir(folder);
}

static void make_folder(void)
{
    if (*report_path)
        return;
    if (!mkdtemp(folder))
        abort();
    snprintf(report_path, sizeof report_path, "%s/hostile.tacho", folder);
    snprintf(export_path, sizeof export_path, "%s/exported", folder);
    atexit(remove_folder);
}

static void expect_sentence(const char *what, int code, const struct error *err)
{
    if (code == 0 || *err->text)
        return;
    fprintf(stderr, "%s is refused with %d and no sentence\n", what, code);
    abort();
}

static struct report *make_report(struct hostile *hostile)
{
    struct writer *writer;
    struct report *report;
    struct error err;

    make_folder();
    if (writer_open(report_path, &(struct writer_options){ .overwrite = 1 }, &writer, &err) != 0)
        abort();
    hostile_fill(hostile, writer, MOST_ROWS);
    if (writer_close(writer, &err) != 0 || report_open(report_path, &report, &err) != 0)
        abort();
    return report;
}

/* ---- parts of a report ----------------------------------------------------------------------------------------- */

struct selection_part {
    struct report_span span;
    struct steps steps;
    struct analysis_filter filter;
    struct analysis_request request;
};

static int64_t any_time(struct hostile *hostile)
{
    return hostile_value(hostile, COLUMN_TIME, "start");
}

static void part_choose(struct selection_part *part, struct hostile *hostile, struct report *report)
{
    struct error err;

    *part = (struct selection_part){ 0 };
    if (hostile_below(hostile, 2) == 0)
        return;
    part->span = (struct report_span){ any_time(hostile), any_time(hostile) };
    part->request.span = hostile_below(hostile, 2) ? &part->span : NULL;
    part->filter = (struct analysis_filter){
        .only = (int)hostile_below(hostile, 32),
        .pid = 1,
        .tid = (int64_t)hostile_below(hostile, 3),
        .device = (int64_t)hostile_below(hostile, 3),
        .stream = (int64_t)hostile_below(hostile, 3),
    };
    if (part->filter.only & ONLY_STEPS) {
        if (steps_read(&part->steps, report, &(struct steps_request){ 0 }, &err) == 0)
            part->filter.steps = &part->steps;
        else
            part->filter.only &= ~ONLY_STEPS;
    }
    part->request.filter = &part->filter;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static const struct analysis_option options[] = {
    { "base", NULL },
    { "mangled", NULL },
    { "gap", "10" },
    { "thread", NULL },
    { "module", NULL },
    { "lines", NULL },
    { "waiting", NULL },
    { "python", NULL },
    { "native", NULL },
    { "nvtx-name", NULL },
    { "rows", "3" },
    { "stack", NULL },
    { "min", "5" },
    { "depth", "3" },
    { "ticks_threshold", "7" },
    { "threshold", "50" },
    { "chunks", "30" },
    { "start", "10" },
    { "end", "9223372036854775807" },
    { "process", "1" },
    { "nvtx", "range" },
};

static struct table *make_table(const struct analysis *analysis, struct report *report,
                                const struct analysis_request *request)
{
    struct table *table = NULL;
    struct error err = { 0 };

    expect_sentence(analysis->name, analysis_run(analysis, report, request, &table, &err), &err);
    return table;
}

static void print(const struct table *table)
{
    static const char *const units[] = { "nsec", "seconds", "auto" };
    struct text out = { 0 };

    for (const struct print_format *const *format = print_formats; *format; format++)
        for (size_t i = 0; i < COUNT_OF(units); i++) {
            text_clear(&out);
            (*format)->table(&out, table,
                             &(struct print_request){
                                 .time = time_unit_find(units[i]), .terminal_columns = 80, .to_terminal = 1 });
        }
    text_free(&out);
}

static void compare(const struct analysis *analysis, struct table *before, struct table *after)
{
    struct table *const tables[] = { before, after };
    const struct table_diff_request request = { .report = analysis->name, .rows_overlap = analysis->overlap != NULL };
    struct error err = { 0 };
    struct table_diff diff;
    int code = table_diff_make(tables, 1, 1, &request, &diff, &err);

    expect_sentence(analysis->name, code, &err);
    if (code == 0)
        table_diff_free(&diff);
}

/* About a quarter of them: a report is tried more often than it is read by all. */
static void run_analyses(struct hostile *hostile, struct report *report, const struct analysis *const *list)
{
    struct selection_part part;

    part_choose(&part, hostile, report);
    for (; *list; list++) {
        if (hostile_below(hostile, 4) != 0)
            continue;
        struct table *all = make_table(*list, report, &(struct analysis_request){ 0 }),
                     *some = make_table(*list, report, &part.request);
        if (all) {
            print(all);
            compare(*list, all, some ? some : all);
        }
        table_delete(all);
        table_delete(some);
        part.request.options = &options[hostile_below(hostile, COUNT_OF(options))];
        part.request.option_count = 1;
        table_delete(make_table(*list, report, &part.request));
        part.request.option_count = 0;
    }
    steps_free(&part.steps);
}

static void run_torch(struct hostile *hostile, struct report *report)
{
    struct torch_ops_request request = {
        .by_shapes = (int)hostile_below(hostile, 2),
        .stack_frames = (int)hostile_below(hostile, 3),
        .with_flops = 1,
        .sort_by = "cpu_time",
    };
    struct torch_ops ops;
    struct error err = { 0 };
    int code = torch_ops(&ops, report, &(struct analysis_request){ 0 }, &request, &err);

    expect_sentence("torch's table", code, &err);
    if (code == 0) {
        print(ops.table);
        table_delete(ops.table);
    }
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static void run_export(struct hostile *hostile, struct report *report)
{
    static const int64_t shifts[] = { 0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX / 2 };
    size_t count = 0;
    struct selection_part part;
    struct filter filter;
    struct error err = { 0 };

    while (exporters[count])
        count++;
    const struct exporter *exporter = exporters[hostile_below(hostile, count)];
    part_choose(&part, hostile, report);
    int is_filtered = part.request.filter && filter_open(&filter, report, &part.request, &err) == 0;
    struct report_span ranges[] = { { any_time(hostile), any_time(hostile) } };
    struct export_options wanted = {
        .lazy = (int)hostile_below(hostile, 2),
        .separate_strings = (int)hostile_below(hostile, 2),
        .normalize = (int)hostile_below(hostile, 2),
        .metric = hostile_below(hostile, 2) ? "self_cuda_time_total" : NULL,
        .python_samples = (int)hostile_below(hostile, 2),
        .waiting_samples = (int)hostile_below(hostile, 2),
        .shift_ns = shifts[hostile_below(hostile, COUNT_OF(shifts))],
        .ranges = ranges,
        .range_count = hostile_below(hostile, 2),
        .max_bytes = exporter->limits ? hostile_below(hostile, 4) * 20000 : 0,
        .filter = is_filtered ? &filter : NULL,
    };
    char path[80];
    snprintf(path, sizeof path, "%s.%s", export_path, exporter->extension);
    err = (struct error){ 0 };
    expect_sentence(exporter->name, export_file(exporter, report, path, 1, &wanted, &err), &err);
    unlink(path);
    if (is_filtered)
        filter_close(&filter);
    steps_free(&part.steps);
}

/* ---- the timeline ---------------------------------------------------------------------------------------------- */

static void ask(struct view *view, struct text *out, const char *request, const char *body)
{
    struct error err = { 0 };
    const char *type;

    text_clear(out);
    expect_sentence(request, view_answer(view, request, body, body ? strlen(body) : 0, out, &type, &err), &err);
}

static void ask_about_rows(struct hostile *hostile, struct view *view, struct text *out)
{
    char request[128];

    for (int i = 0; i < 8 && view->row_count; i++) {
        size_t row = hostile_below(hostile, view->row_count);
        for (int level = 0; level <= 52; level += 13) {
            snprintf(request, sizeof request, "tile?rows=%zu&level=%d&index=%d", row, level,
                     (int)hostile_below(hostile, 3) - 1);
            ask(view, out, request, NULL);
        }
        snprintf(request, sizeof request, "event?row=%zu&event=%u", row, (unsigned)hostile_below(hostile, 5));
        ask(view, out, request, NULL);
        snprintf(request, sizeof request, "at?row=%zu&time=%lld&slack=100000", row, (long long)any_time(hostile));
        ask(view, out, request, NULL);
        snprintf(request, sizeof request, "flame?source=events&row=%zu", row);
        ask(view, out, request, NULL);
    }
}

static void run_view(struct hostile *hostile, struct report *report)
{
    static const char *const requests[] = { "about",
                                            "rows",
                                            "overview?width=50",
                                            "names?ids=0,1,2,1073741825",
                                            "find?text=a",
                                            "next?text=e&at=0",
                                            "flame?source=cpu",
                                            "steps?bins=7",
                                            "steps?by=ranks",
                                            "flame?source=python",
                                            "advice",
                                            "summary",
                                            "table?report=nvtx_sum" };
    struct view *view;
    struct text out = { 0 };
    struct error err = { 0 };
    int code = view_open(report, &view, &err);

    expect_sentence("a view", code, &err);
    if (code != 0)
        return;
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        ask(view, &out, requests[i], NULL);
    ask(view, &out, "sql",
        "select count(*), sum(end - start), min(start) from NVTX_EVENTS where start < 9223372036854775807");
    ask_about_rows(hostile, view, &out);
    text_free(&out);
    view_close(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct hostile hostile = hostile_of(bytes, size);
    uint64_t what = hostile_below(&hostile, 4);
    struct report *report = make_report(&hostile);

    if (what == 0)
        run_analyses(&hostile, report, analyses);
    if (what == 1) {
        run_analyses(&hostile, report, rules);
        run_torch(&hostile, report);
    }
    if (what == 2)
        for (int i = 0; i < 4; i++)
            run_export(&hostile, report);
    if (what == 3)
        run_view(&hostile, report);
    report_close(report);
    return 0;
}
