#include "ncu_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "list_columns.h"
#include "ncu_details.h"
#include "ncu_figures.h"
#include "report/counters/counter_units.h"

struct ncu_text_page {
    struct text *out;
    const struct kernel_counters *counters;
    const struct ncu_page_options *options;
};

/* ---- kernels --------------------------------------------------------------------------------------------------- */

static void ncu_text_add_pooled(const struct ncu_text_page *page, int64_t id)
{
    size_t length = 0;
    const char *bytes = id ? report_string(page->counters->report, id, &length) : "";

    text_add_bytes(page->out, bytes, length);
}

static void ncu_text_add_sizes(struct text *out, const int64_t size[3])
{
    text_addf(out, "(%lld, %lld, %lld)", (long long)size[0], (long long)size[1], (long long)size[2]);
}

/* A summary of all kernels of a GPU has no name, so the first fact may begin the line. */
static void add_comma(struct text *out, size_t start)
{
    text_add(out, out->length > start ? ", " : "");
}

static void add_fact(struct text *out, size_t start, const char *name, int64_t number)
{
    if (number < 0)
        return;
    add_comma(out, start);
    text_addf(out, "%s %lld", name, (long long)number);
}

/* "copy(char*) (7, 1, 1)x(64, 2, 1), Context 1, Stream 7, Device 0, CC 9.0" */
static void ncu_text_add_kernel(const struct ncu_text_page *page, const struct counted_kernel *kernel)
{
    struct text *out = page->out;

    text_add(out, "  ");
    size_t start = out->length;
    ncu_text_add_pooled(page, kernel->name);
    if (kernel->grid[0]) {
        text_add_char(out, ' ');
        ncu_text_add_sizes(out, kernel->grid);
        text_add_char(out, 'x');
        ncu_text_add_sizes(out, kernel->block);
    }
    add_fact(out, start, "Context", kernel->context);
    add_fact(out, start, "Stream", kernel->stream);
    add_fact(out, start, "Device", kernel->device);
    if (kernel->major >= 0) {
        add_comma(out, start);
        text_addf(out, "CC %lld.%lld", (long long)kernel->major, (long long)kernel->minor);
    }
    if (kernel->is_summary)
        add_fact(out, start, "Invocations", kernel->invocations);
    text_add_char(out, '\n');
}

static int ncu_text_is_of_process(const struct counted_kernel *a, const struct counted_kernel *b)
{
    return a->pid == b->pid && a->process_name == b->process_name && a->host_name == b->host_name;
}

/* "[4711] train@127.0.0.1" */
static void ncu_text_add_process(const struct ncu_text_page *page, const struct counted_kernel *kernel)
{
    if (kernel->pid < 0)
        return;
    text_addf(page->out, "[%lld] ", (long long)kernel->pid);
    ncu_text_add_pooled(page, kernel->process_name);
    if (kernel->host_name)
        text_add_char(page->out, '@');
    ncu_text_add_pooled(page, kernel->host_name);
    text_add_char(page->out, '\n');
}

/* ---- sections -------------------------------------------------------------------------------------------------- */

static void ncu_text_set_figure(struct text *cell, double value, int is_summary)
{
    text_clear(cell);
    if (isnan(value))
        text_add(cell, "n/a");
    else if (is_summary)
        ncu_figure_add_mean(cell, value);
    else
        ncu_figure_add(cell, value);
}

static void ncu_text_add_row(const struct ncu_text_page *page, struct list_columns *columns,
                             const struct ncu_detail *row)
{
    const struct counter_value *value = row->value;
    const char *base = page->counters->metrics[value->metric].unit;
    int is_summary = page->options->summary != NCU_SUMMARY_NONE;
    struct text unit = { 0 }, cells[3] = { { 0 }, { 0 }, { 0 } };
    double size = 1;

    if (page->options->base_units || isnan(value->value))
        text_add(&unit, base);
    else
        size = counter_unit_scaled(&unit, base, value->value);
    ncu_text_set_figure(&cells[0], (is_summary ? value->minimum : value->value) / size, is_summary);
    ncu_text_set_figure(&cells[1], value->maximum / size, is_summary);
    ncu_text_set_figure(&cells[2], value->value / size, is_summary);
    if (isnan(value->value) && value->text) {
        size_t length;
        const char *bytes = report_string(page->counters->report, value->text, &length);
        text_clear(&cells[0]);
        text_add_bytes(&cells[0], bytes, length);
    }
    list_columns_add(columns, (const char *const[]){ row->label, text_string(&unit), text_string(&cells[0]),
                                                     text_string(&cells[1]), text_string(&cells[2]) });
    for (size_t i = 0; i < 3; i++) {
        columns->cells.failed |= cells[i].failed;
        text_free(&cells[i]);
    }
    columns->cells.failed |= unit.failed;
    text_free(&unit);
}

/* The rows of one section, from the first on; returns how many they are. */
static size_t ncu_text_add_section(const struct ncu_text_page *page, const struct ncu_detail *rows, size_t count)
{
    static const char *const of_launches[] = { "Metric Name", "Metric Unit", "Metric Value" };
    static const char *const of_summaries[] = { "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average" };
    int is_summary = page->options->summary != NCU_SUMMARY_NONE;
    struct list_columns columns = { .count = is_summary ? 5 : 3, .indent = 4, .is_page = 1 };
    size_t i = 0;

    if (*rows->section)
        text_addf(page->out, "    Section: %s\n", rows->section);
    list_columns_add(&columns, is_summary ? of_summaries : of_launches);
    for (; i < count && strcmp(rows[i].section, rows->section) == 0; i++)
        ncu_text_add_row(page, &columns, &rows[i]);
    list_columns_print(&columns, page->out);
    text_add_char(page->out, '\n');
    return i;
}

/* ---- pages ----------------------------------------------------------------------------------------------------- */

static int ncu_text_add_kernels(const struct ncu_text_page *page, const struct counted_kernel *const *kernels)
{
    int (*read)(struct ncu_details *, const struct kernel_counters *, const struct counted_kernel *,
                const struct ncu_asked *) = page->options->page == NCU_PAGE_RAW ? ncu_details_read_all
                                                                                : ncu_details_read;
    struct ncu_details details = { 0 };
    int code = 0;

    for (size_t k = 0; k < page->counters->kernel_count; k++) {
        const struct counted_kernel *kernel = kernels[k];
        code = read(&details, page->counters, kernel, page->options->asked);
        if (code != 0)
            break;
        if (page->options->summary != NCU_SUMMARY_NONE)
            ncu_details_sort(&details);
        if (k == 0 || !ncu_text_is_of_process(kernels[k - 1], kernel))
            ncu_text_add_process(page, kernel);
        ncu_text_add_kernel(page, kernel);
        for (size_t i = 0; i < details.count;)
            i += ncu_text_add_section(page, &details.rows[i], details.count - i);
    }
    ncu_details_free(&details);
    return code;
}

static int by_name_and_size(const void *a, const void *b, void *report)
{
    const struct counted_kernel *x = *(const struct counted_kernel *const *)a;
    const struct counted_kernel *y = *(const struct counted_kernel *const *)b;
    int order = strcmp(report_string(report, x->name, NULL), report_string(report, y->name, NULL));

    for (size_t i = 0; i < 3 && !order; i++)
        order = COMPARE(x->grid[i], y->grid[i]);
    return order ?: COMPARE(x, y);
}

int ncu_text_add(struct text *out, const struct kernel_counters *counters, const struct ncu_page_options *options)
{
    struct ncu_text_page page = { out, counters, options };
    const struct counted_kernel **kernels = malloc((counters->kernel_count + 1) * sizeof *kernels);

    if (!kernels)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < counters->kernel_count; i++)
        kernels[i] = &counters->kernels[i];
    if (options->summary == NCU_SUMMARY_PER_KERNEL)
        qsort_r(kernels, counters->kernel_count, sizeof *kernels, by_name_and_size, counters->report);
    int code = ncu_text_add_kernels(&page, kernels);
    free(kernels);
    return code != 0 || text_failed(out) ? ERR_NO_MEMORY : 0;
}
