/* The checks of `tacho doctor` for GPU metrics: NVML, GPM, counters. */
#ifndef TACHO_CMD_SOURCES_GPU_DOCTOR_H
#define TACHO_CMD_SOURCES_GPU_DOCTOR_H

#include "cmd/doctor/finding.h"

extern const struct doctor_examination gpu_examinations[];

/* May this user read the GPU's counters? root: a prefix of the system's paths, "" except in tests. */
void gpu_doctor_look_at_rights(const char *root, int is_privileged, struct finding *finding);

#endif
