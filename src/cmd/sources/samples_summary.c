/* CPU samples in the last lines: how they were taken, and the functions that have most. */
#include "samples_summary.h"

#include <string.h>

#include "base/human.h"

/* Adds notes on the samples, in brackets. */
static void add_event_note(struct text *out, const struct capture_facts *facts)
{
    const char *before = " (";

    if (strcmp(facts->sampling, "timer") == 0) {
        text_addf(out, "%sby timers", before);
        before = ", ";
    }
    if (facts->cut_stacks > 0) {
        text_add(out, before);
        human_count(out, (uint64_t)facts->cut_stacks);
        text_add(out, facts->cut_stacks == 1 ? " truncated stack" : " truncated stacks");
        before = ", ";
    }
    if (facts->throttled > 0) {
        text_add(out, before);
        human_count(out, (uint64_t)facts->throttled);
        text_add(out, " times throttled by the kernel");
        before = ", ";
    }
    text_add(out, strcmp(before, ", ") == 0 ? ")" : "");
}

const struct source_summary samples_summary = {
    .samples = "COMPOSITE_EVENTS",
    .functions = "cpu_sample_sum",
    .functions_heading = "CPU, by function (self time)",
    .add_event_note = add_event_note,
};
