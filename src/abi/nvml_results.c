#include "nvml_results.h"

#include <stddef.h>
#include <stdio.h>

#include "base/array.h"
#include "nvml.h"

static const struct {
    enum nvml_result result;
    const char *text;
} results[] = {
    { NVML_INVALID_ARGUMENT, "invalid argument" },
    { NVML_NOT_SUPPORTED, "not supported by this GPU" },
    { NVML_NO_PERMISSION, "no permission" },
    { NVML_NOT_FOUND, "not found" },
    { NVML_DRIVER_NOT_LOADED, "the NVIDIA driver is not loaded" },
    { NVML_FUNCTION_NOT_FOUND, "not supported by this driver" },
    { NVML_GPU_IS_LOST, "the GPU has fallen off the bus" },
    { NVML_LIB_RM_VERSION_MISMATCH, "the driver was updated without a restart: library and kernel module differ" },
};

const char *nvml_result_text(uint32_t result)
{
    static char number[32];

    for (size_t i = 0; i < COUNT_OF(results); i++)
        if (results[i].result == result)
            return results[i].text;
    snprintf(number, sizeof number, "NVML error %u", result);
    return number;
}
