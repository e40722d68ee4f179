/* Counters over time by tacho-gpu, with stand-ins of CUPTI of every version since 12.6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/gpu/gpu_link.h"

enum { MOST = 32, WANTED = 12 };

struct told {
    char label[MOST][64];
    size_t metrics, missing;
    uint64_t samples; /* that came */
    int64_t first_ns, last_ns;
    int is_in_order;
    struct gpu_sampling state;
    char refusal[512];
    int code, status;
};

static char script_path[] = "/tmp/tacho-nvml-XXXXXX";

/* One GPU. */
static int begin(void **state)
{
    static const char script[] = "DeviceGetCount_v2 - 1\nDeviceGetUUID - GPU-aaaa\n";
    int file = mkstemp(script_path);

    assert_int_equal(write(file, script, strlen(script)), strlen(script));
    return close(file);
}

static int end(void **state)
{
    return unlink(script_path);
}

static void use(const char *library, const char *sampling)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", getenv("FAKE"), library);
    setenv("TACHO_CUPTI", path, 1);
    snprintf(path, sizeof path, "%s/lib", getenv("FAKE"));
    setenv("LD_LIBRARY_PATH", path, 1);
    setenv("FAKE_SAMPLING", sampling, 1);
    snprintf(path, sizeof path, "%s/tacho-gpu", getenv("HELPERS"));
    setenv("TACHO_GPU_HELPER", path, 1);
    snprintf(path, sizeof path, "%s/lib/libnvidia-ml.so.1", getenv("FAKE"));
    setenv("TACHO_NVML", path, 1);
    setenv("FAKE_NVML", script_path, 1);
}

/* Every counter is the number of the sample. "SYS Clock Frequency" is one of those that are told. */
static void take_samples(struct told *told, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_samples *head = payload;
    size_t bytes = 2 * sizeof(int64_t) + head->metrics * sizeof(double);

    assert_int_equal(head->device, 0);
    assert_int_equal(head->metrics, told->metrics);
    assert_int_equal(frame->bytes, sizeof *head + head->count * bytes);
    for (uint32_t i = 0; i < head->count; i++) {
        const int64_t *times = (const int64_t *)((const char *)(head + 1) + i * bytes);
        const double *values = (const double *)(times + 2);
        told->is_in_order &= times[0] >= told->last_ns && times[1] > times[0];
        for (uint32_t k = 0; k < head->metrics; k++)
            told->is_in_order &= values[k] == values[0];
        told->first_ns = told->samples++ ? told->first_ns : times[0];
        told->last_ns = times[1];
    }
}

static void take(struct told *told, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_refusal *refusal;
    const char *texts[GPU_METRIC_TEXTS];

    switch (frame->type) {
    case GPU_FRAME_SAMPLES: take_samples(told, frame, payload); break;
    case GPU_FRAME_SAMPLING: told->state = *(const struct gpu_sampling *)payload; break;
    case GPU_FRAME_MISSING: told->missing++; break;
    case GPU_FRAME_METRIC:
        assert_int_equal(gpu_frame_texts(frame, payload, sizeof(struct gpu_frame_metric), texts, GPU_METRIC_TEXTS), 0);
        snprintf(told->label[told->metrics++], sizeof *told->label, "%s", texts[GPU_METRIC_LABEL]);
        break;
    case GPU_FRAME_REFUSAL:
        snprintf(told->refusal, sizeof told->refusal, "%s", gpu_frame_refusal(frame, payload, &refusal));
        break;
    case GPU_FRAME_DEVICE: break;
    default: fail();
    }
}

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define METRICS "wanted=sm__cycles_active.avg,gpc__cycles_elapsed.avg.per_second"

/* Reads until so many samples have come, then asks for the end and reads the rest. */
static struct told *run(uint64_t wanted, const char *const *options)
{
    static struct told told;
    struct gpu_link link;
    struct error err = { 0 };
    struct gpu_frame frame;
    const void *payload;
    int is_ending = 0;

    memset(&told, 0, sizeof told);
    told.is_in_order = 1;
    assert_int_equal(gpu_link_start(&link, "sample", options, &err), 0);
    while ((told.code = gpu_link_next(&link, 1, &frame, &payload, &err)) == 1) {
        take(&told, &frame, payload);
        if (told.samples >= wanted && !is_ending) {
            is_ending = 1;
            gpu_link_finish(&link);
        }
    }
    told.status = gpu_link_end(&link);
    return &told;
}

static void samples_come_on_our_clock_with_every_version(void **state)
{
    static const char *const versions[] = { "cupti-12.6/libcupti.so.12", "cupti-12.8/libcupti.so.12",
                                            "cupti-12.9/libcupti.so.12", "lib/libcupti.so.13",
                                            "cupti-13.1/libcupti.so.13", "cupti-13.4/libcupti.so.13" };

    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        int64_t from_ns = clock_monotonic_ns();
        use(versions[i], "");
        struct told *told = run(WANTED, OPTIONS(METRICS, "interval_ns=2000000", "decode_us=10000"));
        assert_string_equal(told->refusal, "");
        assert_int_equal(told->code, 0);
        assert_int_equal(told->status, 0);
        assert_int_equal(told->metrics, 2);
        assert_true(told->samples >= WANTED);
        assert_int_equal(told->state.samples, told->samples);
        assert_int_equal(told->state.lost, 0);
        assert_int_equal(told->state.interval_ns, 2000000);
        assert_true(told->is_in_order);
        assert_true(told->first_ns >= from_ns && told->last_ns <= clock_monotonic_ns());
        assert_int_equal(told->last_ns - told->first_ns, (int64_t)told->samples * 2000000);
    }
}

/* What this chip does not have is said. */
static void the_usual_set_is_sampled(void **state)
{
    use("lib/libcupti.so.13", "");
    struct told *told = run(1, OPTIONS("interval_ns=2000000", "decode_us=10000"));
    assert_string_equal(told->label[0], "GPC Clock Frequency [MHz]");
    assert_string_equal(told->label[1], "SYS Clock Frequency [MHz]");
    assert_true(told->missing > 0);
    assert_true(told->samples > 0);
}

/* A GPU without NVLink: its counters are left out, and no others. */
static void what_a_gpu_lacks_costs_nothing_else(void **state)
{
    use("lib/libcupti.so.13", "absent=gpc__");
    struct told *told = run(1, OPTIONS(METRICS ",pcie__read_bytes.sum", "interval_ns=2000000", "decode_us=10000"));
    assert_int_equal(told->metrics, 2);
    assert_int_equal(told->missing, 1);
    assert_true(told->samples > 0);
}

static void an_overflow_costs_samples_and_is_counted(void **state)
{
    use("lib/libcupti.so.13", "overflow=3");
    struct told *told = run(WANTED, OPTIONS(METRICS, "interval_ns=2000000", "decode_us=10000"));
    assert_int_equal(told->code, 0);
    assert_int_equal(told->state.overflows, 1);
    assert_int_equal(told->state.samples, told->samples);
    assert_true(told->is_in_order);
}

static void refusals_say_what_to_do(void **state)
{
    static const struct {
        const char *sampling, *sentence;
    } cases[] = {
        { "refuse=35", "NVreg_RestrictProfilingToAdminUsers=0" },
        { "refuse=7", "dcgmi profile --pause" },
        { "refuse=41", "confidential" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use("lib/libcupti.so.13", cases[i].sampling);
        struct told *told = run(1, OPTIONS(METRICS));
        assert_non_null(strstr(told->refusal, cases[i].sentence));
        assert_int_equal(told->code, 0);
        assert_int_equal(told->samples, 0);
    }
    use("lib/libcupti.so.13", "");
    struct told *told = run(1, OPTIONS("wanted=sm__inst_executed.sum"));
    assert_non_null(strstr(told->refusal, "has none of these metrics"));
    assert_int_equal(told->missing, 1);
    use("cupti-12.4/libcupti.so.12", "");
    assert_non_null(strstr(run(1, OPTIONS(METRICS))->refusal, "CUPTI 12.6 or later"));
}

/* A library that ends the process, or never returns, costs the samples and nothing else. */
static void its_death_is_an_end(void **state)
{
    use("lib/libcupti.so.13", "die");
    struct told *told = run(1000000, OPTIONS(METRICS, "interval_ns=2000000", "decode_us=10000"));
    assert_int_equal(told->code, 0);
    assert_int_equal(WEXITSTATUS(told->status), 9);
    assert_true(told->samples > 0);
}

static void a_hang_is_killed(void **state)
{
    struct gpu_link link;
    struct error err = { 0 };
    struct gpu_frame frame;
    const void *payload;

    use("lib/libcupti.so.13", "hang");
    assert_int_equal(gpu_link_start(&link, "sample", OPTIONS(METRICS, "interval_ns=2000000", "decode_us=10000"), &err),
                     0);
    do
        assert_int_equal(gpu_link_next(&link, 1, &frame, &payload, &err), 1);
    while (frame.type != GPU_FRAME_SAMPLES);
    int status = gpu_link_end(&link);
    assert_true(WIFSIGNALED(status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_on_our_clock_with_every_version),
        cmocka_unit_test(the_usual_set_is_sampled),
        cmocka_unit_test(what_a_gpu_lacks_costs_nothing_else),
        cmocka_unit_test(an_overflow_costs_samples_and_is_counted),
        cmocka_unit_test(refusals_say_what_to_do),
        cmocka_unit_test(its_death_is_an_end),
        cmocka_unit_test(a_hang_is_killed),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
