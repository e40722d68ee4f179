/* Readings of NVML, round after round: for dmon, pmon, top, and for captures.
 *
 * Options: devices=LIST, readings=NUMBER,… (enum gpu_reading), processes=1, instances=1, interval_us=N, rounds=N (0:
 * without end). Rounds have fixed times, so that a slow call delays its own round only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gpu/frames/frames_out.h"
#include "gpu/nvml/nvml_gpm.h"
#include "gpu/nvml/nvml_instances.h"
#include "gpu/nvml/nvml_library.h"
#include "gpu/nvml/nvml_processes.h"
#include "gpu/nvml/nvml_readings.h"
#include "gpu_mode.h"

struct monitor {
    struct nvml_gpus gpus;
    struct nvml_gpm *gpm[NVML_DEVICES_MOST]; /* NULL: no reading of GPM was asked for, or there is none */
    uint64_t processes_since_us[NVML_DEVICES_MOST];
    int has_processes, has_instances;
    uint32_t count;                          /* of readings */
    enum gpu_reading readings[GPU_READINGS];
    struct {
        struct gpu_values head;
        struct gpu_value values[GPU_READINGS];
    } frame;
};

static void parse_readings(struct monitor *monitor, const char *list)
{
    for (; list && *list; list++) { /* the comma */
        uint64_t number = gpu_option_digits(&list);
        if (number < GPU_READINGS && monitor->count < GPU_READINGS)
            monitor->readings[monitor->count++] = (enum gpu_reading)number;
        if (!*list)
            break;
    }
}

static void begin_gpm(struct monitor *monitor)
{
    int is_asked = 0;

    for (uint32_t i = 0; i < monitor->count; i++)
        is_asked |= nvml_gpm_has(monitor->readings[i]);
    for (uint32_t i = 0; is_asked && i < monitor->gpus.count; i++) {
        const struct nvml_gpu *gpu = &monitor->gpus.gpus[i];
        monitor->gpm[i] = nvml_gpm_new(gpu, GPU_ALL);
        if (!monitor->gpm[i])
            frames_add_refusal(GPU_ORIGIN_GPM, gpu->facts.device, GPU_REFUSAL_GPM_MISSING, gpu->facts.name, NULL);
    }
}

static void mode_monitor_read_gpu(struct monitor *monitor, uint32_t i)
{
    const struct nvml_gpu *gpu = &monitor->gpus.gpus[i];
    struct gpu_value *values = monitor->frame.values;

    monitor->frame.head = (struct gpu_values){ clock_monotonic_ns(), gpu->facts.device, monitor->count };
    for (uint32_t k = 0; k < monitor->count; k++) {
        values[k] = (struct gpu_value){ monitor->readings[k], NVML_NOT_SUPPORTED, NAN };
        if (!nvml_gpm_has(monitor->readings[k]))
            values[k].result = nvml_read(gpu, monitor->readings[k], &values[k].value);
    }
    if (monitor->gpm[i])
        nvml_gpm_read(monitor->gpm[i], values, monitor->count);
    frames_add(GPU_FRAME_VALUES, &monitor->frame, sizeof monitor->frame.head + monitor->count * sizeof *values);
    if (monitor->has_instances)
        nvml_instances_tell(gpu);
    if (monitor->has_processes)
        nvml_processes_tell(gpu, &monitor->processes_since_us[i]);
}

static void mode_monitor_run_rounds(struct monitor *monitor, int64_t interval_ns, uint64_t rounds)
{
    int64_t next_ns = clock_monotonic_ns();

    for (uint64_t number = 0; !rounds || number < rounds; number++) {
        for (uint32_t i = 0; i < monitor->gpus.count; i++)
            mode_monitor_read_gpu(monitor, i);
        struct gpu_round round = { clock_monotonic_ns(), number };
        frames_add(GPU_FRAME_ROUND, &round, sizeof round);
        if (frames_send())
            return;
        do
            next_ns += interval_ns;
        while (next_ns < clock_monotonic_ns() && interval_ns);
        if (number + 1 != rounds && frames_wait_until(next_ns))
            return;
    }
}

int gpu_mode_monitor(char **options)
{
    static struct monitor monitor;
    struct refusal why;
    int is_missing = nvml_load(&why);

    if (is_missing || nvml_devices_find(&monitor.gpus, gpu_option(options, "devices"), &why)) {
        frames_refuse(GPU_ORIGIN_NVML, GPU_ALL, &why);
        return is_missing ? GPU_MODE_REFUSED : GPU_STATUS_NO_GPU;
    }
    parse_readings(&monitor, gpu_option(options, "readings"));
    monitor.has_processes = gpu_option_number(options, "processes", 0) != 0;
    monitor.has_instances = gpu_option_number(options, "instances", 0) != 0;
    nvml_devices_tell(&monitor.gpus);
    begin_gpm(&monitor);
    mode_monitor_run_rounds(&monitor, (int64_t)gpu_option_number(options, "interval_us", 1000000) * 1000,
                            gpu_option_number(options, "rounds", 0));
    for (uint32_t i = 0; i < monitor.gpus.count; i++)
        nvml_gpm_free(monitor.gpm[i]);
    NVML(nvmlShutdown);
    return 0;
}
