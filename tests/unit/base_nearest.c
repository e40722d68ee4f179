/* The name that someone meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/nearest.h"

static void distances(void **state)
{
    assert_int_equal(nearest_distance("", "abc"), 3);
    assert_int_equal(nearest_distance("kitten", "sitting"), 3);
    assert_int_equal(nearest_distance("output", "outptu"), 1); /* neighbours swapped */
    assert_int_equal(nearest_distance("same", "SAME"), 0);
}

static void suggestions(void **state)
{
    static const char *const names[] = {
        "cuda_api_sum",      "cuda_gpu_kern_gb_sum",  "cuda_gpu_kern_sum", "cuda_kern_exec_sum",
        "cuda_kern_seq_sum", "cuda_gpu_mem_size_sum", "nvtx_sum",          "osrt_sum",
        "thread_wait_sum",   "cpu_sample_sum",        "TACHO_SAMPLING",    NULL
    };
    static const struct {
        const char *name, *nearest;
    } cases[] = {
        { "cuda_kern_sum", "cuda_gpu_kern_sum" }, /* all of its words */
        { "kernel_gpu_sum", "cuda_gpu_kern_sum" },
        { "cuda_kern_smu", "cuda_gpu_kern_sum" }, /* a slip in one of them */
        { "kenr_gpu", "cuda_gpu_kern_sum" },
        { "cuda_kern_exce", "cuda_kern_exec_sum" },
        { "krn_smu", NULL },                      /* a slip in each of them */
        { "mem_size", "cuda_gpu_mem_size_sum" },
        { "wait-sum", "thread_wait_sum" },
        { "cpu", "cpu_sample_sum" },              /* the beginning */
        { "nvtx_sun", "nvtx_sum" },               /* a slip */
        { "ostr_sum", "osrt_sum" },
        { "tacho_samplng", "TACHO_SAMPLING" },
        { "colours", NULL },
        { "summary", NULL }, /* sum is but a part of it, of any name */
        { "", NULL },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *got = nearest_name(cases[i].name, names);
        if (cases[i].nearest && got)
            assert_string_equal(got, cases[i].nearest);
        else
            assert_ptr_equal(got, cases[i].nearest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(distances), cmocka_unit_test(suggestions) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
