/* The tables of the page: tensor cores, GPU metrics, the top ten, memory and the machine. */
#include <stdlib.h>
#include <string.h>

#include "analyze/summary/machine_facts.h"
#include "base/human.h"
#include "cmd/info/info_labels.h"
#include "cmd/print/html_escape.h"
#include "html_page.h"

/* ---- tensor cores ---------------------------------------------------------------------------------------------- */

static double tensor_ns(const struct table *kernels, const char *use)
{
    double sum = 0;

    for (size_t row = 0; row < table_row_count(kernels); row++)
        if (strcmp(table_text_at(kernels, row, "Tensor Cores"), use) == 0)
            sum += table_number_at(kernels, row, "Total Time");
    return sum;
}

void html_add_tensor_cores(struct text *out, struct html_page *page)
{
    static const char *const columns[] = { "Time", "Total Time", "Instances", "Tensor Cores",
                                           "Type", "Known By",   "Name",      NULL };
    static const struct html_table products = { "Kernels that multiply matrices", columns, "Product", "yes" };
    const struct table *kernels = page->reports[RUN_TABLE_TENSOR_CORES];

    if (!kernels)
        return;
    const struct html_part parts[] = {
        { "On tensor cores", "compute", tensor_ns(kernels, "yes"), 0 },
        { "Without tensor cores", "other", tensor_ns(kernels, "no"), 0 },
        { "Not known", "idle", tensor_ns(kernels, "unknown"), 0 },
    };
    html_add_parts(out, "Time of kernels by their use of tensor cores", parts, COUNT_OF(parts));
    html_add_table(out, kernels, &products);
    html_add_command(out, page, "stats -r tensor_core_sum");
}

/* ---- GPU metrics ----------------------------------------------------------------------------------------------- */

void html_add_metrics(struct text *out, struct html_page *page)
{
    static const char *const columns[] = { "GPU", "Avg", "Min", "Med", "P95", "Max", "Unit", "Metric", NULL };
    static const struct html_table metrics = { "Samples of GPU metrics", columns, NULL, NULL };

    if (!page->reports[RUN_TABLE_METRICS])
        return;
    html_add_table(out, page->reports[RUN_TABLE_METRICS], &metrics);
    html_add_command(out, page, "stats -r gpu_metrics_sum");
}

/* ---- top ten --------------------------------------------------------------------------------------------------- */

static const char *const operator_columns[] = { "Time", "Self CUDA", "Self CPU", "Calls", "FLOPs", "Name", NULL };
static const char *const html_details_kernel_columns[] = {
    "Time", "Total Time", "Instances", "Avg", "Max", "Name", NULL
};
static const char *const html_details_call_columns[] = {
    "Time", "Total Time", "Num Calls", "Avg", "Max", "Name", NULL
};
static const char *const sample_columns[] = { "Self", "Total", "Self Samples", "Function", "Module", NULL };

static const struct {
    enum run_table report;
    struct html_table table;
    const char *command;
} tops[] = {
    { RUN_TABLE_OPERATORS, { "Operators of PyTorch", operator_columns, NULL, NULL }, "stats -r torch_op_sum" },
    { RUN_TABLE_KERNELS, { "Kernels", html_details_kernel_columns, NULL, NULL }, "stats -r cuda_gpu_kern_sum" },
    { RUN_TABLE_PYTHON, { "Python functions", sample_columns, NULL, NULL }, "stats -r python_sample_sum" },
    { RUN_TABLE_FUNCTIONS, { "Functions", sample_columns, NULL, NULL }, "stats -r cpu_sample_sum" },
    { RUN_TABLE_OS_CALLS,
      { "Calls of the operating system", html_details_call_columns, NULL, NULL },
      "stats -r osrt_sum" },
};

void html_add_top(struct text *out, struct html_page *page)
{
    for (size_t i = 0; i < COUNT_OF(tops); i++) {
        if (!page->reports[tops[i].report])
            continue;
        html_add_table(out, page->reports[tops[i].report], &tops[i].table);
        html_add_command(out, page, tops[i].command);
    }
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

void html_add_memory(struct text *out, struct html_page *page)
{
    static const char *const peak_columns[] = { "Share",  "Bytes", "Allocations", "Operator",
                                                "Module", "Line",  "Device",      NULL };
    static const char *const copy_columns[] = { "Time", "Total Time", "Count", "Avg", "Max", "Operation", NULL };
    static const struct html_table peak = { "Allocations in use at the peak", peak_columns, NULL, NULL };
    static const struct html_table copies = { "Copies and fills", copy_columns, NULL, NULL };

    if (page->reports[RUN_TABLE_MEMORY]) {
        html_add_table(out, page->reports[RUN_TABLE_MEMORY], &peak);
        html_add_command(out, page, "stats -r torch_memory_peak");
    }
    if (page->reports[RUN_TABLE_COPIES]) {
        html_add_table(out, page->reports[RUN_TABLE_COPIES], &copies);
        html_add_command(out, page, "stats -r cuda_gpu_mem_time_sum");
    }
}

/* ---- the machine ----------------------------------------------------------------------------------------------- */

static void html_details_add_pair(struct text *out, const char *label, const struct text *value)
{
    if (!value->length)
        return;
    text_add(out, "<div><dt>");
    html_add_string(out, label);
    text_add(out, "</dt><dd>");
    html_escape(out, text_string(value), value->length);
    text_add(out, "</dd></div>\n");
}

/* The values of a table that `tacho info` has a label for. Others may be secrets: nsys keeps the whole environment. */
static void html_details_add_pairs(struct text *out, struct report *report, const char *table)
{
    static const char *const names[] = { "name", "value", NULL };
    struct small_table rows;
    struct error err;

    if (small_table_read(&rows, report, table, names, &err) != 0)
        return;
    for (size_t i = 0; i < rows.columns.rows; i++) {
        const struct cmd_source_label *label = info_label_find(small_table_text(&rows, i, 0, NULL));
        struct text value = { 0 };
        if (!label || !label->label)
            continue;
        info_label_add(&value, label, small_table_text(&rows, i, 1, NULL));
        html_details_add_pair(out, label->label, &value);
        text_free(&value);
    }
    small_table_free(&rows);
}

static void html_details_add_start(struct text *out, struct report *report)
{
    static const char *const names[] = { "utcTime", NULL };
    struct small_table rows;
    struct error err;
    struct text value = { 0 };

    if (small_table_read(&rows, report, "TARGET_INFO_SESSION_START_TIME", names, &err) != 0)
        return;
    if (rows.columns.rows && *small_table_text(&rows, 0, 0, NULL))
        text_addf(&value, "%s UTC", small_table_text(&rows, 0, 0, NULL));
    html_details_add_pair(out, "Started", &value);
    text_free(&value);
    small_table_free(&rows);
}

static void html_details_add_warnings(struct text *out, const struct html_page *page)
{
    if (!page->facts.warning_count)
        return;
    text_add(out, "<h3>Notes of the capture</h3>\n<ul>\n");
    for (size_t i = 0; i < page->facts.warning_count; i++) {
        text_add(out, "<li>");
        html_add_string(out, capture_warning(&page->facts, i));
        text_add(out, "</li>\n");
    }
    text_add(out, "</ul>\n");
}

void html_add_system(struct text *out, struct html_page *page)
{
    static const struct {
        const char *what, *label;
    } machine[] = { { "driverVersion", "Driver" }, { "cudaVersion", "CUDA" }, { "framework", "Framework" } };
    struct report *report = page->report;
    struct text value = { 0 };

    text_add(out, "<dl class=\"system\">\n");
    html_details_add_start(out, report);
    machine_gpu_names(&value, report);
    html_details_add_pair(out, "GPUs", &value);
    for (size_t i = 0; i < COUNT_OF(machine); i++) {
        text_clear(&value);
        machine_fact_add(&value, report, machine[i].what);
        html_details_add_pair(out, machine[i].label, &value);
    }
    text_free(&value);
    html_details_add_pairs(out, report, "TARGET_INFO_SYSTEM_ENV");
    html_details_add_pairs(out, report, "META_DATA_CAPTURE");
    text_add(out, "</dl>\n");
    html_details_add_warnings(out, page);
    html_add_command(out, page, "info");
}
