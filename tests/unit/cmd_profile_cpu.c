/* What `tacho profile` makes of the options for CPU sampling and scheduling: nsys's, their old spellings,
 * and values that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile_line.h"

static int free_settings(void **state)
{
    free_line();
    return 0;
}

static const struct collect_samples_options *cpu(const char *line)
{
    if (parse(line) != 0)
        fail_msg("%s: %s", line, err.text);
    return &settings.collect.cpu;
}

static void defaults(void **state)
{
    assert_int_equal(cpu("p")->samples, COLLECT_SCOPE_TREE);
    assert_int_equal(settings.collect.cpu.switches, COLLECT_SCOPE_TREE);
    assert_int_equal(settings.collect.cpu.backtrace, COLLECT_BACKTRACE_DWARF);
    assert_int_equal(settings.collect.cpu.samples_asked, 0);
    assert_string_equal(text_string(&warnings), "");
}

/* Switches are recorded where samples are, unless they are asked for apart. */
static void scopes(void **state)
{
    static const struct {
        const char *line;
        enum collect_scope samples, switches;
    } lines[] = {
        { "-s none p", COLLECT_SCOPE_NONE, COLLECT_SCOPE_NONE },
        { "-s cpu p", COLLECT_SCOPE_TREE, COLLECT_SCOPE_TREE },
        { "--sample=process-tree --cpuctxsw=none p", COLLECT_SCOPE_TREE, COLLECT_SCOPE_NONE },
        { "-s system-wide p", COLLECT_SCOPE_SYSTEM, COLLECT_SCOPE_SYSTEM },
        { "-s none --cpuctxsw=system-wide p", COLLECT_SCOPE_NONE, COLLECT_SCOPE_SYSTEM },
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        assert_int_equal(cpu(lines[i].line)->samples, lines[i].samples);
        assert_int_equal(settings.collect.cpu.switches, lines[i].switches);
    }
}

static void rates_and_stacks(void **state)
{
    assert_int_equal(cpu("--sampling-period=2000000 -b fp --samples-per-backtrace=4 p")->period, 2000000);
    assert_int_equal(settings.collect.cpu.backtrace, COLLECT_BACKTRACE_FP);
    assert_int_equal(settings.collect.cpu.samples_per_backtrace, 4);
    assert_int_equal(cpu("--sampling-frequency 8000 --backtrace=lbr --backtrace-stack-size=4096 p")->frequency, 8000);
    assert_int_equal(settings.collect.cpu.backtrace, COLLECT_BACKTRACE_LBR);
    assert_int_equal(settings.collect.cpu.stack_bytes, 4096);
    cpu("--sampling-frequency=100 --sampling-period=100000 p");
    assert_non_null(strstr(text_string(&warnings), "--sampling-frequency has no effect"));
}

static void wrong_values(void **state)
{
    static const char *const wrong[] = {
        "-s all p",
        "--cpuctxsw=some p",
        "-b stack p",
        "--sampling-period=1 p",
        "--sampling-period=1e6 p",
        "--sampling-frequency=0 p",
        "--sampling-frequency=-1 p",
        "--sampling-frequency=1000000 p",
        "--samples-per-backtrace=33 p",
        "--samples-per-backtrace=0 p",
        "--backtrace-stack-size=100000 p",
        "--backtrace-stack-size=8k p",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (parse(wrong[i]) != ERR_BAD_ARGUMENT)
            fail_msg("accepted: %s", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(defaults, free_settings),
        cmocka_unit_test_teardown(scopes, free_settings),
        cmocka_unit_test_teardown(rates_and_stacks, free_settings),
        cmocka_unit_test_teardown(wrong_values, free_settings),
    };
    return cmocka_run_group_tests_name("cmd_profile_cpu", tests, NULL, NULL);
}
