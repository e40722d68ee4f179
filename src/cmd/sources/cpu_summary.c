/* CPU samples in the last lines: how they were taken, and the functions that have most. */
#include "cpu_summary.h"

#include <string.h>

#include "base/human.h"

/* What is worth knowing of samples, in brackets. */
static void add_event_note(struct text *out, const struct collect_result *result)
{
    const struct collect_cpu_result *cpu = &result->cpu;
    const char *before = " (";

    if (cpu->method == COLLECT_BY_TIMER) {
        text_addf(out, "%sby timers", before);
        before = ", ";
    }
    if (cpu->cut + cpu->broken) {
        text_add(out, before);
        human_count(out, cpu->cut + cpu->broken);
        text_add(out, cpu->cut + cpu->broken == 1 ? " stack cut short" : " stacks cut short");
        before = ", ";
    }
    if (cpu->throttled) {
        text_add(out, before);
        human_count(out, cpu->throttled);
        text_add(out, " times slowed down by the kernel");
        before = ", ";
    }
    text_add(out, strcmp(before, ", ") == 0 ? ")" : "");
}

static struct summary_count count(const struct collect_result *result)
{
    return (struct summary_count){ .lost = result->cpu.lost_records };
}

const struct source_summary cpu_summary = {
    .samples = "COMPOSITE_EVENTS",
    .functions = "cpu_sample_sum",
    .functions_heading = "CPU, by function without what it calls",
    .add_event_note = add_event_note,
    .count = count,
};
