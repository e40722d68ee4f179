/* What `tacho profile` makes of the options for PyTorch: nsys's names, our own, and values that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile_line.h"
#include "wire/wire_torch.h"

struct expected {
    const char *line;
    int is_source;
    uint32_t flags;
    int nvtx, functions, replaces;
};

static void check(const struct expected *expected)
{
    if (parse(expected->line) != 0)
        fail_msg("%s: %s", expected->line, err.text);
    const struct collect_options *collect = &settings.collect;
    if (((collect->sources & WIRE_BIT(TORCH)) != 0) != expected->is_source || collect->torch_flags != expected->flags ||
        collect->torch_nvtx != expected->nvtx || collect->torch_functions != expected->functions ||
        collect->torch_replace != expected->replaces)
        fail_msg("%s: source %d, flags %u, nvtx %d, functions %d, replace %d", expected->line,
                 (collect->sources & WIRE_BIT(TORCH)) != 0, collect->torch_flags, collect->torch_nvtx,
                 collect->torch_functions, collect->torch_replace);
}

static void values(void **state)
{
    static const struct expected lines[] = {
        { "p", 1, 0, 0, 0, 0 },
        { "--pytorch=off p", 0, 0, 0, 0, 0 },
        { "--pytorch=none p", 0, 0, 0, 0, 0 },
        { "--pytorch=auto p", 1, 0, 0, 0, 0 },
        { "--pytorch=autograd-nvtx p", 1, WIRE_TORCH_MODULES, 1, 0, 0 },
        { "--pytorch=autograd-shapes-nvtx p", 1, WIRE_TORCH_SHAPES | WIRE_TORCH_MODULES, 1, 0, 0 },
        { "--pytorch=autograd-nvtx,functions-trace p", 1, WIRE_TORCH_MODULES, 1, 1, 0 },
        { "--pytorch=functions-trace p", 1, 0, 0, 1, 0 },
        { "--pytorch=replace p", 1, 0, 0, 0, 1 },
        { "--pytorch=autograd-shapes-nvtx --pytorch=auto p", 1, 0, 0, 0, 0 },
        { "--pytorch-shapes=true --pytorch-memory=true p", 1, WIRE_TORCH_SHAPES | WIRE_TORCH_MEMORY, 0, 0, 0 },
        { "--pytorch-stacks p", 1, WIRE_TORCH_STACKS, 0, 0, 0 },
        { "--pytorch-memory --pytorch=autograd-nvtx p", 1, WIRE_TORCH_MEMORY | WIRE_TORCH_MODULES, 1, 0, 0 },
        { "--pytorch-modules=true p", 1, WIRE_TORCH_MODULES, 0, 0, 0 },
        { "--pytorch-modules=true --pytorch=replace p", 1, WIRE_TORCH_MODULES, 0, 0, 1 },
    };

    for (size_t i = 0; i < COUNT_OF(lines); i++)
        check(&lines[i]);
}

/* Whoever says what to record gets that and no more, unless PyTorch is named too. */
static void beside_trace(void **state)
{
    check(&(struct expected){ "-t cuda,nvtx p", 0, 0, 0, 0, 0 });
    check(&(struct expected){ "-t cuda,nvtx --pytorch=auto p", 1, 0, 0, 0, 0 });
    check(&(struct expected){ "-t none --pytorch-memory=true p", 1, WIRE_TORCH_MEMORY, 0, 0, 0 });
}

static void warnings_and_errors(void **state)
{
    static const char *const wrong[] = { "--pytorch=autograd p", "--pytorch=auto,shapes p",
                                         "--pytorch=off,autograd-nvtx p", "--pytorch=autograd-nvtx,none p",
                                         "--pytorch= p" };

    check(&(struct expected){ "--pytorch=off --pytorch-memory=true p", 0, 0, 0, 0, 0 });
    assert_string_equal(text_string(&warnings), "the PyTorch options have no effect: --pytorch is off\n");
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(parse(wrong[i]), ERR_BAD_ARGUMENT);
}

static int free_settings(void **state)
{
    free_line();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(beside_trace),
        cmocka_unit_test(warnings_and_errors),
    };

    return cmocka_run_group_tests(tests, NULL, free_settings);
}
