/* Readings of a GPU through NVML: power, clocks, temperatures, memory and the others of wire/gpu_readings.def. */
#ifndef TACHO_GPU_NVML_NVML_READINGS_H
#define TACHO_GPU_NVML_NVML_READINGS_H

#include "nvml_devices.h"

/* Reads one: NVML's result, and the value in base units. GPM's readings are taken by nvml_gpm.h. */
uint32_t nvml_read(const struct nvml_gpu *gpu, enum gpu_reading reading, double *value);

#endif
