/* What `tacho profile` makes of the options for Python: nsys's names, and values that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile_line.h"

static void check(const char *line, unsigned frequency, int is_automatic, const char *warning)
{
    if (parse(line) != 0)
        fail_msg("%s: %s", line, err.text);
    if (settings.collect.python_frequency != frequency || settings.collect.python_is_automatic != is_automatic ||
        strcmp(text_string(&warnings), warning) != 0)
        fail_msg("%s: %u a second, not %u; automatic %d, not %d; '%s'", line, settings.collect.python_frequency,
                 frequency, settings.collect.python_is_automatic, is_automatic, text_string(&warnings));
}

static void values(void **state)
{
    check("p", 500, 1, "");
    check("--python-sampling=auto p", 500, 1, "");
    check("--python-sampling auto p", 500, 1, "");
    check("--python-sampling=true p", 500, 0, "");
    check("--python-sampling true p", 500, 0, "");
    check("--python-sampling p", 500, 0, "");
    check("--python-sampling=false p", 0, 0, "");
    check("--python-sampling=true --python-sampling-frequency=1 p", 1, 0, "");
    check("--python-sampling-frequency 2000 --python-sampling=true p", 2000, 0, "");
    check("--python-sampling-frequency=200 p", 200, 1, "");
    check("-t python-gil p", 500, 0, "");
    check("-t python-gil --python-sampling=false p", 500, 0, "");
    check("-t cuda,python-gil --python-sampling-frequency=200 p", 200, 0, "");
    check("-t python-gil -t nvtx p", 500, 1, "");
    check("--python-sampling=false --python-sampling-frequency=200 p", 0, 0,
          "--python-sampling-frequency has no effect with --python-sampling=false\n");
}

/* Python frames stand beside native ones: those of CUDA calls are asked for with them. */
static void backtraces(void **state)
{
    static const struct {
        const char *line;
        int backtrace;
        unsigned groups;
        const char *warning;
    } lines[] = {
        { "p", 0, 0, "" },
        { "--python-backtrace=cuda p", 1, 15, "" },
        { "--python-backtrace=cuda --cudabacktrace=sync p", 1, 4, "" },
        { "--python-backtrace=cuda --cudabacktrace=none p", 1, 0, "" },
        { "--python-backtrace=cuda -t osrt p", 1, 0, "" },
        { "--python-backtrace=none p", 0, 0, "" },
        { "--python-backtrace=false p", 0, 0, "" },
        { "--python-backtrace=cuda -t nvtx p", 1, 0,
          "--python-backtrace has no effect: add cuda or osrt to --trace\n" },
    };

    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        if (parse(lines[i].line) != 0)
            fail_msg("%s: %s", lines[i].line, err.text);
        assert_int_equal(settings.collect.python_backtrace, lines[i].backtrace);
        assert_int_equal(settings.collect.cuda_backtrace_groups, lines[i].groups);
        assert_string_equal(text_string(&warnings), lines[i].warning);
    }
    assert_int_not_equal(parse("--python-backtrace=osrt p"), 0);
}

static void errors(void **state)
{
    static const char *const wrong[] = { "0", "2001", "-1", "1k", "", "99999999999999999999" };

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char line[100];
        snprintf(line, sizeof line, "--python-sampling-frequency=%s p", wrong[i]);
        if (parse(line) == 0)
            fail_msg("%s was taken", line);
    }
    if (parse("--python-sampling=often p") == 0)
        fail_msg("often was taken");
}

static int free_settings(void **state)
{
    free_line();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(values), cmocka_unit_test(backtraces),
                                        cmocka_unit_test(errors) };

    return cmocka_run_group_tests(tests, NULL, free_settings);
}
