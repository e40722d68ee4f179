/* Peaks of GPUs against the figures that NVIDIA publishes, dense and with accumulation in fp32. Where a clock was
 * derived from one of these figures (gpu_peaks.c), only the others are independent of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/model/flops/gpu_peaks.h"
#include "base/array.h"

/* TFLOP/s, and GB/s of memory; 0: the data sheet has no figure. */
static const struct published {
    const char *name; /* as CUDA has it */
    double rate[GPU_RATES];
} published[] = {
    /*                            fp64, tensor, fp32, tf32, fp16, fp8, int8, fp4, memory */
    { "Tesla V100-SXM2-16GB", { 7.8, 0, 15.7, 0, 125, 0, 0, 0, 900 } },
    { "Tesla V100-PCIE-32GB", { 7, 0, 14, 0, 112, 0, 0, 0, 900 } },
    { "Tesla T4", { 0, 0, 8.1, 0, 65, 0, 130, 0, 320 } },
    { "NVIDIA A100-SXM4-80GB", { 9.7, 19.5, 19.5, 156, 312, 0, 624, 0, 2039 } },
    { "NVIDIA A100 80GB PCIe", { 9.7, 19.5, 19.5, 156, 312, 0, 624, 0, 1935 } },
    { "NVIDIA A100-PCIE-40GB", { 9.7, 19.5, 19.5, 156, 312, 0, 624, 0, 1555 } },
    { "NVIDIA A30", { 5.2, 10.3, 10.3, 82, 165, 0, 330, 0, 933 } },
    { "NVIDIA A40", { 0, 0, 37.4, 74.8, 149.7, 0, 299.3, 0, 696 } },
    { "NVIDIA A10", { 0, 0, 31.2, 62.5, 125, 0, 250, 0, 600 } },
    { "NVIDIA GeForce RTX 3090", { 0, 0, 35.6, 35.6, 71, 0, 284, 0, 936 } },
    { "NVIDIA GeForce RTX 3080", { 0, 0, 29.8, 29.8, 59.5, 0, 238, 0, 760 } },
    { "NVIDIA GeForce RTX 3070", { 0, 0, 20.3, 20.3, 40.6, 0, 162.6, 0, 448 } },
    { "NVIDIA L40S", { 0, 0, 91.6, 183, 362.05, 733, 733, 0, 864 } },
    { "NVIDIA L40", { 0, 0, 90.5, 90.5, 181.05, 362, 362, 0, 864 } },
    { "NVIDIA L4", { 0, 0, 30.3, 60, 121, 242.5, 242.5, 0, 300 } },
    { "NVIDIA GeForce RTX 4090", { 1.29, 0, 82.6, 82.6, 165.2, 330.3, 660.6, 0, 1008 } },
    { "NVIDIA GeForce RTX 4080", { 0, 0, 48.7, 48.7, 97.5, 194.9, 389.9, 0, 717 } },
    { "NVIDIA GeForce RTX 4070 Ti", { 0, 0, 40.1, 40.1, 80.2, 160.4, 320.7, 0, 504 } },
    { "NVIDIA H100 80GB HBM3", { 33.5, 66.9, 66.9, 494.7, 989.4, 1978.9, 1978.9, 0, 3352 } },
    { "NVIDIA H100 PCIe", { 25.6, 51.2, 51.2, 378, 756, 1513, 1513, 0, 2000 } },
    { "NVIDIA H100 NVL", { 30, 60, 60, 417.5, 835, 1670, 1670, 0, 3900 } },
    { "NVIDIA H200", { 34, 67, 67, 494.5, 989, 1979, 1979, 0, 4800 } },
    { "NVIDIA GH200 480GB", { 34, 67, 67, 494.5, 990, 1979, 1979, 0, 4000 } },
    { "NVIDIA GH200 144G HBM3e", { 34, 67, 67, 494.5, 990, 1979, 1979, 0, 4900 } },
    { "NVIDIA B200", { 37, 37, 75, 1125, 2250, 4500, 4500, 9000, 7700 } },
    { "NVIDIA B100", { 30, 30, 60, 875, 1750, 3500, 3500, 7000, 7700 } },
    { "NVIDIA GB200", { 40, 40, 80, 1250, 2500, 5000, 5000, 10000, 8000 } },
    { "NVIDIA GeForce RTX 5090", { 1.64, 0, 104.8, 104.8, 209.5, 419, 838, 1676, 1792 } },
    { "NVIDIA GeForce RTX 5080", { 0, 0, 56.3, 56.3, 112.6, 225.1, 450.2, 900.4, 960 } },
    { "NVIDIA GeForce RTX 5070 Ti", { 0, 0, 43.9, 43.9, 87.9, 175.8, 351.5, 703, 896 } },
    { "NVIDIA GeForce RTX 5070", { 0, 0, 30.9, 30.9, 61.7, 123.5, 246.9, 493.9, 672 } },
    { "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", { 0, 0, 125, 252, 503.8, 1007.6, 1007.6, 2015.2, 1792 } },
};

/* Within 2.5 %: data sheets round, and some clocks differ from the boost clock by that much. */
static void tables_agree_with_data_sheets(void **state)
{
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(published); i++) {
        struct gpu_peaks peaks = gpu_peaks_of(&(struct gpu_facts){ .name = published[i].name });
        for (int rate = 0; rate < GPU_RATES; rate++) {
            double expected = published[i].rate[rate], got = peaks.rate[rate] / (rate == RATE_MEMORY ? 1e9 : 1e12);
            if (!(expected > 0) || fabs(got - expected) <= 0.025 * expected)
                continue;
            print_error("%s %s: expected %g, got %g\n", published[i].name, gpu_rate_name((enum gpu_rate)rate), expected,
                        got);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* 76 × 2.04 GHz × 256, and × 512 on the tensor cores of a GeForce. */
static void a_chip_without_a_row_has_its_reported_clock(void **state)
{
    struct gpu_peaks peaks = gpu_peaks_of(&(struct gpu_facts){ .name = "NVIDIA GeForce RTX 4090 Laptop GPU",
                                                               .compute_major = 8,
                                                               .compute_minor = 9,
                                                               .sm_count = 76,
                                                               .clock_hz = 2040000000,
                                                               .memory_bytes_s = 576000000000 });

    (void)state;
    assert_true(fabs(peaks.rate[RATE_FP32] - 76 * 2.04e9 * 256) < 1e6);
    assert_true(fabs(peaks.rate[RATE_FP16] - 76 * 2.04e9 * 512) < 1e6);
    assert_true(fabs(peaks.rate[RATE_MEMORY] - 576e9) < 1);
}

static void part_of_a_gpu_has_part_of_its_peak(void **state)
{
    struct gpu_peaks peaks = gpu_peaks_of(
        &(struct gpu_facts){ .name = "NVIDIA H100 80GB HBM3 MIG 1g.10gb", .sm_count = 16 });

    (void)state;
    assert_true(fabs(peaks.rate[RATE_FP16] - 16 * 1.83e9 * 4096) < 1e6);
}

static void an_unknown_gpu_has_no_peak(void **state)
{
    struct gpu_peaks peaks = gpu_peaks_of(&(struct gpu_facts){ .name = "NVIDIA X9000", .sm_count = 1, .clock_hz = 1 });

    (void)state;
    for (int rate = 0; rate < GPU_RATES; rate++)
        assert_true(peaks.rate[rate] == 0);
}

static void the_user_sets_peaks(void **state)
{
    struct gpu_peaks peaks = { 0 };
    struct error err;

    (void)state;
    assert_int_equal(gpu_peaks_set(&peaks, "fp16=989.5,memory=4800+tf32=494", &err), 0);
    assert_true(peaks.rate[RATE_FP16] == 989.5e12 && peaks.rate[RATE_MEMORY] == 4800e9 &&
                peaks.rate[RATE_TF32] == 494e12);
    static const char *const wrong[] = { "bf17=1", "bf16", "bf16=", "bf16=-1", "bf16=1x", "=", "bf16=nan" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (gpu_peaks_set(&peaks, wrong[i], &err) != ERR_BAD_ARGUMENT)
            fail_msg("'%s' is taken", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_agree_with_data_sheets),
        cmocka_unit_test(a_chip_without_a_row_has_its_reported_clock),
        cmocka_unit_test(part_of_a_gpu_has_part_of_its_peak),
        cmocka_unit_test(an_unknown_gpu_has_no_peak),
        cmocka_unit_test(the_user_sets_peaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
