/* What recording cost: see summary_cost.h.
 *
 * If some steps were only timed, the difference between them and the recorded ones is the cost: it has the time of
 * CUPTI, of PyTorch's callbacks and of interrupts, which no clock of ours sees. TACHO_COST says how it is shared out
 * among the sources. Without such steps, the sum of that table is an estimate of CPU time. */
#include "summary_cost.h"

#include "analyze/engine/row_cursor.h"
#include "analyze/model/steps/bare_step.h"
#include "base/human.h"
#include "base/saturating.h"

enum { SHOWN_PARTS = 3, SHOWN_SHARE = 20 }; /* a part of less than a twentieth is not shown */

/* The sources that took most, and what all of them took. */
struct cost_parts {
    struct {
        const char *source;
        double ns;
    } list[SHOWN_PARTS];
    double sum_ns;
};

static void cost_parts_add(struct cost_parts *parts, const char *source, double ns)
{
    parts->sum_ns += ns;
    for (size_t i = 0; i < SHOWN_PARTS; i++)
        if (ns > parts->list[i].ns) {
            double smaller_ns = parts->list[i].ns;
            const char *smaller = parts->list[i].source;
            parts->list[i].source = source;
            parts->list[i].ns = ns;
            source = smaller;
            ns = smaller_ns;
        }
}

static void cost_parts_read(struct cost_parts *parts, struct report *report)
{
    enum { SOURCE, NS };
    static const char *const names[] = { "source", "ns", NULL };
    struct row_cursor rows;
    struct error err;

    *parts = (struct cost_parts){ 0 };
    if (row_cursor_open(&rows, report, "TACHO_COST", names, &err) != 0)
        return;
    while (row_cursor_next(&rows)) {
        const char *source = report_string(report, row_int_or(&rows, SOURCE, 0), NULL);
        if (strcmp(source, "start") != 0)
            cost_parts_add(parts, source, (double)row_int_or(&rows, NS, 0));
    }
    row_cursor_close(&rows);
}

/* ": cuda 1.20 ms, pytorch 900 µs" */
static void add_parts(struct text *out, struct report *report, int64_t cost_ns)
{
    struct cost_parts parts;

    cost_parts_read(&parts, report);
    for (size_t i = 0; i < SHOWN_PARTS && parts.list[i].ns * SHOWN_SHARE > parts.sum_ns; i++) {
        text_addf(out, "%s%s ", i ? ", " : ": ", parts.list[i].source);
        human_time(out, saturating_from_double((double)cost_ns * parts.list[i].ns / parts.sum_ns));
    }
}

/* The mean of all recorded steps, with those of which --cost-limit recorded less. */
static int64_t summary_cost_recorded_ns(const struct bare_step *bare)
{
    double sum = (double)bare->traced_ns * (double)bare->traced + (double)bare->lowered_ns * (double)bare->lowered;

    return saturating_from_double(sum / (double)(bare->traced + bare->lowered));
}

/* "recording made a step about 2.90 ms (38.2 %) longer: cuda 1.20 ms, …; 7.60 ms in 14 steps that were only timed" */
static void add_longer_step(struct text *out, const struct bare_step *bare, struct report *report)
{
    int64_t longer_ns = saturating_subtract(summary_cost_recorded_ns(bare), bare->bare_ns);

    if (longer_ns > bare->bare_ns / 100) {
        text_add(out, "  recording made a step about ");
        human_time(out, longer_ns);
        text_add(out, " (");
        summary_add_share(out, (double)longer_ns, (double)bare->bare_ns);
        text_add(out, ") longer");
        add_parts(out, report, longer_ns);
    } else {
        text_add(out, "  recording made a step less than 1 % longer");
    }
    text_add(out, "; it took ");
    human_time(out, bare->bare_ns);
    text_add(out, " in ");
    human_count(out, bare->timed);
    text_add(out, " steps that were only timed");
}

static void add_estimate(struct text *out, const struct capture_facts *facts)
{
    text_add(out, "  recording took about ");
    human_time(out, facts->cost_ns);
    text_add(out, " of the program's CPU time");
    if (facts->cpu_ns > facts->cost_ns) { /* no share of a program that sleeps while the machine is recorded */
        text_add(out, " (");
        summary_add_share(out, (double)facts->cost_ns, (double)saturating_subtract(facts->cpu_ns, facts->cost_ns));
        text_add_char(out, ')');
    }
    if (facts->start_cost_ns > facts->cost_ns / 2) {
        text_add(out, ", most of it for the start of ");
        human_count(out, facts->processes);
        text_add(out, facts->processes == 1 ? " process" : " processes");
    }
}

void summary_add_cost(struct text *out, const struct summary *summary, const char *after)
{
    const struct capture_facts *facts = &summary->facts;
    struct bare_step bare;
    struct error err;
    size_t before = out->length;

    if (bare_step_read(&bare, summary->request->report, &err) == 0 && bare.bare_ns && bare.traced_ns)
        add_longer_step(out, &bare, summary->request->report);
    else if (facts->cost_ns > 0)
        add_estimate(out, facts);
    if (facts->own_cpu_ns > 0) {
        text_add(out, out->length > before ? "; tacho itself used " : "  tacho itself used ");
        human_time(out, facts->own_cpu_ns);
    }
    if (summary->request->finish_ns >= 0) {
        text_add(out, out->length > before ? "; the report was ready " : "  the report was ready ");
        human_time(out, summary->request->finish_ns);
        text_addf(out, " after %s", after);
    }
    text_add(out, out->length > before ? "\n" : "");
}
