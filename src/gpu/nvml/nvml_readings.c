/* One small function for each kind of call, one row for each reading. */
#include "nvml_readings.h"

#include <math.h>

#include "nvml_library.h"

/* A row: the function, its argument, and the factor to base units, or the divisor: 6999 mW are 6.999 W, and 6999 * 1e-3
 * is another number. */
struct nvml_readings_row {
    int (*read)(nvml_device device, uint32_t argument, double *value);
    uint32_t argument;
    double factor, divisor;
};

/* Functions of NVML that give one unsigned int. */
#define READ_UINT(name, call)                                                                                       \
    static int name(nvml_device device, uint32_t argument, double *value)                                           \
    {                                                                                                               \
        uint32_t got = 0;                                                                                           \
        int result = NVML(call, device, &got);                                                                      \
        *value = got;                                                                                               \
        return result;                                                                                              \
    }
READ_UINT(read_power, nvmlDeviceGetPowerUsage)
READ_UINT(read_power_limit, nvmlDeviceGetEnforcedPowerLimit)
READ_UINT(read_fan, nvmlDeviceGetFanSpeed)
READ_UINT(read_pstate, nvmlDeviceGetPerformanceState)
READ_UINT(read_replays, nvmlDeviceGetPcieReplayCounter)
READ_UINT(read_generation, nvmlDeviceGetCurrPcieLinkGeneration)
READ_UINT(read_width, nvmlDeviceGetCurrPcieLinkWidth)

/* The same with an argument. */
#define READ_UINT_OF(name, call)                                                                                    \
    static int name(nvml_device device, uint32_t argument, double *value)                                           \
    {                                                                                                               \
        uint32_t got = 0;                                                                                           \
        int result = NVML(call, device, argument, &got);                                                            \
        *value = got;                                                                                               \
        return result;                                                                                              \
    }
READ_UINT_OF(read_temperature, nvmlDeviceGetTemperature)
READ_UINT_OF(read_clock, nvmlDeviceGetClockInfo)
READ_UINT_OF(read_pcie, nvmlDeviceGetPcieThroughput)

/* Utilisation of an engine, with the period over which it was taken. */
#define READ_ENGINE(name, call)                                                                                     \
    static int name(nvml_device device, uint32_t argument, double *value)                                           \
    {                                                                                                               \
        uint32_t got = 0, period_us = 0;                                                                            \
        int result = NVML(call, device, &got, &period_us);                                                          \
        *value = got;                                                                                               \
        return result;                                                                                              \
    }
READ_ENGINE(read_encoder, nvmlDeviceGetEncoderUtilization)
READ_ENGINE(read_decoder, nvmlDeviceGetDecoderUtilization)
READ_ENGINE(read_jpeg, nvmlDeviceGetJpgUtilization)
READ_ENGINE(read_ofa, nvmlDeviceGetOfaUtilization)

static int read_energy(nvml_device device, uint32_t argument, double *value)
{
    unsigned long long got = 0;
    int result = NVML(nvmlDeviceGetTotalEnergyConsumption, device, &got);

    *value = (double)got;
    return result;
}

enum { OF_GPU, OF_MEMORY };

static int read_utilization(nvml_device device, uint32_t which, double *value)
{
    struct nvml_utilization rates = { 0 };
    int result = NVML(nvmlDeviceGetUtilizationRates, device, &rates);

    *value = which == OF_GPU ? rates.gpu : rates.memory;
    return result;
}

/* Drivers before 535 have the older name only. */
static int read_clock_reasons(nvml_device device, uint32_t argument, double *value)
{
    unsigned long long got = 0;
    int result = nvml.nvmlDeviceGetCurrentClocksEventReasons
                     ? nvml.nvmlDeviceGetCurrentClocksEventReasons(device, &got)
                     : NVML(nvmlDeviceGetCurrentClocksThrottleReasons, device, &got);

    *value = (double)got;
    return result;
}

static int read_violation(nvml_device device, uint32_t policy, double *value)
{
    struct nvml_violation violation = { 0 };
    int result = NVML(nvmlDeviceGetViolationStatus, device, policy, &violation);

    *value = (double)violation.violation_ns;
    return result;
}

enum { USED, TOTAL };

/* Memory that the driver reserves is not counted as used, as nvidia-smi shows it; drivers before 510 cannot tell. */
static int nvml_readings_read_memory(nvml_device device, uint32_t which, double *value)
{
    struct nvml_memory_v2 memory = { .version = NVML_MEMORY_V2 };
    struct nvml_memory old = { 0 };
    int result = NVML(nvmlDeviceGetMemoryInfo_v2, device, &memory);

    if (result) {
        result = NVML(nvmlDeviceGetMemoryInfo, device, &old);
        memory.used = old.used;
        memory.total = old.total;
    }
    *value = (double)(which == USED ? memory.used : memory.total);
    return result;
}

static int read_bar1(nvml_device device, uint32_t which, double *value)
{
    struct nvml_bar1_memory memory = { 0 };
    int result = NVML(nvmlDeviceGetBAR1MemoryInfo, device, &memory);

    *value = (double)(which == USED ? memory.used : memory.total);
    return result;
}

static int read_protected(nvml_device device, uint32_t argument, double *value)
{
    struct nvml_memory memory = { 0 };
    int result = NVML(nvmlDeviceGetConfComputeProtectedMemoryUsage, device, &memory);

    *value = (double)memory.used;
    return result;
}

static int read_ecc(nvml_device device, uint32_t type, double *value)
{
    unsigned long long got = 0;
    int result = NVML(nvmlDeviceGetTotalEccErrors, device, type, NVML_ECC_AGGREGATE, &got);

    *value = (double)got;
    return result;
}

static double field_value(const struct nvml_field *field)
{
    switch (field->type) {
    case NVML_DOUBLE: return field->value.real;
    case NVML_UINT: return field->value.uint;
    case NVML_ULONG:
    case NVML_ULONGLONG: return (double)field->value.ulong;
    case NVML_LONGLONG: return (double)field->value.longlong;
    case NVML_INT: return field->value.integer;
    case NVML_USHORT: return field->value.ushort;
    default: return NAN;
    }
}

static int read_scoped(nvml_device device, uint32_t id, uint32_t scope, double *value)
{
    struct nvml_field field = { .field = id, .scope = scope };
    int result = NVML(nvmlDeviceGetFieldValues, device, 1, &field);

    *value = field_value(&field);
    return result ? result : (int)field.result;
}

static int nvml_readings_read_field(nvml_device device, uint32_t id, double *value)
{
    return read_scoped(device, id, 0, value);
}

static int read_nvlink(nvml_device device, uint32_t id, double *value)
{
    return read_scoped(device, id, NVML_ALL_LINKS, value);
}

static const struct nvml_readings_row rows[GPU_READINGS] = {
    [GPU_READING_POWER] = { read_power, 0, 1, 1e3 },
    [GPU_READING_POWER_INSTANT] = { nvml_readings_read_field, NVML_FIELD_POWER_INSTANT, 1, 1e3 },
    [GPU_READING_POWER_LIMIT] = { read_power_limit, 0, 1, 1e3 },
    [GPU_READING_ENERGY] = { read_energy, 0, 1, 1e3 },
    [GPU_READING_TEMPERATURE] = { read_temperature, NVML_TEMPERATURE_GPU, 1 },
    [GPU_READING_TEMPERATURE_MEMORY] = { nvml_readings_read_field, NVML_FIELD_MEMORY_TEMPERATURE, 1 },
    [GPU_READING_FAN] = { read_fan, 0, 1 },
    [GPU_READING_UTIL_GPU] = { read_utilization, OF_GPU, 1 },
    [GPU_READING_UTIL_MEMORY] = { read_utilization, OF_MEMORY, 1 },
    [GPU_READING_UTIL_ENCODER] = { read_encoder, 0, 1 },
    [GPU_READING_UTIL_DECODER] = { read_decoder, 0, 1 },
    [GPU_READING_UTIL_JPEG] = { read_jpeg, 0, 1 },
    [GPU_READING_UTIL_OFA] = { read_ofa, 0, 1 },
    [GPU_READING_CLOCK_SM] = { read_clock, NVML_CLOCK_SM, 1e6 },
    [GPU_READING_CLOCK_MEMORY] = { read_clock, NVML_CLOCK_MEM, 1e6 },
    [GPU_READING_CLOCK_VIDEO] = { read_clock, NVML_CLOCK_VIDEO, 1e6 },
    [GPU_READING_PSTATE] = { read_pstate, 0, 1 },
    [GPU_READING_CLOCK_REASONS] = { read_clock_reasons, 0, 1 },
    [GPU_READING_VIOLATION_POWER] = { read_violation, NVML_POLICY_POWER, 1 },
    [GPU_READING_VIOLATION_THERMAL] = { read_violation, NVML_POLICY_THERMAL, 1 },
    [GPU_READING_MEMORY_USED] = { nvml_readings_read_memory, USED, 1 },
    [GPU_READING_MEMORY_TOTAL] = { nvml_readings_read_memory, TOTAL, 1 },
    [GPU_READING_BAR1_USED] = { read_bar1, USED, 1 },
    [GPU_READING_BAR1_TOTAL] = { read_bar1, TOTAL, 1 },
    [GPU_READING_PROTECTED_USED] = { read_protected, 0, 1 },
    [GPU_READING_ECC_SINGLE] = { read_ecc, NVML_ECC_CORRECTED, 1 },
    [GPU_READING_ECC_DOUBLE] = { read_ecc, NVML_ECC_UNCORRECTED, 1 },
    [GPU_READING_PCIE_REPLAYS] = { read_replays, 0, 1 },
    [GPU_READING_PCIE_RX] = { read_pcie, NVML_PCIE_RX, 1e3 },
    [GPU_READING_PCIE_TX] = { read_pcie, NVML_PCIE_TX, 1e3 },
    [GPU_READING_PCIE_GENERATION] = { read_generation, 0, 1 },
    [GPU_READING_PCIE_WIDTH] = { read_width, 0, 1 },
    [GPU_READING_NVLINK_RX] = { read_nvlink, NVML_FIELD_NVLINK_DATA_RX, 1024 },
    [GPU_READING_NVLINK_TX] = { read_nvlink, NVML_FIELD_NVLINK_DATA_TX, 1024 },
};

uint32_t nvml_read(const struct nvml_gpu *gpu, enum gpu_reading reading, double *value)
{
    const struct nvml_readings_row *row = &rows[reading];
    int result = row->read ? row->read(gpu->handle, row->argument, value) : NVML_NOT_SUPPORTED;

    *value = result ? NAN : *value * row->factor / (row->divisor ? row->divisor : 1);
    return (uint32_t)result;
}
