/* OS calls in the last lines: those that took most time, and how much of it was waiting. */
#include "osrt_summary.h"

#include "analyze/model/os_calls.h"
#include "base/human.h"
#include "base/saturating.h"

/* Whether the calls of this name are waiting, not work: for locks, other threads and processes, time, and events. */
static int osrt_summary_is_waiting(const struct table_cell *name)
{
    enum os_call_kind kind = os_call_kind(name->text.bytes, name->text.length);

    return kind == OS_CALL_LOCK || kind == OS_CALL_WAIT || kind == OS_CALL_CHILD || kind == OS_CALL_EVENTS;
}

/* The sum of all waiting, over all threads, and the three largest parts. */
static void osrt_summary_add_waits(struct text *out, const struct table *table)
{
    size_t name = table_column_count(table) - 1;
    struct text largest = { 0 };
    int64_t sum = 0;
    int named = 0;

    for (size_t i = 0; i < table_row_count(table); i++) {
        const struct table_cell *row = table_row(table, i);
        if (!osrt_summary_is_waiting(&row[name]))
            continue;
        sum = saturating_add(sum, row[SUMMARY_TOTAL].integer);
        if (named++ < 3) {
            text_add(&largest, named > 1 ? ", " : ": ");
            text_add_bytes(&largest, row[name].text.bytes, row[name].text.length);
            text_add_char(&largest, ' ');
            human_time(&largest, row[SUMMARY_TOTAL].integer);
        }
    }
    if (named) {
        text_add(out, "  waiting, all threads together ");
        human_time(out, sum);
        text_add(out, text_string(&largest));
        text_add(out, named > 3 ? ", …\n" : "\n");
    }
    text_free(&largest);
}

const struct source_summary osrt_summary = {
    .analysis = "osrt_sum",
    .heading = "OS calls",
    .add_line = osrt_summary_add_waits,
};
