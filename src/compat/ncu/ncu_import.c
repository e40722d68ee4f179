/* tacho ncu --import: counters of kernels in a report, as ncu prints them. */
#include <string.h>

#include "cmd/open_report.h"
#include "ncu_asked.h"
#include "ncu_page.h"

/* In the order of enum ncu_page; the last is refused. */
const char *const ncu_pages[] = { "details", "raw", "source", NULL };
const char *const ncu_units[] = { "auto", "base", NULL };
/* In the order of enum ncu_summary. */
const char *const ncu_summaries[] = { "none", "per-gpu", "per-kernel", "per-nvtx", NULL };

/* The place of a chosen name; the first is the default. */
static int chosen(const char *name, const char *const *names)
{
    int i = 0;

    while (name && strcmp(names[i], name) != 0)
        i++;
    return i;
}

/* Options that name nothing that the report has would print kernels without values. */
static int check_asked(const struct ncu_asked *asked, const struct kernel_counters *counters, struct error *err)
{
    size_t found = 0;

    for (size_t i = 0; i < counters->names.count; i++)
        found += ncu_asked_column(asked, counters, i) != 0;
    return found ? 0
                 : error_set(err, ERR_NO_DATA, "'%s' has none of these sections and metrics",
                             asked->settings ? asked->settings->import : "");
}

static int ncu_import_add_page(struct text *out, const struct kernel_counters *counters,
                               const struct ncu_settings *settings, struct error *err)
{
    struct ncu_asked asked;
    struct ncu_page_options options = {
        .page = (enum ncu_page)chosen(settings->page, ncu_pages),
        .summary = (enum ncu_summary)chosen(settings->print_summary, ncu_summaries),
        .base_units = chosen(settings->print_units, ncu_units),
        .is_text = !settings->csv,
        .asked = &asked,
    };
    int code;

    if ((code = ncu_asked_read(&asked, settings, counters, err)) != 0)
        goto free_asked;
    if ((code = check_asked(&asked, counters, err)) != 0)
        goto free_asked;
    if (ncu_csv_add(out, counters, &options) != 0)
        code = error_no_memory(err);
free_asked:
    ncu_asked_free(&asked);
    return code;
}

static int ncu_import_add_counters(struct text *out, struct report *report, const struct ncu_settings *settings,
                                   struct error *err)
{
    struct kernel_counters counters = { 0 };
    int code;

    if ((code = kernel_counters_read(&counters, report, err)) != 0)
        goto free_counters;
    if (!counters.kernel_count) {
        code = error_set(err, ERR_NO_DATA, "'%s' has no counters of kernels", settings->import);
        goto free_counters;
    }
    if (!settings->is_run && (code = ncu_choose_kernels(&counters, settings, err)) != 0)
        goto free_counters;
    code = ncu_import_add_page(out, &counters, settings, err);
free_counters:
    kernel_counters_free(&counters);
    return code;
}

int ncu_import(struct text *out, const struct ncu_settings *settings, struct error *err)
{
    struct report *report;
    int code;

    if ((code = open_report(settings->import, &report, err)) != 0)
        return code;
    code = ncu_import_add_counters(out, report, settings, err);
    close_report(report, settings->import);
    return code;
}
