/* Which launches are counted: names, kernels of --kernel-id, what is passed over and how many; and the names of
 * functions in mangled symbols, compared with libiberty's demangler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/counters/kernel_name.h"
#include "agent/counters/launch_filter.h"
#include "symbols/names/demangle.h"

/* Kernels of PyTorch, cuBLAS, cuDNN and CUTLASS, and made ones. */
/* clang-format off */
static const char *const symbols[] = {
    "_Z10dot_kernelIdLi128ELi0E15cublasDotParamsI30cublasGemvTensorStridedBatchedIKdES1_IdEEEvT2_",
    "_Z15fft2d_c2r_32x32IfLb0ELb0ELj0ELb0ELb0EEvPT_PK6float2iiiiiiiiiffN5cudnn15reduced_divisorEbS1_S1_4i"
    "nt2ii",
    "_Z40fmha_cutlassB_f32_aligned_64x64_k32_sm80N22PyTorchMemEffAttention23AttentionBackwardKernelIN7cut"
    "lass4arch4Sm80EfLb1ELb0ELb0ELi64ELi64ELi32ELb0EE6ParamsE",
    "_ZN14at_cuda_detail3cub6detail6reduce28DeviceReduceSingleTileKernelINS2_10policy_hubIiyN4cuda3std3__"
    "44plusIvEEE10Policy1000EPiSC_iS9_iiNS7_10__identityEEEvT0_T1_T2_T3_T4_T6_",
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functorIfffEc"
    "lERNS_14TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_",
    "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBase"
    "EENKUlvE1_clEvENKUlvE1_clEvEUliE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_6memory1"
    "2LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_49_GLOBAL__N__d2ba64fb_16_TensorCompare_cu_7"
    "1e06f4e19launch_clamp_scalarERNS_18TensorIteratorBaseEN3c106ScalarES6_NS0_6detail11ClampLimitsEENKUl"
    "vE_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
    "_ZN50_GLOBAL__N__fa15d16e_17_RangeFactories_cu_38772b0829elementwise_kernel_with_indexIiZZZN2at6nati"
    "ve15arange_cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_clEvENKUlvE2_clEvEUllE_EEvT_T0_PN15fun"
    "ction_traitsISD_E11result_typeE",
    "_Z6saxpyfPKfPf",
    "_ZN3foo3barILi3EEEvPT_",
    "_Z1fIXaaLb1EL_Z1gvEEEvv",
};
/* clang-format on */
enum { SYMBOLS = COUNT_OF(symbols) };

static void functions_are_named_as_by_the_demangler(void **state)
{
    for (size_t i = 0; i < SYMBOLS; i++) {
        struct text whole = { 0 }, name = { 0 };
        size_t length;
        const char *found = kernel_function_name(symbols[i], &length);
        assert_int_equal(symbol_demangle_kernel(symbols[i], &whole), 1);
        symbol_short(text_string(&whole), &name);
        if (length != name.length || memcmp(found, text_string(&name), length) != 0)
            fail_msg("%s: '%.*s', expected '%s'", symbols[i], (int)length, found, text_string(&name));
        text_free(&whole);
        text_free(&name);
    }
}

/* Anything else is a name as a whole, and the reader stays inside of it. */
static void broken_symbols_are_whole_names(void **state)
{
    static const char *const whole[] = { "saxpy", "triton_poi_fused_add_0", "_Z", "_Z99f", "_ZN1AclEi", "_ZN", "_Z3f" };
    size_t length;

    for (size_t i = 0; i < COUNT_OF(whole); i++) {
        assert_ptr_equal(kernel_function_name(whole[i], &length), whole[i]);
        assert_int_equal(length, strlen(whole[i]));
    }
    for (size_t i = 0; i < SYMBOLS; i++)
        for (size_t cut = 0; cut < strlen(symbols[i]); cut++) { /* of its own size, for sanitizers */
            char *symbol = malloc(cut + 1);
            memcpy(symbol, symbols[i], cut);
            symbol[cut] = 0;
            const char *found = kernel_function_name(symbol, &length);
            assert_true(found >= symbol && found + length <= symbol + cut);
            free(symbol);
        }
}

/* The reader runs on the stack of any thread of the program. */
static void long_symbols_do_not_overflow_the_stack(void **state)
{
    static const char *const parts[] = { "Z", "Z1fE", "N", "P", "I", "1fI", "M", "L_Z", "Dp", "FZ", "U1a", "XcvT_" };
    enum { LENGTH = 1 << 22 };
    char *symbol = malloc(LENGTH + 1);

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        size_t bytes = strlen(parts[i]), length = 2;
        memcpy(symbol, "_Z", length);
        for (; length + bytes <= LENGTH; length += bytes)
            memcpy(symbol + length, parts[i], bytes);
        symbol[length] = 0;
        const char *found = kernel_function_name(symbol, &length);
        assert_true(found >= symbol && found + length <= symbol + LENGTH);
    }
    free(symbol);
}

/* ---- Filters --------------------------------------------------------------------------------------------------- */

/* A letter for each launch: what it is of. */
static struct counted_launch launch_of(char letter)
{
    static const char *const names[] = { ['a' - 'a'] = "_Z3addPf",
                                         ['b' - 'a'] = "_ZN2at4gemmILi3EEEvv",
                                         ['c' - 'a'] = "_Z6gemm_tPf",
                                         ['n' - 'a'] = "_Z23ncclDevKernel_AllReduceP4Args",
                                         ['s' - 'a'] = "nvshmemi_barrier" };
    int is_other = letter >= 'A' && letter <= 'Z'; /* another device, context, stream and size */
    struct counted_launch launch = {
        .symbol = "_Z3addPf", .device = 0, .context_id = 1, .stream_id = 7, .grid = { 1, 1, 1 }, .block = { 32, 1, 1 }
    };

    launch.is_cooperative = letter == '!';
    if (letter != '!')
        launch.symbol = names[(letter | 32) - 'a'];
    if (is_other) {
        launch.device = 1;
        launch.context_id = 15;
        launch.stream_id = 17;
        launch.grid[0] = 2;
    }
    return launch;
}

/* Lines have blanks between them; the launches that are wanted stay letters, the others become dots. */
static void expect(const char *lines, const char *launches, const char *wanted)
{
    static char copy[256];
    char found[64] = "";

    launch_filter_reset();
    strcpy(copy, lines);
    for (char *line = strtok(copy, " "); line; line = strtok(NULL, " ")) {
        char *equals = strchr(line, '=');
        *equals = 0;
        if (launch_filter_add(line, equals + 1) != 0)
            fail_msg("%s: '%s' is no line of a filter", lines, line);
    }
    for (size_t i = 0; launches[i]; i++) {
        struct counted_launch launch = launch_of(launches[i]);
        found[i] = launch_filter_ask(&launch) == LAUNCH_WANTED ? launches[i] : '.';
    }
    if (strcmp(found, wanted) != 0)
        fail_msg("%s, of %s: %s, expected %s", lines, launches, found, wanted);
}

static void filters(void **state)
{
    static const struct {
        const char *lines, *launches, *wanted;
    } cases[] = {
        { "", "abcab", "abcab" },
        { "kernel=gemm", "abcB", ".b.B" },
        { "kernel=regex:gemm", "abcB", ".bcB" },
        { "kernel=regex:^gemm$ base=function", "abcB", ".b.B" },
        { "kernel=_Z3addPf base=mangled", "abca", "a..a" },
        { "kernel=regex:^_Z base=mangled", "abc", "abc" },
        { "kernel=regex:^_Z", "abc", "..." },
        { "skip=2", "abcab", "..cab" },
        { "count=2", "abcab", "ab..." },
        { "skip=1 count=2", "abcab", ".bc.." },
        { "kernel=regex:gemm skip=1 count=1", "abcbc", "..c.." },
        { "skip-before=2 kernel=regex:gemm", "abcbc", "..cbc" },
        { "skip-before=2 skip=1 kernel=regex:gemm", "abcbc", "...bc" },
        { "device=1", "aAbB", ".A.B" },
        { "device=64", "aAbB", "...." },
        { "device=1 device=0", "aAbB", "aAbB" },
        /* As ncu's documentation has them. */
        { "kernel-id=::gemm:2", "babbb", "..b.." },
        { "kernel-id=::regex:gemm:2", "bcbcb", "..bc." },
        { "kernel-id=:::.*5|3", "aaaaaaa", "..a.a.." },
        { "kernel-id=::regex:^.*d$:", "abc", "a.." },
        { "kernel-id=1:::", "aAbB", "a.b." },
        { "kernel-id=:17::", "aAbB", ".A.B" },
        { "kernel-id=1|15:7::2", "aAaA", "..a." },
        { "kernel-id=5:::", "aAbB", "...." },
        { "kernel-id=::add:2", "aAaA", "..aA" }, /* invocations of one launch configuration */
        { "filter-mode=per-gpu count=1", "aabAAB", "a..A.." },
        { "filter-mode=per-gpu skip=1 count=1", "aabAAB", ".a..A." },
        { "filter-mode=per-launch-config skip=2", "abcABC", "..c..C" },
        { "filter-mode=global count=1", "aAbB", "a..." },
        /* What may wait forever. */
        { "", "ans!b", "a...b" },
        { "collective=1", "ans!b", "ans!b" },
        { "count=2", "nnnab", "...ab" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect(cases[i].lines, cases[i].launches, cases[i].wanted);
}

static void it_is_over_once_all_are_counted(void **state)
{
    struct counted_launch launch = launch_of('a');

    launch_filter_reset();
    assert_int_equal(launch_filter_add("count", "2"), 0);
    assert_int_equal(launch_filter_add("skip", "1"), 0);
    assert_int_equal(launch_filter_add("metric", "sm__cycles_active.avg"), -1);
    for (int i = 0; i < 3; i++) {
        assert_false(launch_filter_is_over());
        launch_filter_ask(&launch);
    }
    assert_true(launch_filter_is_over());
    assert_int_equal(launch_filter_add("filter-mode", "per-gpu"), 0); /* other GPUs may still come */
    assert_false(launch_filter_is_over());
}

/* More names and configurations than the tables hold: those beyond are decided each time. */
static void full_tables(void **state)
{
    launch_filter_reset();
    assert_int_equal(launch_filter_add("kernel", "regex:7$"), 0);
    for (unsigned i = 0; i < 6000; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i);
        struct counted_launch launch = { .symbol = name, .grid = { i, 1, 1 } };
        assert_int_equal(launch_filter_ask(&launch), i % 10 == 7);
        assert_int_equal(launch_filter_ask(&launch), i % 10 == 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_named_as_by_the_demangler), cmocka_unit_test(broken_symbols_are_whole_names),
        cmocka_unit_test(long_symbols_do_not_overflow_the_stack),  cmocka_unit_test(filters),
        cmocka_unit_test(it_is_over_once_all_are_counted),         cmocka_unit_test(full_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
