/* Names of PyTorch that mean something: which are steps, and which are autograd's engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "report/schema/torch_names.h"

static int64_t number(const char *name)
{
    return torch_step_number(name, strlen(name));
}

static void steps(void **state)
{
    assert_int_equal(number("ProfilerStep#0"), 0);
    assert_int_equal(number("ProfilerStep#37"), 37);
    assert_int_equal(number("ProfilerStep#999999999999999999"), 999999999999999999);
    assert_int_equal(torch_step_number("ProfilerStep#123", TORCH_STEP_LENGTH + 1), 1); /* the rest is not its */
    static const char *const others[] = { "",
                                          "ProfilerStep",
                                          "ProfilerStep#",
                                          "ProfilerStep#-3",
                                          "ProfilerStep#1 ",
                                          "ProfilerStep# 1",
                                          "ProfilerStep#1a",
                                          "profilerstep#1",
                                          "ProfilerStep#9999999999999999999" };
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_int_equal(number(others[i]), -1);
}

static void engine(void **state)
{
    static const char name[] = "autograd::engine::evaluate_function: AddmmBackward0";

    assert_true(torch_is_engine(name, strlen(name)));
    assert_false(torch_is_engine(name, strlen("autograd::engine::")));
    assert_false(torch_is_engine("AddmmBackward0", strlen("AddmmBackward0")));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(steps), cmocka_unit_test(engine) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
