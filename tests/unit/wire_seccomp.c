/* The number of seccomp filters of a process, from the text of /proc/PID/status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abi/seccomp_status.h"

static void filters_are_counted(void **state)
{
    assert_int_equal(wire_seccomp_filters("Name:\tcat\nSeccomp:\t0\nSeccomp_filters:\t0\nCpus_allowed:\tff\n"), 0);
    assert_int_equal(wire_seccomp_filters("Name:\tcat\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t13\n"), 13);
}

static void older_kernels_tell_the_mode_alone(void **state)
{
    assert_int_equal(wire_seccomp_filters("Name:\tcat\nSeccomp:\t0\nSpeculation_Store_Bypass:\tvulnerable\n"), 0);
    assert_int_equal(wire_seccomp_filters("Name:\tcat\nSeccomp:\t2\nSpeculation_Store_Bypass:\tvulnerable\n"), 2);
}

static void a_part_of_the_text_tells_only_whole_lines(void **state)
{
    assert_int_equal(wire_seccomp_filters("Name:\tcat\nGroups:\t0 1 2\n"), -1);
    assert_int_equal(wire_seccomp_filters("\nSeccomp:\t"), -1);
    /* of 13, perhaps: the next part has it all */
    assert_int_equal(wire_seccomp_filters("\nSeccomp:\t2\nSeccomp_filters:\t1"), 2);
    /* a program may be called so */
    assert_int_equal(wire_seccomp_filters("Name:\tSeccomp_filters:\t7\nSeccomp:\t0\n"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_are_counted),
        cmocka_unit_test(older_kernels_tell_the_mode_alone),
        cmocka_unit_test(a_part_of_the_text_tells_only_whole_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
