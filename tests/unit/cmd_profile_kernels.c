/* What `tacho profile` makes of --gpu-counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile_line.h"

static void assert_list(const char *line, const char *name, const char *list, const char *expected)
{
    if (strcmp(list ? list : "none", expected ? expected : "none") != 0)
        fail_msg("%s: %s are '%s', not '%s'", line, name, list ? list : "none", expected ? expected : "none");
}

/* Which list a name belongs to is known by the tables. */
static void names_are_sorted_by_kind(void **state)
{
    static const struct {
        const char *line, *sets, *sections, *metrics;
    } lines[] = {
        { "p", NULL, NULL, NULL },
        { "--gpu-counters=light p", "light", NULL, NULL },
        { "--gpu-counters Occupancy,basic,SpeedOfLight p", "basic", "Occupancy,SpeedOfLight", NULL },
        { "--gpu-counters=sm__cycles_active.avg,regex:dram__bytes p", NULL, NULL,
          "sm__cycles_active.avg,regex:dram__bytes" },
        { "--gpu-counters=light --gpu-counters=dram__bytes_read.sum p", "light", NULL, "dram__bytes_read.sum" },
        { "-t cuda --gpu-counters=light,roofline p", "light,roofline", NULL, NULL },
    };

    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        if (parse(lines[i].line) != 0)
            fail_msg("%s: %s", lines[i].line, err.text);
        const struct counter_options *counters = &settings.collect.kernel_counters;
        assert_list(lines[i].line, "sets", counters->sets, lines[i].sets);
        assert_list(lines[i].line, "sections", counters->sections, lines[i].sections);
        assert_list(lines[i].line, "metrics", counters->metrics, lines[i].metrics);
    }
}

static void launches_and_limits(void **state)
{
    const struct counter_options *counters = &settings.collect.kernel_counters;

    assert_int_equal(parse("--gpu-counters=basic --gpu-counters-replay=application --gpu-counters-max-time=2.5 p"), 0);
    assert_string_equal(counters->replay, "application");
    assert_true(counters->max_seconds == 2.5);
    assert_null(counters->filters);
    assert_int_equal(parse("--gpu-counters=basic --gpu-counters-filter=kernel=regex:gemm\ncount=3 p"), 0);
    assert_string_equal(counters->filters, "kernel=regex:gemm\ncount=3");
    assert_int_equal(parse("--gpu-counters=basic --gpu-counters-max-size=64M p"), 0);
    assert_true(counters->max_bytes == 64 << 20);
}

static void errors(void **state)
{
    static const struct {
        const char *line, *says;
    } lines[] = {
        { "--gpu-counters=lihgt p", "unknown set, section or metric 'lihgt' in --gpu-counters; did you mean 'light'?" },
        { "--gpu-counters=light,xyz p", "unknown set, section or metric 'xyz' in --gpu-counters; 'tacho ncu" },
        { "--gpu-counters= p", "--gpu-counters needs a value" },
        { "--gpu-counters=light --gpu-counters-max-time=x p", "must be a number of seconds, not 'x'" },
        { "--gpu-counters=light --gpu-counters-max-size=much p", "must be a size such as 4G, not 'much'" },
        { "--gpu-counters=light --gpu-counters-max-time=-1 p", "must be a number of seconds, not '-1'" },
        { "-t nvtx --gpu-counters=light p", "--gpu-counters needs CUDA: add cuda to --trace" },
    };

    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (parse(lines[i].line) == 0 || !strstr(err.text, lines[i].says))
            fail_msg("%s: '%s', not '%s'", lines[i].line, err.text, lines[i].says);
}

static int free_settings(void **state)
{
    free_line();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names_are_sorted_by_kind),
                                        cmocka_unit_test(launches_and_limits), cmocka_unit_test(errors) };

    return cmocka_run_group_tests(tests, NULL, free_settings);
}
