/* The runtimes of sanitizers in LD_PRELOAD, and which of them was for one program alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "abi/sanitizer_runtimes.h"

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
    /* the user's own */
    assert_string_equal(wire_without_runtime("libasan.so.8:/lib/agent.so"), "libasan.so.8:/lib/agent.so");
    assert_string_equal(wire_without_runtime("/a.so::/b.so"), "/a.so::/b.so");
    assert_string_equal(wire_without_runtime(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runtimes_of_sanitizers_are_known),
        cmocka_unit_test(a_runtime_for_one_program_is_taken_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
