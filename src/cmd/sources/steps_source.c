/* Steps: every one is timed with --advise, which also decides which of them the other sources record. */
#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"

static int finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
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

static const struct cmd_source_table tables[] = { { "steps", "TACHO_STEP_TIME" }, { 0 } };

const struct cmd_source cmd_source_steps = {
    .events = WIRE_BIT(STEPS),
    .finish = finish,
    .tables = tables,
    .last = SOURCE_LAST_IN_TABLES,
};
