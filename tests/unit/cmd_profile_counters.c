/* What `tacho profile` makes of the options for counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/sources/perf/counter_rows.h"
#include "profile_line.h"

enum { PAGE_FAULTS = 1 << 2, SWITCHES = 1 << 3, CYCLES = 1 << COLLECT_COUNTERS_OS, INSTRUCTIONS = CYCLES << 1 };

static void values(void **state)
{
    static const struct {
        const char *line;
        enum collect_scope scope;
        uint32_t events, interval_ms;
        const char *warning;
    } lines[] = {
        { "p", COLLECT_SCOPE_NONE, 0, 0, "" },
        { "--os-events=page-faults p", COLLECT_SCOPE_TREE, PAGE_FAULTS, 0, "" },
        { "--os-events 2,3 --event-sampling-interval=20 p", COLLECT_SCOPE_TREE, PAGE_FAULTS | SWITCHES, 20, "" },
        { "--os-events=none p", COLLECT_SCOPE_NONE, 0, 0, "" },
        { "--event-sample=system-wide --cpu-core-events=1 p", COLLECT_SCOPE_SYSTEM, INSTRUCTIONS, 0, "" },
        { "--cpu-core-metrics=ipc --os-events=context-switches p", COLLECT_SCOPE_TREE, SWITCHES | CYCLES | INSTRUCTIONS,
          0, "" },
        { "--event-sampling-frequency=50 --cpu-core-events=cycles p", COLLECT_SCOPE_TREE, CYCLES, 20, "" },
        { "--event-sample=none --os-events=2 p", COLLECT_SCOPE_NONE, 0, 0,
          "no events are counted: --event-sample is none\n" },
        { "--event-sampling-interval=5 p", COLLECT_SCOPE_NONE, 0, 0,
          "--event-sampling-interval has no effect: add --event-sample, --os-events or --cpu-core-events\n" },
    };

    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        if (parse(lines[i].line) != 0)
            fail_msg("%s: %s", lines[i].line, err.text);
        const struct collect_counter_options *counters = &settings.collect.counters;
        if (counters->scope != lines[i].scope || counters->events != lines[i].events ||
            counters->interval_ms != lines[i].interval_ms)
            fail_msg("%s: scope %d, events %x, each %u ms", lines[i].line, (int)counters->scope, counters->events,
                     counters->interval_ms);
        assert_string_equal(text_string(&warnings), lines[i].warning);
    }
}

/* Where none is named, the usual ones are counted, and none of them is missed. */
static void usual_ones(void **state)
{
    assert_int_equal(parse("--event-sample=system-wide p"), 0);
    assert_int_equal(settings.collect.counters.events & (PAGE_FAULTS | SWITCHES | CYCLES | INSTRUCTIONS),
                     PAGE_FAULTS | SWITCHES | CYCLES | INSTRUCTIONS);
    assert_int_equal(settings.collect.counters.events, settings.collect.counters.by_default);
}

static void errors(void **state)
{
    static const char *const wrong[] = { "--os-events=cycles p",
                                         "--os-events=9 p",
                                         "--cpu-core-events=page-faults p",
                                         "--cpu-core-metrics=3 p",
                                         "--event-sampling-interval=0 p",
                                         "--event-sampling-interval=1001 p",
                                         "--event-sampling-interval=ten p",
                                         "--event-sample=all p" };

    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (parse(wrong[i]) == 0)
            fail_msg("%s was taken", wrong[i]);
}

static int free_settings(void **state)
{
    free_line();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(values), cmocka_unit_test(usual_ones),
                                        cmocka_unit_test(errors) };

    return cmocka_run_group_tests(tests, NULL, free_settings);
}
