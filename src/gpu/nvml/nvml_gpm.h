/* GPM: activity of SMs, tensor cores, memory and links, averaged by the hardware between two samples. Hopper and later;
 * it needs no privileges, and another profiler may use the counters meanwhile. */
#ifndef TACHO_GPU_NVML_NVML_GPM_H
#define TACHO_GPU_NVML_NVML_GPM_H

#include "nvml_devices.h"

struct nvml_gpm;

/* Of a GPU, or of a GPU instance of MIG (GPU_ALL: none). NULL: this GPU has no GPM, or memory ran out. */
struct nvml_gpm *nvml_gpm_new(const struct nvml_gpu *gpu, uint32_t gpu_instance);
void nvml_gpm_free(struct nvml_gpm *gpm);

/* Whether a reading is GPM's. */
int nvml_gpm_has(enum gpu_reading reading);

/* Takes a sample, and fills in those values whose reading is GPM's: means since the sample before. The first time there
 * is none: NVML_NOT_FOUND. */
void nvml_gpm_read(struct nvml_gpm *gpm, struct gpu_value *values, uint32_t count);

#endif
