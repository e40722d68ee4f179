/* The heap in the last lines: how much there was at the peak and who held most of it, and what was never freed. */
#include "heap_summary.h"

#include <string.h>

#include "analyze/registry.h"
#include "analyze/summary/run_figures.h"
#include "base/human.h"
#include "base/saturating.h"
#include "cmd/print/display.h"

enum { MOST_ROWS = 2000000 }; /* of allocations: nobody waits for more at the end of a program */

/* "20.4 MB at the peak, 98.2 % of it by many (heap.c:119)" */
static void heap_summary_add_part(struct text *out, const struct table *table, const char *column, const char *words)
{
    enum { WIDEST = 70 };
    double sum = 0, most = 0;
    size_t row_of_most = 0;

    for (size_t row = 0; row < table_row_count(table); row++) {
        double bytes = table_number_at(table, row, column);
        sum += bytes;
        if (bytes > most) {
            most = bytes;
            row_of_most = row;
        }
    }
    human_bytes(out, (uint64_t)saturating_from_double(sum));
    text_addf(out, " %s", words);
    if (most <= 0)
        return;
    const char *where = table_text_at(table, row_of_most, "Where");
    text_add(out, ", ");
    summary_add_share(out, most, sum);
    text_add(out, " of it by ");
    display_add(out, *where ? where : "[unknown]", strlen(*where ? where : "[unknown]"), WIDEST);
}

/* Whether a note of the capture says why there is nothing. */
static int heap_summary_is_refused(const struct capture_facts *facts)
{
    for (size_t i = 0; i < facts->warning_count; i++)
        if (text_begins_with(capture_warning(facts, i), "The heap is not recorded"))
            return 1;
    return 0;
}

static void heap_summary_add_notes(struct text *out, const struct summary *summary)
{
    static const struct analysis_option options[] = { { "allocated", NULL }, { "lines", NULL } };
    const struct analysis_request request = { .options = options, .option_count = COUNT_OF(options) };
    struct report *report = summary->request->report;
    struct table *table = NULL;
    struct error err;

    if (capture_is_requested(&summary->facts, "heap") && analysis_missing(&analysis_heap_sum, report) &&
        !heap_summary_is_refused(&summary->facts))
        text_add(out, "  heap: no allocation was sampled; --heap=all records each\n");
    if (analysis_missing(&analysis_heap_sum, report) || analysis_rows(&analysis_heap_sum, report) > MOST_ROWS ||
        analysis_run(&analysis_heap_sum, report, &request, &table, &err) != 0)
        return;
    text_add(out, "  heap: ");
    heap_summary_add_part(out, table, "At Peak", "at the peak");
    text_add(out, "; ");
    heap_summary_add_part(out, table, "Never Freed", "never freed");
    text_add_char(out, '\n');
    table_delete(table);
}

const struct source_summary heap_summary = { .add_notes = heap_summary_add_notes };
