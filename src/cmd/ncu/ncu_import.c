/* tacho ncu --import: counters of kernels in a report, as ncu prints them. */
#include <string.h>

#include "cmd/open_report.h"
#include "ncu_command.h"
#include "ncu_csv.h"

/* In the order of enum ncu_page. */
const char *const *ncu_page_names(void)
{
    static const char *const names[] = { "details", "raw", NULL };

    return names;
}

const char *const *ncu_unit_names(void)
{
    static const char *const names[] = { "auto", "base", NULL };

    return names;
}

/* In the order of enum ncu_summary. */
const char *const *ncu_summary_names(void)
{
    static const char *const names[] = { "none", "per-gpu", "per-kernel", "per-nvtx", NULL };

    return names;
}

/* The place of a chosen name; the first is the default. */
static int chosen(const char *name, const char *const *names)
{
    int i = 0;

    while (name && strcmp(names[i], name) != 0)
        i++;
    return i;
}

static int add_counters(struct text *out, struct report *report, const struct ncu_settings *settings, struct error *err)
{
    struct ncu_page_options csv = {
        .page = (enum ncu_page)chosen(settings->page, ncu_page_names()),
        .summary = (enum ncu_summary)chosen(settings->print_summary, ncu_summary_names()),
        .base_units = chosen(settings->print_units, ncu_unit_names()),
        .is_text = !settings->csv,
    };
    struct kernel_counters counters = { 0 };
    int code;

    if ((code = kernel_counters_read(&counters, report, err)) != 0)
        goto free_counters;
    if (!counters.kernel_count)
        code = error_set(err, ERR_NO_DATA, "'%s' has no counters of kernels", settings->import);
    else if (ncu_csv_add(out, &counters, &csv) != 0)
        code = error_set(err, ERR_NO_MEMORY, "out of memory");
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
    code = add_counters(out, report, settings, err);
    close_report(report, settings->import);
    return code;
}
