/* tacho-gpu and the side that reads its frames: with the stand-in of NVML, and with programs that write nonsense. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/nvml.h"
#include "base/array.h"
#include "collect/gpu/gpu_link.h"

static const char
    script[] = "DeviceGetCount_v2 - 2\n"
               "DeviceGetName - NVIDIA_H200\n"
               "DeviceGetUUID 0 GPU-aaaa\n"
               "DeviceGetUUID 1 GPU-bbbb\n"
               "DeviceGetPciInfo_v3 0 00000000:1B:00.0\n"
               "DeviceGetPciInfo_v3 1 00000000:43:00.0\n"
               "DeviceGetCudaComputeCapability - 9:0\n"
               "DeviceGetMemoryInfo 0 150000000000:500000000:1000000000 150000000000:500000000:2000000000\n"
               "DeviceGetMemoryInfo 1 !4\n"
               "DeviceGetPowerUsage 0 350000 351500\n"
               "DeviceGetPowerUsage 1 75250\n"
               "DeviceGetClockInfo[1] - 1980\n"
               "GpmQueryDeviceSupport 0 1\n"
               "GpmMetricsGet[2] 0 87.5\n"
               "GpmMetricsGet[20] 0 3\n"
               "DeviceGetComputeRunningProcesses_v3 0 4711:1000:4294967295:4294967295;12:5:4294967295:4294967295\n"
               "DeviceGetGraphicsRunningProcesses_v3 0 12:5:4294967295:4294967295\n"
               "DeviceGetProcessesUtilizationInfo 0 100:4711:55:20:1:2:3:4;100:99:7:7:7:7:7:7\n";

static char script_path[] = "/tmp/tacho-nvml-XXXXXX";

static void write_file(char *path, const char *text, mode_t mode)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    fchmod(fd, mode);
    close(fd);
}

static int begin(void **state)
{
    char library[4096];

    write_file(script_path, script, 0600);
    snprintf(library, sizeof library, "%s/lib/libnvidia-ml.so.1", getenv("FAKE"));
    setenv("TACHO_NVML", library, 1);
    setenv("FAKE_NVML", script_path, 1);
    snprintf(library, sizeof library, "%s/tacho-gpu", getenv("HELPERS"));
    setenv("TACHO_GPU_HELPER", library, 1);
    return 0;
}

static int end(void **state)
{
    unlink(script_path);
    return 0;
}

/* All that a run of the monitor sends. */
struct told {
    uint32_t devices, values, processes, rounds;
    struct gpu_device device[4];
    struct {
        uint32_t device, count;
        struct gpu_value value[GPU_READINGS];
    } read[8];
    struct gpu_process process[8];
    char refusal[512];
    int code, status;
};

static void take(struct told *told, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_refusal *refusal;
    const struct gpu_values *values;

    switch (frame->type) {
    case GPU_FRAME_DEVICE: memcpy(&told->device[told->devices++], payload, sizeof *told->device); break;
    case GPU_FRAME_PROCESS: memcpy(&told->process[told->processes++], payload, sizeof *told->process); break;
    case GPU_FRAME_ROUND: told->rounds++; break;
    case GPU_FRAME_REFUSAL:
        snprintf(told->refusal, sizeof told->refusal, "%s", gpu_frame_refusal(frame, payload, &refusal));
        break;
    case GPU_FRAME_VALUES:
        values = gpu_frame_values(frame, payload);
        assert_non_null(values);
        told->read[told->values].device = values->device;
        told->read[told->values].count = values->count;
        memcpy(told->read[told->values++].value, values->values, values->count * sizeof *values->values);
        break;
    default: fail();
    }
}

static struct told *run(const char *const *options)
{
    static struct told told;
    struct gpu_link link;
    struct error err = { 0 };
    struct gpu_frame frame;
    const void *payload;

    memset(&told, 0, sizeof told);
    told.code = gpu_link_start(&link, "monitor", options, &err);
    if (!told.code)
        while ((told.code = gpu_link_next(&link, 1, &frame, &payload, &err)) == 1)
            take(&told, &frame, payload);
    if (told.code < 0)
        snprintf(told.refusal, sizeof told.refusal, "%s", err.text);
    told.status = gpu_link_end(&link);
    return &told;
}

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char *readings(char *out, size_t size, uint32_t a, uint32_t b, uint32_t c)
{
    snprintf(out, size, "readings=%u,%u,%u", a, b, c);
    return out;
}

static void it_reads_values_in_base_units(void **state)
{
    char list[64];
    readings(list, sizeof list, GPU_READING_POWER, GPU_READING_CLOCK_SM, GPU_READING_MEMORY_USED);
    struct told *told = run(OPTIONS(list, "rounds=2", "interval_us=0"));

    assert_int_equal(told->code, 0);
    assert_int_equal(told->status, 0);
    assert_int_equal(told->devices, 2);
    assert_string_equal(told->device[0].name, "NVIDIA H200");
    assert_string_equal(told->device[1].bus_id, "00000000:43:00.0");
    assert_int_equal(told->device[0].capability, 90);
    assert_int_equal(told->device[0].has_gpm, 1);
    assert_int_equal(told->device[1].has_gpm, 0);
    assert_int_equal(told->rounds, 2);
    assert_int_equal(told->values, 4);
    assert_true(told->read[0].value[0].value == 350);
    assert_true(told->read[2].value[0].value == 351.5);
    assert_true(told->read[0].value[1].value == 1.98e9);
    assert_true(told->read[2].value[2].value == 2e9); /* without what the driver reserves */
    assert_int_equal(told->read[1].device, 1);
    assert_true(told->read[1].value[0].value == 75.25);
    assert_true(isnan(told->read[1].value[2].value));
    assert_int_equal(told->read[1].value[2].result, NVML_NO_PERMISSION);
}

static void gpm_needs_two_samples(void **state)
{
    char list[64];
    readings(list, sizeof list, GPU_READING_GPM_SM, GPU_READING_POWER, GPU_READING_GPM_PCIE_TX);
    struct told *told = run(OPTIONS(list, "rounds=2", "interval_us=0"));

    assert_int_equal(told->read[0].value[0].result, NVML_NOT_FOUND);
    assert_true(told->read[0].value[1].value == 350);
    assert_true(told->read[2].value[0].value == 87.5);
    assert_true(told->read[2].value[2].value == 3 * 1048576.0);
    assert_int_equal(told->read[3].value[0].result, NVML_NOT_SUPPORTED);
    assert_non_null(strstr(told->refusal, "GPU 1 (NVIDIA H200) has no GPM"));
}

static void it_lists_processes(void **state)
{
    struct told *told = run(OPTIONS("devices=0", "processes=1", "rounds=1"));

    assert_int_equal(told->processes, 2);
    assert_int_equal(told->process[0].pid, 4711);
    assert_int_equal(told->process[0].types, GPU_PROCESS_COMPUTE);
    assert_int_equal(told->process[0].sm, 55);
    assert_int_equal(told->process[0].ofa, 4);
    assert_int_equal(told->process[1].pid, 12);
    assert_int_equal(told->process[1].types, GPU_PROCESS_COMPUTE | GPU_PROCESS_GRAPHICS);
    assert_int_equal(told->process[1].sm, -1);
}

static void devices_have_three_names(void **state)
{
    static const char *const names[] = { "devices=1", "devices=gpu-BBBB", "devices=00000000:43:00.0",
                                         "devices=43:00.0" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct told *told = run(OPTIONS(names[i], "rounds=1"));
        assert_int_equal(told->devices, 1);
        assert_int_equal(told->device[0].device, 1);
    }
    struct told *told = run(OPTIONS("devices=0,7", "rounds=1"));
    assert_int_equal(told->devices, 0);
    assert_string_equal(told->refusal, "There is no GPU '7' here, only 0 to 1; nvidia-smi -L lists them.");
}

static void refusals_are_sentences(void **state)
{
    char *library = strdup(getenv("TACHO_NVML"));
    setenv("TACHO_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    struct told *told = run(OPTIONS("rounds=1"));
    assert_non_null(strstr(told->refusal, "Cannot load NVML: /nowhere/libnvidia-ml.so.1"));
    assert_int_equal(told->code, 0);
    setenv("TACHO_NVML", library, 1);
    free(library);
}

static void damaged_frames_end_the_link(void **state)
{
    static const struct {
        const char *text, *why;
    } programs[] = {
        { "#!/bin/sh\nprintf 'nonsense nonsense nonsense'\n", "a damaged frame" },
        { "#!/bin/sh\nprintf '\\001\\000\\000\\000\\010\\000\\000\\000abcdefgh'\n", "another version" },
        { "#!/bin/sh\nprintf '\\001\\000\\000\\000\\010\\000\\000\\000abc'\n", "half a frame" },
        { "#!/bin/sh\nexit 0\n", "" },
    };
    char *helper = strdup(getenv("TACHO_GPU_HELPER"));

    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        char path[] = "/tmp/tacho-helper-XXXXXX";
        write_file(path, programs[i].text, 0700);
        setenv("TACHO_GPU_HELPER", path, 1);
        struct told *told = run(OPTIONS("rounds=1"));
        assert_true(*programs[i].why ? told->code < 0 : told->code == 0);
        assert_non_null(strstr(told->refusal, programs[i].why));
        unlink(path);
    }
    setenv("TACHO_GPU_HELPER", "/nowhere/tacho-gpu", 1);
    assert_non_null(strstr(run(OPTIONS("rounds=1"))->refusal, "cannot run /nowhere/tacho-gpu"));
    setenv("TACHO_GPU_HELPER", helper, 1);
    free(helper);
}

/* The program ends when we hang up, in the middle of an endless run. */
static void a_hang_up_ends_it(void **state)
{
    struct gpu_link link;
    struct error err;
    struct gpu_frame frame;
    const void *payload;

    assert_int_equal(gpu_link_start(&link, "monitor", OPTIONS("interval_us=100000000"), &err), 0);
    do
        assert_int_equal(gpu_link_next(&link, 1, &frame, &payload, &err), 1);
    while (frame.type != GPU_FRAME_ROUND);
    assert_int_equal(gpu_link_next(&link, 0, &frame, &payload, &err), 0);
    assert_true(link.fd >= 0);
    assert_int_equal(gpu_link_end(&link), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_reads_values_in_base_units),
        cmocka_unit_test(gpm_needs_two_samples),
        cmocka_unit_test(it_lists_processes),
        cmocka_unit_test(devices_have_three_names),
        cmocka_unit_test(refusals_are_sentences),
        cmocka_unit_test(damaged_frames_end_the_link),
        cmocka_unit_test(a_hang_up_ends_it),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
