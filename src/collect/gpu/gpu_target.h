/* Rows of TARGET_INFO_GPU for GPUs that only NVML shows, spelled as those that CUDA shows. */
#ifndef TACHO_COLLECT_GPU_GPU_TARGET_H
#define TACHO_COLLECT_GPU_GPU_TARGET_H

#include "report/writer/writer.h"
#include "wire/wire_gpu.h"

/* NVML writes GPU-01234567-… and 00000000:1B:00.0; reports have 01234567-… and 0000:1b:00.0. */
const char *gpu_target_uuid(const struct gpu_device *facts);
void gpu_target_bus(const struct gpu_device *facts, char out[sizeof facts->bus_id]);

/* vm_id: the machine's part of global ids. */
void gpu_target_row(struct writer *writer, int64_t vm_id, const struct gpu_device *facts, uint32_t gpu);

#endif
