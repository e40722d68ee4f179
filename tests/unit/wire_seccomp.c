/* What the kernel's text about a process says of filters for system calls, and which of LD_PRELOAD was for one program alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/wire/seccomp.h"
#include "../../src/wire/sanitizer.h"

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
    assert_int_equal(wire_seccomp_filters("\nSeccomp:\t2\nSeccomp_filters:\t1"), 2); /* of 13, perhaps: the next part has it all */
    assert_int_equal(wire_seccomp_filters("Name:\tSeccomp_filters:\t7\nSeccomp:\t0\n"), 0); /* a program may be called so */
}

static void runtimes_of_sanitizers_are_known(void **state)
{
    assert_true(wire_is_sanitizer("libasan.so.8", 12));
    assert_true(wire_is_sanitizer("/usr/lib/libclang_rt.asan-x86_64.so", 35));
    assert_false(wire_is_sanitizer("/opt/libasan.so.d/libother.so", 29));
    assert_false(wire_is_sanitizer("", 0));
}

static void a_runtime_for_one_program_is_taken_off(void **state)
{
    assert_string_equal(wire_without_runtime("libasan.so.8::/lib/agent.so:/a.so"), "/lib/agent.so:/a.so");
    assert_string_equal(wire_without_runtime("libasan.so.8:/lib/agent.so"), "libasan.so.8:/lib/agent.so"); /* the user's own */
    assert_string_equal(wire_without_runtime("/a.so::/b.so"), "/a.so::/b.so");
    assert_string_equal(wire_without_runtime(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_are_counted), cmocka_unit_test(older_kernels_tell_the_mode_alone),
        cmocka_unit_test(a_part_of_the_text_tells_only_whole_lines), cmocka_unit_test(runtimes_of_sanitizers_are_known),
        cmocka_unit_test(a_runtime_for_one_program_is_taken_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
