/* Steps: every one is timed with --advise, which also decides which of them the other sources record. */
#include "analyze/model/steps/bare_step.h"
#include "base/human.h"
#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"
#include "cmd/summary/source_summary.h"

static int steps_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    if (!settings->advise)
        return 0;
    if (collect->range != COLLECT_RANGE_NONE)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--advise cannot be combined with --capture-range: it chooses the steps to record itself");
    if (settings->attach)
        return error_set(err, ERR_BAD_ARGUMENT, "--advise cannot be combined with --attach");
    collect->sources |= WIRE_BIT(STEPS);
    return 0;
}

/* "recording made a step 12 % longer: 18.4 ms without it, 20.6 ms with it" */
static void steps_source_add_notes(struct text *out, const struct summary *summary, const void *finding)
{
    enum { MUCH_PERCENT = 5 };
    struct bare_step bare;
    struct error err;

    if (bare_step_read(&bare, summary->request->report, &err) != 0 || !bare.bare_ns || !bare.traced_ns)
        return;
    double longer = 100 * ((double)bare.traced_ns / (double)bare.bare_ns - 1);
    if (longer <= MUCH_PERCENT)
        return;
    text_addf(out, "  recording made a step %.0f %% longer: ", longer);
    human_time(out, bare.bare_ns);
    text_add(out, " without it, ");
    human_time(out, bare.traced_ns);
    text_add(out, " with it; advice is on the step without it\n");
}

static const struct source_summary steps_summary = { .add_notes = steps_source_add_notes };

static const struct cmd_source_table steps_source_tables[] = { { "steps", "TACHO_STEP_TIME" }, { 0 } };

const struct cmd_source cmd_source_steps = {
    .events = WIRE_BIT(STEPS),
    .finish = steps_source_finish,
    .tables = steps_source_tables,
    .summary = &steps_summary,
    .last = SOURCE_LAST_IN_TABLES,
};
