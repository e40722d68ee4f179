#include "ncu_outcome.h"

#include "analyze/engine/row_cursor.h"
#include "cmd/open_report.h"

enum { NAMES_MOST = 5 };

static void read_passes(struct ncu_outcome *outcome, struct report *report)
{
    static const char *const names[] = { "passes", NULL };
    struct row_cursor rows;
    struct error err = { 0 };

    if (row_cursor_open(&rows, report, "TACHO_KERNEL_COUNTERS", names, &err) != 0)
        return;
    while (row_cursor_next(&rows))
        if (row_int_or(&rows, 0, 1) > outcome->passes)
            outcome->passes = row_int_or(&rows, 0, 1);
    row_cursor_close(&rows);
}

/* "square, own_stream, …" */
static void ncu_outcome_read_launches(struct ncu_outcome *outcome, struct report *report)
{
    static const char *const names[] = { "shortName", NULL };
    int64_t seen[NAMES_MOST];
    size_t count = 0, is_cut = 0;
    struct row_cursor rows;
    struct error err = { 0 };

    if (row_cursor_open(&rows, report, "CUPTI_ACTIVITY_KIND_KERNEL", names, &err) != 0)
        return;
    while (row_cursor_next(&rows)) {
        int64_t name = row_int_or(&rows, 0, 0);
        size_t at = 0;
        outcome->launches++;
        while (at < count && seen[at] != name)
            at++;
        is_cut |= at == NAMES_MOST;
        if (at < count || at == NAMES_MOST)
            continue;
        seen[count++] = name;
        text_addf(&outcome->names, "%s%.80s", at ? ", " : "", report_string(report, name, NULL));
    }
    text_add(&outcome->names, is_cut ? ", …" : "");
    row_cursor_close(&rows);
}

void ncu_outcome_read(struct ncu_outcome *outcome, const char *path)
{
    struct report *report;
    struct error err = { 0 };

    *outcome = (struct ncu_outcome){ 0 };
    if (open_report(path, &report, &err) != 0)
        return;
    read_passes(outcome, report);
    ncu_outcome_read_launches(outcome, report);
    close_report(report, path);
}

void ncu_outcome_free(struct ncu_outcome *outcome)
{
    text_free(&outcome->names);
}
