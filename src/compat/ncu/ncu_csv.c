/* Writes the pages. Columns are rows of a table, so that header and cells cannot differ. */
#include "ncu_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ncu_details.h"
#include "ncu_figures.h"
#include "report/counters/counter_units.h"

/* ---- cells ----------------------------------------------------------------------------------------------------- */

static void ncu_csv_add_quoted(struct text *out, const char *bytes, size_t length)
{
    if (out->length && text_string(out)[out->length - 1] != '\n')
        text_add_char(out, ',');
    text_add_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '"')
            text_add_char(out, '"');
        text_add_char(out, bytes[i]);
    }
    text_add_char(out, '"');
}

static void ncu_csv_add_string(struct text *out, const char *string)
{
    ncu_csv_add_quoted(out, string, strlen(string));
}

static void ncu_csv_add_pooled(struct text *out, struct report *report, int64_t id)
{
    size_t length = 0;
    const char *bytes = id ? report_string(report, id, &length) : "";

    ncu_csv_add_quoted(out, bytes, length);
}

static void ncu_csv_add_measured(struct text *out, double value, double size)
{
    struct text cell = { 0 };

    if (isnan(value))
        text_add(&cell, "n/a");
    else
        ncu_figure_add_mean(&cell, value / size);
    ncu_csv_add_quoted(out, text_string(&cell), cell.length);
    text_free(&cell);
}

/* A number, a text, a number with the values of its instances, or neither. `scaled`: the metric, if the column of a raw
 * page has a scaled unit. */
static void ncu_csv_add_value(struct text *out, struct report *report, const struct counter_value *value, double size,
                              const char *scaled)
{
    struct text cell = { 0 };
    size_t length;
    const char *bytes = report_string(report, value->text, &length);

    if (!isnan(value->value) && scaled)
        ncu_figure_add_scaled(&cell, scaled, value->value, size);
    else if (!isnan(value->value))
        ncu_figure_add(&cell, value->value / size);
    if (!isnan(value->value) && length)
        text_add_char(&cell, ' ');
    text_add_bytes(&cell, bytes, length);
    if (!cell.length)
        text_add(&cell, "n/a");
    ncu_csv_add_quoted(out, text_string(&cell), cell.length);
    text_free(&cell);
}

/* ---- leading columns ------------------------------------------------------------------------------------------- */

static void ncu_csv_add_count(struct text *out, int64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)number);
    ncu_csv_add_string(out, number < 0 ? "" : text);
}

static void ncu_csv_add_sizes(struct text *out, const int64_t size[3])
{
    char text[80];

    snprintf(text, sizeof text, "(%lld, %lld, %lld)", (long long)size[0], (long long)size[1], (long long)size[2]);
    ncu_csv_add_string(out, size[0] ? text : "");
}

#define CELL(name)                                                                                                     \
    static void add_##name(struct text *out, const struct kernel_counters *counters,                                   \
                           const struct counted_kernel *kernel)
CELL(launch)
{
    ncu_csv_add_count(out, kernel->launch);
}
CELL(process)
{
    ncu_csv_add_count(out, kernel->pid);
}
CELL(process_name)
{
    ncu_csv_add_pooled(out, counters->report, kernel->process_name);
}
CELL(host_name)
{
    ncu_csv_add_pooled(out, counters->report, kernel->host_name);
}
CELL(kernel_name)
{
    ncu_csv_add_pooled(out, counters->report, kernel->name);
}
CELL(context)
{
    ncu_csv_add_count(out, kernel->context);
}
CELL(stream)
{
    ncu_csv_add_count(out, kernel->stream);
}
CELL(block)
{
    ncu_csv_add_sizes(out, kernel->block);
}
CELL(grid)
{
    ncu_csv_add_sizes(out, kernel->grid);
}
CELL(device)
{
    ncu_csv_add_count(out, kernel->device);
}
CELL(capability)
{
    char text[48];

    snprintf(text, sizeof text, "%lld.%lld", (long long)kernel->major, (long long)kernel->minor);
    ncu_csv_add_string(out, kernel->major < 0 ? "" : text);
}
CELL(invocations)
{
    ncu_csv_add_count(out, kernel->invocations);
}
CELL(range)
{
    ncu_csv_add_pooled(out, counters->report, kernel->range);
}

/* Which kinds of table have a column: a bit for each enum ncu_summary. */
enum {
    IN_LAUNCHES = 1 << NCU_SUMMARY_NONE,
    IN_GPUS = 1 << NCU_SUMMARY_PER_GPU,
    IN_KERNELS = 1 << NCU_SUMMARY_PER_KERNEL,
    IN_RANGES = 1 << NCU_SUMMARY_PER_NVTX
};

static const struct leading {
    const char *name;
    unsigned in;
    void (*add)(struct text *out, const struct kernel_counters *counters, const struct counted_kernel *kernel);
} leadings[] = {
    { "ID", IN_LAUNCHES, add_launch },
    { "Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg", IN_RANGES, add_range },
    { "Process ID", IN_LAUNCHES | IN_KERNELS, add_process },
    { "Process Name", IN_LAUNCHES | IN_KERNELS, add_process_name },
    { "Host Name", IN_LAUNCHES | IN_KERNELS, add_host_name },
    { "Kernel Name", IN_LAUNCHES | IN_KERNELS | IN_RANGES, add_kernel_name },
    { "Context", IN_LAUNCHES, add_context },
    { "Stream", IN_LAUNCHES, add_stream },
    { "Block Size", IN_LAUNCHES | IN_KERNELS, add_block },
    { "Grid Size", IN_LAUNCHES | IN_KERNELS, add_grid },
    { "Device", IN_LAUNCHES | IN_KERNELS | IN_GPUS, add_device },
    { "CC", IN_LAUNCHES | IN_KERNELS | IN_GPUS, add_capability },
    { "Invocations", IN_GPUS | IN_KERNELS | IN_RANGES, add_invocations },
};
#define LEADINGS COUNT_OF(leadings)
#define RANGES_NAME "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"

/* A page that is being written. */
struct ncu_csv_page {
    struct text *out;
    const struct kernel_counters *counters;
    const struct ncu_page_options *options;
    int has_ranges; /* some launch was inside of NVTX ranges */
};

static void add_leading_names(const struct ncu_csv_page *page)
{
    for (size_t i = 0; i < LEADINGS; i++)
        if (leadings[i].in & 1u << page->options->summary)
            ncu_csv_add_string(page->out, leadings[i].name);
    if (page->has_ranges)
        ncu_csv_add_string(page->out, RANGES_NAME);
}

static void add_leading(const struct ncu_csv_page *page, const struct counted_kernel *kernel)
{
    for (size_t i = 0; i < LEADINGS; i++)
        if (leadings[i].in & 1u << page->options->summary)
            leadings[i].add(page->out, page->counters, kernel);
    if (page->has_ranges)
        ncu_csv_add_pooled(page->out, page->counters->report, kernel->range);
}

/* The unit in which a value is printed; returns how many base units it is. */
static double add_unit(const struct ncu_csv_page *page, const char *base, double value)
{
    struct text unit = { 0 };
    double size = 1;

    if (page->options->base_units || isnan(value))
        text_add(&unit, base);
    else
        size = counter_unit_scaled(&unit, base, value);
    ncu_csv_add_quoted(page->out, text_string(&unit), unit.length);
    text_free(&unit);
    return size;
}

/* ---- the raw page ---------------------------------------------------------------------------------------------- */

struct raw_column {
    double size;   /* base units in one of the printed unit */
    int is_scaled; /* numbers have the form that ncu gives to scaled ones */
    int is_printed;
};

static void add_raw_rows(const struct ncu_csv_page *page, const struct raw_column *columns)
{
    const struct kernel_counters *counters = page->counters;

    for (size_t k = 0; k < counters->kernel_count; k++) {
        const struct counted_kernel *kernel = &counters->kernels[k];
        size_t at = kernel->first, end = kernel->first + kernel->count;
        add_leading(page, kernel);
        for (size_t m = 0; m < counters->names.count; m++) {
            const struct counter_value *value = at < end && counters->values[at].metric == m ? &counters->values[at++]
                                                                                             : NULL;
            if (!columns[m].is_printed)
                continue;
            if (value)
                ncu_csv_add_value(page->out, counters->report, value, columns[m].size,
                                  columns[m].is_scaled ? counters->metrics[m].name : NULL);
            else
                ncu_csv_add_string(page->out, "");
        }
        text_add_char(page->out, '\n');
    }
}

/* A column has one unit: that of its greatest value. */
static void add_raw_units(const struct ncu_csv_page *page, struct raw_column *columns)
{
    const struct kernel_counters *counters = page->counters;

    for (size_t m = 0; m < counters->names.count; m++)
        columns[m].size = NAN;
    for (size_t i = 0; i < counters->value_count; i++) {
        double *most = &columns[counters->values[i].metric].size;
        *most = fmax(*most, fabs(counters->values[i].value));
    }
    for (size_t m = 0; m < counters->names.count; m++) {
        const char *unit = counters->metrics[m].unit;
        columns[m].is_scaled = !page->options->base_units && *unit && columns[m].size > 0;
        if (columns[m].is_printed)
            columns[m].size = add_unit(page, unit, columns[m].size);
    }
}

static int ncu_csv_add_raw(const struct ncu_csv_page *page)
{
    const struct kernel_counters *counters = page->counters;
    struct raw_column *columns = malloc((counters->names.count + 1) * sizeof *columns);

    if (!columns)
        return ERR_NO_MEMORY;
    add_leading_names(page);
    for (size_t m = 0; m < counters->names.count; m++)
        if ((columns[m].is_printed = ncu_asked_column(page->options->asked, counters, m)))
            ncu_csv_add_string(page->out, counters->metrics[m].name);
    text_add_char(page->out, '\n');
    for (size_t i = 0; i < LEADINGS; i++)
        if (leadings[i].in & 1u << page->options->summary)
            ncu_csv_add_string(page->out, "");
    if (page->has_ranges)
        ncu_csv_add_string(page->out, "");
    add_raw_units(page, columns);
    text_add_char(page->out, '\n');
    add_raw_rows(page, columns);
    free(columns);
    return 0;
}

/* ---- the details page, and summaries of both ------------------------------------------------------------------- */

/* The columns of rules, which ncu has on the details page only. Tacho has none: as in ncu's rows of metrics, the first
 * of them is empty and the others are missing. */
static const char *const rule_columns[] = { "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type",
                                            "Estimated Speedup" };

static int has_rules(const struct ncu_csv_page *page)
{
    return page->options->page == NCU_PAGE_DETAILS && page->options->summary == NCU_SUMMARY_NONE;
}

static void ncu_csv_add_row(const struct ncu_csv_page *page, const struct counted_kernel *kernel,
                            const struct ncu_detail *row)
{
    const struct counter_value *value = row->value;

    add_leading(page, kernel);
    if (page->options->page == NCU_PAGE_DETAILS)
        ncu_csv_add_string(page->out, row->section);
    ncu_csv_add_string(page->out, row->label);
    double size = add_unit(page, page->counters->metrics[value->metric].unit, value->value);
    if (page->options->summary != NCU_SUMMARY_NONE) {
        ncu_csv_add_measured(page->out, value->minimum, size);
        ncu_csv_add_measured(page->out, value->maximum, size);
        ncu_csv_add_measured(page->out, value->value, size);
    } else {
        ncu_csv_add_value(page->out, page->counters->report, value, size, NULL);
    }
    text_add(page->out, has_rules(page) ? ",\n" : "\n");
}

static int ncu_csv_add_kernels(const struct ncu_csv_page *page)
{
    int (*read)(struct ncu_details *, const struct kernel_counters *, const struct counted_kernel *,
                const struct ncu_asked *) = page->options->page == NCU_PAGE_RAW ? ncu_details_read_all
                                                                                : ncu_details_read;
    struct ncu_details details = { 0 };
    int code = 0;

    for (size_t k = 0; k < page->counters->kernel_count; k++) {
        const struct counted_kernel *kernel = &page->counters->kernels[k];
        code = read(&details, page->counters, kernel, page->options->asked);
        if (code != 0)
            break;
        for (size_t i = 0; i < details.count; i++)
            ncu_csv_add_row(page, kernel, &details.rows[i]);
    }
    ncu_details_free(&details);
    return code;
}

static int ncu_csv_add_rows(const struct ncu_csv_page *page)
{
    static const char *const of_launches[] = { "Metric Name", "Metric Unit", "Metric Value", NULL };
    static const char *const of_summaries[] = { "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average", NULL };

    add_leading_names(page);
    if (page->options->page == NCU_PAGE_DETAILS)
        ncu_csv_add_string(page->out, "Section Name");
    for (const char *const *name = page->options->summary ? of_summaries : of_launches; *name; name++)
        ncu_csv_add_string(page->out, *name);
    for (size_t i = 0; has_rules(page) && i < COUNT_OF(rule_columns); i++)
        ncu_csv_add_string(page->out, rule_columns[i]);
    text_add_char(page->out, '\n');
    return ncu_csv_add_kernels(page);
}

/* ---- pages ----------------------------------------------------------------------------------------------------- */

static int ncu_csv_add_page(struct text *out, const struct kernel_counters *counters,
                            const struct ncu_page_options *options)
{
    struct ncu_csv_page page = { out, counters, options, 0 };

    if (options->is_text)
        return ncu_text_add(out, counters, options);
    for (size_t i = 0; options->summary == NCU_SUMMARY_NONE && i < counters->kernel_count; i++)
        page.has_ranges |= counters->kernels[i].range != 0;
    int is_wide = options->page == NCU_PAGE_RAW && options->summary == NCU_SUMMARY_NONE;
    if ((is_wide ? ncu_csv_add_raw(&page) : ncu_csv_add_rows(&page)) != 0)
        return ERR_NO_MEMORY;
    return text_failed(out) ? ERR_NO_MEMORY : 0;
}

int ncu_csv_add(struct text *out, const struct kernel_counters *counters, const struct ncu_page_options *options)
{
    static const unsigned by[] = {
        [NCU_SUMMARY_PER_GPU] = COUNTERS_BY_DEVICE,
        [NCU_SUMMARY_PER_KERNEL] = COUNTERS_BY_PROCESS | COUNTERS_BY_NAME | COUNTERS_BY_SIZES | COUNTERS_BY_DEVICE,
        [NCU_SUMMARY_PER_NVTX] = COUNTERS_BY_RANGE | COUNTERS_BY_NAME,
    };
    struct kernel_counters summary = { 0 };
    int code;

    if (options->summary == NCU_SUMMARY_NONE)
        return ncu_csv_add_page(out, counters, options);
    if ((code = kernel_counters_summarize(&summary, counters, by[options->summary])) != 0)
        goto free_summary;
    code = ncu_csv_add_page(out, &summary, options);
free_summary:
    kernel_counters_free(&summary);
    return code;
}
