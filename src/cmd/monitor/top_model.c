#include "top_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/core/procfs.h"

/* The last two are asked for only if they are needed. */
static const enum gpu_reading top_model_readings[] = {
    GPU_READING_POWER,       GPU_READING_POWER_LIMIT,   GPU_READING_TEMPERATURE,   GPU_READING_UTIL_GPU,
    GPU_READING_UTIL_MEMORY, GPU_READING_CLOCK_SM,      GPU_READING_CLOCK_MEMORY,  GPU_READING_CLOCK_REASONS,
    GPU_READING_MEMORY_USED, GPU_READING_MEMORY_TOTAL,  GPU_READING_NVLINK_RX,     GPU_READING_NVLINK_TX,
    GPU_READING_GPM_SM,      GPU_READING_GPM_TENSOR,    GPU_READING_GPM_DRAM,      GPU_READING_GPM_PCIE_RX,
    GPU_READING_GPM_PCIE_TX, GPU_READING_GPM_NVLINK_RX, GPU_READING_GPM_NVLINK_TX, GPU_READING_PCIE_RX,
    GPU_READING_PCIE_TX,
};
enum { READINGS = COUNT_OF(top_model_readings), SLOW_READINGS = 2 };

void top_model_wish(struct gpu_feed_wish *wish, int with_pcie)
{
    wish->readings = top_model_readings;
    wish->reading_count = READINGS - (with_pcie ? 0 : SLOW_READINGS);
    wish->has_processes = wish->has_instances = 1;
}

int top_model_lacks_gpm(const struct gpu_feed *feed)
{
    for (size_t i = 0; i < feed->gpu_count; i++)
        if (!feed->gpus[i].facts.has_gpm)
            return 1;
    return 0;
}

/* ---- GPUs ------------------------------------------------------------------------------------------------------ */

static double first_known(double a, double b)
{
    return isnan(a) ? b : a;
}

/* The change of a running total, per second. */
static double rate(const struct gpu_feed_gpu *gpu, enum gpu_reading reading)
{
    double change = gpu->now[reading] - gpu->before[reading], seconds = (double)(gpu->time_ns - gpu->before_ns) / 1e9;

    return gpu->before_ns && seconds > 0 && change >= 0 ? change / seconds : NAN;
}

static void add_history(struct top_gpu *gpu, double activity)
{
    if (gpu->history_count == TOP_HISTORY)
        memmove(gpu->history, gpu->history + 1, --gpu->history_count * sizeof *gpu->history);
    gpu->history[gpu->history_count++] = activity;
}

/* GPM has no value in the first round: NVML's would be something else in the same history. */
static double activity_of(const struct gpu_feed_gpu *gpu, int is_first)
{
    double gpm = gpu->now[GPU_READING_GPM_SM];

    return gpu->facts.has_gpm && is_first ? gpm : first_known(gpm, gpu->now[GPU_READING_UTIL_GPU]);
}

static void take_gpu(struct top_gpu *gpu, const struct gpu_feed_gpu *now, int is_first)
{
    const double *values = now->now;

    if (strcmp(gpu->now.facts.uuid, now->facts.uuid) != 0)
        gpu->history_count = 0;
    gpu->now = *now;
    gpu->is_gpm = !isnan(values[GPU_READING_GPM_SM]) || (now->facts.has_gpm && is_first);
    gpu->activity = activity_of(now, is_first);
    gpu->pcie_in = first_known(values[GPU_READING_GPM_PCIE_RX], values[GPU_READING_PCIE_RX]);
    gpu->pcie_out = first_known(values[GPU_READING_GPM_PCIE_TX], values[GPU_READING_PCIE_TX]);
    gpu->nvlink_in = first_known(values[GPU_READING_GPM_NVLINK_RX], rate(now, GPU_READING_NVLINK_RX));
    gpu->nvlink_out = first_known(values[GPU_READING_GPM_NVLINK_TX], rate(now, GPU_READING_NVLINK_TX));
    add_history(gpu, gpu->activity);
}

/* ---- processes ------------------------------------------------------------------------------------------------- */

/* Names come from /etc/passwd alone: a static program cannot load the modules that know others. */
static void top_model_find_user(uint32_t pid, char out[32])
{
    struct stat status;
    char path[32], line[512];

    strcpy(out, "-");
    snprintf(path, sizeof path, "/proc/%u", pid);
    if (stat(path, &status) != 0)
        return;
    snprintf(out, 32, "%u", (unsigned)status.st_uid);
    FILE *users = fopen("/etc/passwd", "re");
    while (users && fgets(line, sizeof line, users)) {
        char name[32];
        unsigned id;
        if (sscanf(line, "%31[^:]:%*[^:]:%u:", name, &id) == 2 && id == status.st_uid) {
            memcpy(out, name, sizeof name);
            break;
        }
    }
    if (users)
        fclose(users);
}

static void free_processes(struct top_model *model)
{
    for (size_t i = 0; i < model->process_count; i++)
        free(model->processes[i].command);
    free(model->processes);
    free(model->instances);
    model->processes = NULL;
    model->instances = NULL;
    model->process_count = model->instance_count = 0;
}

static void top_model_take_process(struct top_process *process, const struct gpu_process *now)
{
    struct text command = { 0 };

    process->now = *now;
    top_model_find_user(now->pid, process->user);
    if (procfs_command((pid_t)now->pid, &command))
        text_add(&command, "-");
    process->command = text_take(&command);
}

int top_model_take(struct top_model *model, const struct gpu_feed *feed)
{
    free_processes(model);
    model->gpu_count = feed->gpu_count < TOP_GPUS ? feed->gpu_count : TOP_GPUS;
    for (size_t i = 0; i < model->gpu_count; i++)
        take_gpu(&model->gpus[i], &feed->gpus[i], feed->rounds == 1);
    model->processes = calloc(feed->process_count + 1, sizeof *model->processes);
    model->instances = calloc(feed->instance_count + 1, sizeof *model->instances);
    if (!model->processes || !model->instances)
        return ERR_NO_MEMORY;
    for (; model->process_count < feed->process_count; model->process_count++)
        top_model_take_process(&model->processes[model->process_count], &feed->processes[model->process_count]);
    for (; model->instance_count < feed->instance_count; model->instance_count++)
        model->instances[model->instance_count] = feed->instances[model->instance_count];
    model->capture_count = captures_find(model->captures, TOP_CAPTURES);
    model->utc_ns = clock_utc_ns();
    top_model_sort(model);
    return 0;
}

static int compare_memory(const struct gpu_process *a, const struct gpu_process *b)
{
    uint64_t first = a->memory_bytes == UINT64_MAX ? 0 : a->memory_bytes;
    uint64_t second = b->memory_bytes == UINT64_MAX ? 0 : b->memory_bytes;

    return COMPARE(second, first);
}

static int compare_sm(const struct gpu_process *a, const struct gpu_process *b)
{
    return COMPARE(b->sm, a->sm);
}

static int compare_pid(const struct gpu_process *a, const struct gpu_process *b)
{
    return COMPARE(a->pid, b->pid) ?: COMPARE(a->device, b->device);
}

static int top_model_compare(const void *a, const void *b, void *context)
{
    static int (*const orders[][3])(const struct gpu_process *, const struct gpu_process *) = {
        [TOP_BY_SM] = { compare_sm, compare_memory, compare_pid },
        [TOP_BY_MEMORY] = { compare_memory, compare_sm, compare_pid },
        [TOP_BY_PID] = { compare_pid, compare_sm, compare_memory },
    };
    const struct top_process *first = a, *second = b;
    enum top_sort sort = *(const enum top_sort *)context;
    int order = 0;

    for (size_t i = 0; !order && i < 3; i++)
        order = orders[sort][i](&first->now, &second->now);
    return order;
}

void top_model_sort(struct top_model *model)
{
    qsort_r(model->processes, model->process_count, sizeof *model->processes, top_model_compare, &model->sort);
}

void top_model_free(struct top_model *model)
{
    free_processes(model);
}
