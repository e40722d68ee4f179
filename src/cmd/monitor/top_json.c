/* The JSON of `tacho top`: one object a round. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/json_write.h"
#include "top_view.h"

static const struct {
    enum gpu_reading reading;
    const char *key;
} readings[] = {
    { GPU_READING_UTIL_GPU, "util_percent" },
    { GPU_READING_GPM_SM, "sm_percent" },
    { GPU_READING_GPM_TENSOR, "tensor_percent" },
    { GPU_READING_GPM_DRAM, "dram_percent" },
    { GPU_READING_MEMORY_USED, "memory_used_bytes" },
    { GPU_READING_MEMORY_TOTAL, "memory_bytes" },
    { GPU_READING_POWER, "power_w" },
    { GPU_READING_POWER_LIMIT, "power_limit_w" },
    { GPU_READING_TEMPERATURE, "temperature_c" },
    { GPU_READING_CLOCK_SM, "sm_clock_hz" },
    { GPU_READING_CLOCK_MEMORY, "memory_clock_hz" },
    { GPU_READING_CLOCK_REASONS, "clock_reasons" },
};

static void add_text(struct text *out, const char *key, const char *value)
{
    text_addf(out, ",\"%s\":", key);
    json_add_text(out, value, strlen(value));
}

static void add_real(struct text *out, const char *key, double value)
{
    text_addf(out, ",\"%s\":", key);
    json_add_real(out, value);
}

static void add_bytes(struct text *out, const char *key, uint64_t bytes)
{
    add_real(out, key, bytes == UINT64_MAX ? NAN : (double)bytes);
}

static void add_gpu(struct text *out, const struct top_gpu *gpu)
{
    text_addf(out, "{\"gpu\":%u", gpu->now.facts.device);
    add_text(out, "name", gpu->now.facts.name);
    add_text(out, "uuid", gpu->now.facts.uuid);
    for (size_t i = 0; i < COUNT_OF(readings); i++)
        add_real(out, readings[i].key, gpu->now.now[readings[i].reading]);
    add_real(out, "pcie_in_bytes_per_s", gpu->pcie_in);
    add_real(out, "pcie_out_bytes_per_s", gpu->pcie_out);
    add_real(out, "nvlink_in_bytes_per_s", gpu->nvlink_in);
    add_real(out, "nvlink_out_bytes_per_s", gpu->nvlink_out);
    text_add_char(out, '}');
}

static void add_instance(struct text *out, const struct gpu_instance *instance)
{
    text_addf(out, "{\"gpu\":%u,\"gpu_instance\":%u,\"compute_instance\":%u", instance->device, instance->gpu_instance,
              instance->compute_instance);
    add_text(out, "name", instance->name);
    add_text(out, "uuid", instance->uuid);
    add_real(out, "sm_percent", instance->sm);
    add_real(out, "tensor_percent", instance->tensor);
    add_real(out, "dram_percent", instance->dram);
    add_bytes(out, "memory_used_bytes", instance->memory_used_bytes);
    add_bytes(out, "memory_bytes", instance->memory_bytes);
    text_add_char(out, '}');
}

static void add_process(struct text *out, const struct top_process *process)
{
    const struct gpu_process *now = &process->now;

    text_addf(out, "{\"pid\":%u,\"gpu\":%u", now->pid, now->device);
    add_real(out, "gpu_instance", now->gpu_instance == GPU_ALL ? NAN : now->gpu_instance);
    add_real(out, "compute_instance", now->gpu_instance == GPU_ALL ? NAN : now->compute_instance);
    add_text(out, "user", process->user);
    add_text(out, "type", gpu_feed_type(now->types));
    add_real(out, "sm_percent", now->sm < 0 ? NAN : now->sm);
    add_bytes(out, "memory_bytes", now->memory_bytes);
    add_text(out, "command", process->command ? process->command : "-");
    text_add_char(out, '}');
}

static void add_capture(struct text *out, const struct running_capture *capture)
{
    text_addf(out, "{\"pid\":%d", (int)capture->pid);
    add_text(out, "report", capture->report);
    add_text(out, "command", capture->command);
    add_real(out, "age_s", (double)capture->age_ns / 1e9);
    text_add_char(out, '}');
}

#define ADD_LIST(out, name, count, call)                                                                            \
    do {                                                                                                            \
        text_add(out, ",\"" name "\":[");                                                                           \
        for (size_t i = 0; i < (count); i++) {                                                                      \
            if (i)                                                                                                  \
                text_add_char(out, ',');                                                                            \
            call;                                                                                                   \
        }                                                                                                           \
        text_add_char(out, ']');                                                                                    \
    } while (0)

void top_json_add(struct text *out, const struct top_model *model)
{
    time_t seconds = (time_t)(model->utc_ns / 1000000000);
    struct tm parts;
    char clock[32];

    gmtime_r(&seconds, &parts);
    strftime(clock, sizeof clock, "%Y-%m-%dT%H:%M:%S", &parts);
    text_addf(out, "{\"time\":\"%s.%06" PRId64 "Z\"", clock, model->utc_ns % 1000000000 / 1000);
    ADD_LIST(out, "gpus", model->gpu_count, add_gpu(out, &model->gpus[i]));
    ADD_LIST(out, "instances", model->instance_count, add_instance(out, &model->instances[i]));
    ADD_LIST(out, "processes", model->process_count, add_process(out, &model->processes[i]));
    ADD_LIST(out, "captures", model->capture_count, add_capture(out, &model->captures[i]));
    text_add(out, "}\n");
}
