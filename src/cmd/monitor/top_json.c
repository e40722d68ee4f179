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
} top_json_readings[] = {
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

static double known_bytes(uint64_t bytes)
{
    return bytes == UINT64_MAX ? NAN : (double)bytes;
}

static void top_json_add_gpu(struct text *out, const struct top_gpu *gpu)
{
    json_addf(out, "{'gpu':%u,'name':%s,'uuid':%s", gpu->now.facts.device, gpu->now.facts.name, gpu->now.facts.uuid);
    for (size_t i = 0; i < COUNT_OF(top_json_readings); i++)
        json_addf(out, "%s:%g", top_json_readings[i].key, gpu->now.now[top_json_readings[i].reading]);
    json_addf(out, "'pcie_in_bytes_per_s':%g,'pcie_out_bytes_per_s':%g", gpu->pcie_in, gpu->pcie_out);
    json_addf(out, "'nvlink_in_bytes_per_s':%g,'nvlink_out_bytes_per_s':%g}", gpu->nvlink_in, gpu->nvlink_out);
}

static void top_json_add_instance(struct text *out, const struct gpu_instance *instance)
{
    json_addf(out, "{'gpu':%u,'gpu_instance':%u,'compute_instance':%u,'name':%s,'uuid':%s", instance->device,
              instance->gpu_instance, instance->compute_instance, instance->name, instance->uuid);
    json_addf(out, "'sm_percent':%g,'tensor_percent':%g,'dram_percent':%g", instance->sm, instance->tensor,
              instance->dram);
    json_addf(out, "'memory_used_bytes':%g,'memory_bytes':%g}", known_bytes(instance->memory_used_bytes),
              known_bytes(instance->memory_bytes));
}

static void top_json_add_process(struct text *out, const struct top_process *process)
{
    const struct gpu_process *now = &process->now;

    json_addf(out, "{'pid':%u,'gpu':%u,'gpu_instance':%g,'compute_instance':%g,'user':%s,'type':%s", now->pid,
              now->device, now->gpu_instance == GPU_ALL ? NAN : now->gpu_instance,
              now->gpu_instance == GPU_ALL ? NAN : now->compute_instance, process->user, gpu_feed_type(now->types));
    json_addf(out, "'sm_percent':%g,'memory_bytes':%g,'command':%s}", now->sm < 0 ? NAN : now->sm,
              known_bytes(now->memory_bytes), process->command ? process->command : "-");
}

static void add_capture(struct text *out, const struct running_capture *capture)
{
    json_addf(out, "{'pid':%d,'report':%s,'command':%s,'age_s':%g}", (int)capture->pid, capture->report,
              capture->command, (double)capture->age_ns / 1e9);
}

#define ADD_LIST(out, name, count, call)       \
    do {                                       \
        json_addf(out, "'" name "':[");        \
        for (size_t i = 0; i < (count); i++)   \
            call;                              \
        text_add_char(out, ']');               \
    } while (0)

void top_json_add(struct text *out, const struct top_model *model)
{
    time_t seconds = (time_t)(model->utc_ns / 1000000000);
    struct tm parts;
    char clock[32];

    gmtime_r(&seconds, &parts);
    strftime(clock, sizeof clock, "%Y-%m-%dT%H:%M:%S", &parts);
    text_addf(out, "{\"time\":\"%s.%06" PRId64 "Z\"", clock, model->utc_ns % 1000000000 / 1000);
    ADD_LIST(out, "gpus", model->gpu_count, top_json_add_gpu(out, &model->gpus[i]));
    ADD_LIST(out, "instances", model->instance_count, top_json_add_instance(out, &model->instances[i]));
    ADD_LIST(out, "processes", model->process_count, top_json_add_process(out, &model->processes[i]));
    ADD_LIST(out, "captures", model->capture_count, add_capture(out, &model->captures[i]));
    text_add(out, "}\n");
}
