/* Sums the errors of two parts' clocks. Parts are told apart by their system, which every packed id has in it. */
#include "clock_errors.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "report/reader/unite.h"

static size_t system_of(int64_t id)
{
    return (size_t)((uint64_t)id >> 48);
}

int clock_errors_read(struct clock_errors *errors, const struct report *report)
{
    size_t count = report_part_count(report);

    *errors = (struct clock_errors){ 0 };
    if (!count)
        return 0;
    errors->by_system = calloc(CLOCK_SYSTEMS, sizeof *errors->by_system);
    if (!errors->by_system)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct report_part *part = report_part_at(report, i);
        int64_t *error = &errors->by_system[(uint64_t)part->system & (CLOCK_SYSTEMS - 1)];
        if (part->clock_error_ns < 0 || *error < 0)
            *error = -1;
        else if (part->clock_error_ns > *error)
            *error = part->clock_error_ns;
    }
    return 0;
}

void clock_errors_free(struct clock_errors *errors)
{
    free(errors->by_system);
    *errors = (struct clock_errors){ 0 };
}

int64_t clock_errors_of(const struct clock_errors *errors, int64_t thread, int64_t other)
{
    if (!errors->by_system || global_process(thread) == global_process(other))
        return 0;
    int64_t one = errors->by_system[system_of(thread)], two = errors->by_system[system_of(other)];
    return one < 0 || two < 0 ? INT64_MAX : saturating_add(one, two);
}
