/* A stand-in of the driver's NVML: it answers what a script says.
 *
 * FAKE_NVML names the script, a text. A line is a function without its "nvml", the device or "-", perhaps an argument
 * in brackets behind the function's name, and answers: one for each call, the last one again for all later calls. An
 * answer is a number or several with colons between them, a word (names), or !N for NVML's error N. Functions that are
 * not in the script answer "not supported".
 *
 *     DeviceGetPowerUsage 0 350000 351000 !4
 *     DeviceGetClockInfo[1] 0 1980
 *     DeviceGetComputeRunningProcesses_v3 0 4711:1000000:4294967295:4294967295
 *
 * Lists (processes) have their members with semicolons between them; "none" is the empty list. An answer "hang" is
 * none: the call never comes back.
 *
 * FAKE_NVML_LOG names a file that gets a line for each call that has answers: its key, the device, CLOCK_MONOTONIC. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/nvml.h"

#define CALL __attribute__((visibility("default"))) int
#define NVML_CALL(name, parameters) CALL name parameters;
#include "gpu/nvml/nvml_calls.def"

enum { LINES = 4096, NUMBERS = 16, MOST_ANSWERS = 256, VERSION_MISMATCH = 25 };

static struct line {
    char *key, *answers[MOST_ANSWERS];
    int device, count, at; /* device -1: none, or all */
} lines[LINES];
static int line_count, log_file = -1;

static void parse_line(char *text)
{
    char *rest = NULL, *word = strtok_r(text, " \t\n", &rest);
    if (!word || *word == '#')
        return;
    struct line *line = &lines[line_count++];
    line->key = word;
    word = strtok_r(NULL, " \t\n", &rest);
    line->device = word && *word != '-' ? atoi(word) : -1;
    while ((word = strtok_r(NULL, " \t\n", &rest)) && line->count < MOST_ANSWERS)
        line->answers[line->count++] = word;
}

__attribute__((constructor)) static void read_script(void)
{
    const char *path = getenv("FAKE_NVML"), *log_path = getenv("FAKE_NVML_LOG");
    FILE *file = path ? fopen(path, "r") : NULL;
    char *text = NULL;
    size_t capacity = 0;

    while (file && line_count < LINES && getline(&text, &capacity, file) > 0)
        parse_line(strdup(text));
    free(text);
    if (file)
        fclose(file);
    if (log_path)
        log_file = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

static int device_number(nvml_device device)
{
    return device ? (int)(intptr_t)device - 1 : -1;
}

static void note(const char *key, nvml_device device)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (log_file >= 0)
        dprintf(log_file, "%s %d %lld\n", key, device_number(device), now.tv_sec * 1000000000ll + now.tv_nsec);
}

/* The next answer; NULL: there is none in the script. */
static const char *answer(const char *key, nvml_device device)
{
    for (int i = 0; i < line_count; i++) {
        struct line *line = &lines[i];
        if (strcmp(line->key, key) == 0 && line->count && (line->device < 0 || line->device == device_number(device))) {
            const char *got = line->answers[line->at];
            line->at += line->at + 1 < line->count;
            note(key, device);
            while (strcmp(got, "hang") == 0)
                pause();
            return got;
        }
    }
    return NULL;
}

static int refusal(const char *got)
{
    return !got ? NVML_NOT_SUPPORTED : *got == '!' ? atoi(got + 1) : NVML_SUCCESS;
}

/* Numbers of an answer, or an error. */
static int numbers(const char *got, double out[NUMBERS])
{
    int result = refusal(got);
    memset(out, 0, NUMBERS * sizeof *out);
    for (int i = 0; result == NVML_SUCCESS && i < NUMBERS; i++) {
        char *end;
        out[i] = strtod(got, &end);
        got = *end == ':' ? end + 1 : "0";
    }
    return result;
}

static int ask(const char *key, nvml_device device, double out[NUMBERS])
{
    return numbers(answer(key, device), out);
}

static int ask_of(const char *name, uint32_t argument, nvml_device device, double out[NUMBERS])
{
    char key[128];
    snprintf(key, sizeof key, "%s[%u]", name, argument);
    return ask(key, device, out);
}

static int ask_text(const char *key, nvml_device device, char *out, uint32_t length)
{
    const char *got = answer(key, device);
    int result = refusal(got);
    if (result == NVML_SUCCESS) {
        snprintf(out, length, "%s", got);
        for (char *c = out; *c; c++)
            *c = *c == '_' ? ' ' : *c; /* a name of several words */
    }
    return result;
}

CALL nvmlInit_v2(void)
{
    const char *got = answer("Init_v2", NULL);
    return got ? refusal(got) : NVML_SUCCESS;
}

CALL nvmlShutdown(void)
{
    return NVML_SUCCESS;
}

CALL nvmlDeviceGetCount_v2(uint32_t *count)
{
    double got[NUMBERS];
    int result = ask("DeviceGetCount_v2", NULL, got);
    *count = (uint32_t)got[0];
    return result;
}

CALL nvmlDeviceGetHandleByIndex_v2(uint32_t index, nvml_device *device)
{
    nvml_device handle = (nvml_device)(intptr_t)(index + 1);
    const char *got = answer("DeviceGetHandleByIndex_v2", handle);
    *device = handle;
    return got ? refusal(got) : NVML_SUCCESS;
}

#define TEXT(name)                                                                                                  \
    CALL nvml##name(nvml_device device, char *out, uint32_t length)                                                 \
    {                                                                                                               \
        return ask_text(#name, device, out, length);                                                                \
    }
TEXT(DeviceGetName)
TEXT(DeviceGetUUID)

CALL nvmlSystemGetDriverVersion(char *out, uint32_t length)
{
    return ask_text("SystemGetDriverVersion", NULL, out, length);
}

#define UINT(name)                                                                                                  \
    CALL nvml##name(nvml_device device, uint32_t *out)                                                              \
    {                                                                                                               \
        double got[NUMBERS];                                                                                        \
        int result = ask(#name, device, got);                                                                       \
        *out = (uint32_t)got[0];                                                                                    \
        return result;                                                                                              \
    }
UINT(DeviceGetMinorNumber)
UINT(DeviceGetPowerUsage)
UINT(DeviceGetEnforcedPowerLimit)
UINT(DeviceGetFanSpeed)
UINT(DeviceGetPerformanceState)
UINT(DeviceGetPcieReplayCounter)
UINT(DeviceGetCurrPcieLinkGeneration)
UINT(DeviceGetCurrPcieLinkWidth)

#define UINT_OF(name)                                                                                               \
    CALL nvml##name(nvml_device device, uint32_t argument, uint32_t *out)                                           \
    {                                                                                                               \
        double got[NUMBERS];                                                                                        \
        int result = ask_of(#name, argument, device, got);                                                          \
        *out = (uint32_t)got[0];                                                                                    \
        return result;                                                                                              \
    }
UINT_OF(DeviceGetTemperature)
UINT_OF(DeviceGetClockInfo)
UINT_OF(DeviceGetPcieThroughput)

#define ENGINE(name)                                                                                                \
    CALL nvml##name(nvml_device device, uint32_t *percent, uint32_t *period_us)                                     \
    {                                                                                                               \
        double got[NUMBERS];                                                                                        \
        int result = ask(#name, device, got);                                                                       \
        *percent = (uint32_t)got[0];                                                                                \
        *period_us = 167000;                                                                                        \
        return result;                                                                                              \
    }
ENGINE(DeviceGetEncoderUtilization)
ENGINE(DeviceGetDecoderUtilization)
ENGINE(DeviceGetJpgUtilization)
ENGINE(DeviceGetOfaUtilization)

#define ULONGLONG(name)                                                                                             \
    CALL nvml##name(nvml_device device, unsigned long long *out)                                                    \
    {                                                                                                               \
        double got[NUMBERS];                                                                                        \
        int result = ask(#name, device, got);                                                                       \
        *out = (unsigned long long)got[0];                                                                          \
        return result;                                                                                              \
    }
ULONGLONG(DeviceGetTotalEnergyConsumption)
ULONGLONG(DeviceGetCurrentClocksEventReasons)

CALL nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci)
{
    memset(pci, 0, sizeof *pci);
    return ask_text("DeviceGetPciInfo_v3", device, pci->bus_id, sizeof pci->bus_id);
}

CALL nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major, int *minor)
{
    double got[NUMBERS];
    int result = ask("DeviceGetCudaComputeCapability", device, got);
    *major = (int)got[0];
    *minor = (int)got[1];
    return result;
}

CALL nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *rates)
{
    double got[NUMBERS];
    int result = ask("DeviceGetUtilizationRates", device, got);
    *rates = (struct nvml_utilization){ (uint32_t)got[0], (uint32_t)got[1] };
    return result;
}

CALL nvmlDeviceGetViolationStatus(nvml_device device, uint32_t policy, struct nvml_violation *violation)
{
    double got[NUMBERS];
    int result = ask_of("DeviceGetViolationStatus", policy, device, got);
    *violation = (struct nvml_violation){ (uint64_t)got[0], (uint64_t)got[1] };
    return result;
}

/* Answers: total:reserved:used, for both versions; used of the first one includes what is reserved. */
CALL nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *memory)
{
    double got[NUMBERS];
    int result = ask("DeviceGetMemoryInfo", device, got);
    if (memory->version != NVML_MEMORY_V2)
        return VERSION_MISMATCH;
    memory->total = (uint64_t)got[0];
    memory->reserved = (uint64_t)got[1];
    memory->used = (uint64_t)got[2];
    memory->free = memory->total - memory->reserved - memory->used;
    return result;
}

CALL nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory)
{
    struct nvml_memory_v2 whole = { .version = NVML_MEMORY_V2 };
    int result = nvmlDeviceGetMemoryInfo_v2(device, &whole);
    *memory = (struct nvml_memory){ whole.total, whole.free, whole.used + whole.reserved };
    return result;
}

CALL nvmlDeviceGetBAR1MemoryInfo(nvml_device device, struct nvml_bar1_memory *memory)
{
    double got[NUMBERS];
    int result = ask("DeviceGetBAR1MemoryInfo", device, got);
    *memory = (struct nvml_bar1_memory){ (uint64_t)got[0], (uint64_t)(got[0] - got[1]), (uint64_t)got[1] };
    return result;
}

CALL nvmlDeviceGetConfComputeProtectedMemoryUsage(nvml_device device, struct nvml_memory *memory)
{
    double got[NUMBERS];
    int result = ask("DeviceGetConfComputeProtectedMemoryUsage", device, got);
    *memory = (struct nvml_memory){ (uint64_t)got[0], (uint64_t)(got[0] - got[1]), (uint64_t)got[1] };
    return result;
}

CALL nvmlDeviceGetTotalEccErrors(nvml_device device, uint32_t type, uint32_t counter, unsigned long long *errors)
{
    double got[NUMBERS];
    int result = ask_of("DeviceGetTotalEccErrors", type * 2 + counter, device, got);
    *errors = (unsigned long long)got[0];
    return result;
}

CALL nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields)
{
    for (int i = 0; i < count; i++) {
        double got[NUMBERS];
        fields[i].result = (uint32_t)ask_of("DeviceGetFieldValues", fields[i].field, device, got);
        fields[i].type = NVML_ULONGLONG;
        fields[i].value.ulong = (uint64_t)got[0];
    }
    return NVML_SUCCESS;
}

/* Member i of a list, as numbers; 0: there is no such member. */
static int member(const char *list, uint32_t i, double out[NUMBERS])
{
    for (; i && list; i--)
        list = strchr(list, ';') ? strchr(list, ';') + 1 : NULL;
    return list && strcmp(list, "none") != 0 && numbers(list, out) == NVML_SUCCESS;
}

/* ---- MIG: instance i of GPU d is device (d + 1) * 100 + i of the script --------------------------------------------
 */

CALL nvmlDeviceGetMigMode(nvml_device device, uint32_t *current, uint32_t *pending)
{
    double got[NUMBERS];
    int result = ask("DeviceGetMigMode", device, got);
    *current = *pending = (uint32_t)got[0];
    return result;
}

UINT(DeviceGetMaxMigDeviceCount)
UINT(DeviceGetGpuInstanceId)
UINT(DeviceGetComputeInstanceId)

CALL nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, uint32_t index, nvml_device *instance)
{
    double got[NUMBERS];
    *instance = (nvml_device)(intptr_t)((device_number(device) + 1) * 100 + (int)index + 1);
    return ask("DeviceGetGpuInstanceId", *instance, got) ? NVML_NOT_FOUND : NVML_SUCCESS;
}

/* ---- Topology: functions of two GPUs have the second one in brackets, lists of sets have bits ------------------- */

CALL nvmlDeviceGetTopologyCommonAncestor(nvml_device from, nvml_device to, uint32_t *level)
{
    double got[NUMBERS];
    int result = ask_of("DeviceGetTopologyCommonAncestor", (uint32_t)device_number(to), from, got);
    *level = (uint32_t)got[0];
    return result;
}

/* DeviceGetP2PStatus[TO]: answers of all ways, in NVML's order; one answer alone is that of all. */
CALL nvmlDeviceGetP2PStatus(nvml_device from, nvml_device to, uint32_t way, uint32_t *status)
{
    double got[NUMBERS];
    char key[128];
    snprintf(key, sizeof key, "DeviceGetP2PStatus[%d]", device_number(to));
    const char *list = answer(key, from);
    int result = numbers(list, got);
    *status = (uint32_t)(list && strchr(list, ':') ? got[way] : got[0]);
    return result;
}

/* DeviceGetNvLinkState: the number of active links; all others are inactive. */
CALL nvmlDeviceGetNvLinkState(nvml_device device, uint32_t link, uint32_t *is_active)
{
    double got[NUMBERS];
    int result = ask("DeviceGetNvLinkState", device, got);
    *is_active = link < (uint32_t)got[0];
    return result;
}

CALL nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, uint32_t link, uint32_t *type)
{
    double got[NUMBERS];
    int result = ask("DeviceGetNvLinkRemoteDeviceType", device, got);
    (void)link;
    *type = (uint32_t)got[0];
    return result;
}

CALL nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, uint32_t link, struct nvml_pci *pci)
{
    char key[128];
    memset(pci, 0, sizeof *pci);
    snprintf(key, sizeof key, "DeviceGetNvLinkRemotePciInfo_v2[%u]", link);
    return ask_text(key, device, pci->bus_id, sizeof pci->bus_id);
}

/* A set is ranges with semicolons between them, FIRST:LAST. */
static int ask_set(const char *key, nvml_device device, uint32_t words, unsigned long *set)
{
    const char *list = answer(key, device);
    double got[NUMBERS];
    memset(set, 0, words * sizeof *set);
    for (uint32_t i = 0; !refusal(list) && member(list, i, got); i++)
        for (uint32_t bit = (uint32_t)got[0]; bit <= (uint32_t)got[1] && bit < words * 64; bit++)
            set[bit / 64] |= 1ul << bit % 64;
    return refusal(list);
}

CALL nvmlDeviceGetCpuAffinityWithinScope(nvml_device device, uint32_t words, unsigned long *set, uint32_t scope)
{
    return scope == NVML_AFFINITY_NODE ? ask_set("DeviceGetCpuAffinity", device, words, set) : NVML_INVALID_ARGUMENT;
}

CALL nvmlDeviceGetCpuAffinity(nvml_device device, uint32_t words, unsigned long *set)
{
    return ask_set("DeviceGetCpuAffinity", device, words, set);
}

CALL nvmlDeviceGetMemoryAffinity(nvml_device device, uint32_t words, unsigned long *set, uint32_t scope)
{
    return scope == NVML_AFFINITY_NODE ? ask_set("DeviceGetMemoryAffinity", device, words, set) : NVML_INVALID_ARGUMENT;
}

UINT(DeviceGetNumaNodeId)

/* ---- Processes ------------------------------------------------------------------------------------------------- */

#define RUNNING(name)                                                                                               \
    CALL nvml##name(nvml_device device, uint32_t *count, struct nvml_process *processes)                            \
    {                                                                                                               \
        const char *list = answer(#name, device);                                                                   \
        double got[NUMBERS];                                                                                        \
        uint32_t room = *count, found = 0;                                                                          \
        if (refusal(list))                                                                                          \
            return refusal(list);                                                                                   \
        for (; member(list, found, got); found++)                                                                   \
            if (found < room)                                                                                       \
                processes[found] = (struct nvml_process){ (uint32_t)got[0], (uint64_t)got[1], (uint32_t)got[2],     \
                                                          (uint32_t)got[3] };                                       \
        *count = found;                                                                                             \
        return found > room ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;                                                \
    }
RUNNING(DeviceGetComputeRunningProcesses_v3)
RUNNING(DeviceGetGraphicsRunningProcesses_v3)
RUNNING(DeviceGetMPSComputeRunningProcesses_v3)

CALL nvmlDeviceGetProcessesUtilizationInfo(nvml_device device, struct nvml_processes_info *info)
{
    const char *list = answer("DeviceGetProcessesUtilizationInfo", device);
    double got[NUMBERS];
    uint32_t found = 0;

    if (info->version != NVML_PROCESSES_INFO_V1)
        return VERSION_MISMATCH;
    if (refusal(list))
        return refusal(list);
    for (; member(list, found, got); found++)
        if (found < info->count)
            info->processes[found] = (struct nvml_process_info){
                (uint64_t)got[0], (uint32_t)got[1], (uint32_t)got[2], (uint32_t)got[3],
                (uint32_t)got[4], (uint32_t)got[5], (uint32_t)got[6], (uint32_t)got[7],
            };
    uint32_t room = info->count;
    info->count = found;
    return found > room ? NVML_INSUFFICIENT_SIZE : found ? NVML_SUCCESS : NVML_NOT_FOUND;
}

CALL nvmlDeviceGetProcessUtilization(nvml_device device, struct nvml_process_sample *samples, uint32_t *count,
                                     unsigned long long since_us)
{
    const char *list = answer("DeviceGetProcessUtilization", device);
    double got[NUMBERS];
    uint32_t room = *count, found = 0;

    (void)since_us;
    if (refusal(list))
        return refusal(list);
    for (; member(list, found, got); found++)
        if (found < room)
            samples[found] = (struct nvml_process_sample){ (uint32_t)got[1], (uint64_t)got[0], (uint32_t)got[2],
                                                           (uint32_t)got[3], (uint32_t)got[4], (uint32_t)got[5] };
    *count = found;
    return found > room ? NVML_INSUFFICIENT_SIZE : found ? NVML_SUCCESS : NVML_NOT_FOUND;
}

/* ---- GPM: GpmMetricsGet[NUMBER] has the values --------------------------------------------------------------------
 */

struct nvml_sample_handle {
    nvml_device device;
    int is_taken;
};

CALL nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_gpm_support *support)
{
    double got[NUMBERS];
    int result = ask("GpmQueryDeviceSupport", device, got);
    if (support->version != NVML_GPM_V1)
        return VERSION_MISMATCH;
    support->is_supported = got[0] != 0;
    return result;
}

CALL nvmlGpmSampleAlloc(nvml_gpm_sample *sample)
{
    *sample = calloc(1, sizeof **sample);
    return NVML_SUCCESS;
}

CALL nvmlGpmSampleFree(nvml_gpm_sample sample)
{
    free(sample);
    return NVML_SUCCESS;
}

CALL nvmlGpmSampleGet(nvml_device device, nvml_gpm_sample sample)
{
    const char *got = answer("GpmSampleGet", device);
    sample->device = device;
    sample->is_taken = 1;
    return got ? refusal(got) : NVML_SUCCESS;
}

/* Values of an instance are those of device (d + 1) * 100 + its GPU instance id. */
CALL nvmlGpmMigSampleGet(nvml_device device, uint32_t gpu_instance, nvml_gpm_sample sample)
{
    return nvmlGpmSampleGet((nvml_device)(intptr_t)((device_number(device) + 1) * 100 + (int)gpu_instance + 1), sample);
}

CALL nvmlGpmMetricsGet(struct nvml_gpm_metrics *metrics)
{
    if (metrics->version != NVML_GPM_V1)
        return VERSION_MISMATCH;
    if (!metrics->before || !metrics->after || !metrics->before->is_taken || !metrics->after->is_taken)
        return NVML_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < metrics->count; i++) {
        double got[NUMBERS];
        metrics->metrics[i].result = (uint32_t)ask_of("GpmMetricsGet", metrics->metrics[i].metric,
                                                      metrics->after->device, got);
        metrics->metrics[i].value = got[0];
    }
    return NVML_SUCCESS;
}
