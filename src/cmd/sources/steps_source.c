/* Steps. With --advise every one is timed, and some are recorded. Any other capture of which nobody asked for all of a
 * source has probes, if the program marks its steps: a few steps that are only timed. Where those find that recording
 * costs much, few later steps have operators. */
#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"

/* Ranks would pause at different times, and a call that only some of them have looks like a late one. */
static int names_what_to_record(const struct profile_settings *settings, const struct collect_options *collect)
{
    return settings->has_sources || collect->range != COLLECT_RANGE_NONE || settings->attach || collect->duration_ns ||
           settings->place.launcher;
}

static int steps_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    int is_named = names_what_to_record(settings, collect);
    int wants_probes = settings->step_probes < 0 ? !is_named : settings->step_probes;

    collect->step_probes = !settings->advise && (collect->sources & WIRE_BIT(TORCH)) && wants_probes;
    collect->step_windows = collect->step_probes && !is_named && !settings->names_operators && !collect->cost_limit;
    collect->sources |= collect->step_probes ? WIRE_BIT(STEPS) : 0;
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

static const struct cmd_source_table steps_source_tables[] = { { "steps", "TACHO_STEP_TIME" }, { 0 } };

const struct cmd_source cmd_source_steps = {
    .events = WIRE_BIT(STEPS),
    .finish = steps_source_finish,
    .tables = steps_source_tables,
    .last = SOURCE_LAST_IN_TABLES,
};
