/* How CPU samples and context switches were taken, in two lines. */
#include "samples_info.h"

#include <string.h>

#include "base/human.h"
#include "cmd/print/display.h"
#include "cmd/small_table.h"

enum { METHOD, EVENT, FREQUENCY, PERIOD, SCOPE, BACKTRACE, KERNEL, SWITCHES, REFUSAL };

static void samples_info_add_rate(struct text *out, const struct small_table *rows, size_t row)
{
    if (!small_table_is_null(rows, row, FREQUENCY)) {
        human_count(out, (uint64_t)small_table_number(rows, row, FREQUENCY, 0));
        text_add(out, " per second of CPU time");
    } else {
        text_add(out, "one per ");
        human_count(out, (uint64_t)small_table_number(rows, row, PERIOD, 0));
        text_add(out, strcmp(small_table_text(rows, row, EVENT, NULL), "cycles") == 0 ? " cycles" : " ns of CPU time");
    }
}

static void samples_info_add_samples(struct text *out, const struct small_table *rows, size_t row)
{
    static const struct {
        const char *method, *words;
    } methods[] = { { "perf", "by perf events" }, { "timer", "by timers in the program's threads" } };
    const char *method = small_table_text(rows, row, METHOD, NULL);

    text_add(out, " samples:  ");
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        if (strcmp(methods[i].method, method) == 0) {
            text_addf(out, "%s (", methods[i].words);
            display_add(out, small_table_text(rows, row, EVENT, NULL), strlen(small_table_text(rows, row, EVENT, NULL)),
                        40);
            text_add(out, "), ");
            samples_info_add_rate(out, rows, row);
            text_addf(out, ", %s, ",
                      small_table_number(rows, row, KERNEL, 0) ? "with kernel frames" : "user space only");
            display_add(out, small_table_text(rows, row, SCOPE, NULL), strlen(small_table_text(rows, row, SCOPE, NULL)),
                        40);
            text_add(out, "; stacks: ");
            display_add(out, small_table_text(rows, row, BACKTRACE, NULL),
                        strlen(small_table_text(rows, row, BACKTRACE, NULL)), 40);
            text_add_char(out, '\n');
            return;
        }
    text_add(out, "none\n");
}

static void samples_info_add_lines(struct text *out, const struct small_table *rows, size_t row)
{
    const char *switches = small_table_text(rows, row, SWITCHES, NULL),
               *refusal = small_table_text(rows, row, REFUSAL, NULL);

    text_add(out, "\nCPU\n");
    samples_info_add_samples(out, rows, row);
    text_addf(out, " switches: %s\n",
              strcmp(switches, "perf") == 0        ? "recorded by perf events"
              : strcmp(switches, "schedstat") == 0 ? "totals only"
                                                   : "none");
    if (*refusal) {
        text_add(out, " reason:   ");
        display_add(out, refusal, strlen(refusal), 0);
        text_add_char(out, '\n');
    }
}

int samples_info(struct text *out, struct report *report, struct error *err)
{
    static const char *const names[] = { "method",    "event",      "frequency", "period",  "scope",
                                         "backtrace", "kernelMode", "switches",  "refusal", NULL };
    struct small_table rows;
    int code = small_table_read(&rows, report, "TACHO_SAMPLING", names, err);

    if (code != 0)
        return code;
    if (rows.columns.rows)
        samples_info_add_lines(out, &rows, rows.columns.rows - 1);
    small_table_free(&rows);
    return 0;
}
