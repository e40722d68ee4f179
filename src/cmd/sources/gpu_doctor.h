/* The checks of `tacho doctor` for GPU metrics: NVML, GPM, counters over time and of kernels. */
#ifndef TACHO_CMD_SOURCES_GPU_DOCTOR_H
#define TACHO_CMD_SOURCES_GPU_DOCTOR_H

#include "cmd/doctor/finding.h"

extern const struct doctor_examination gpu_examinations[];

/* Adds whether the programs of this user may read the GPU's counters; if not, that fails. root: a prefix of the
 * system's paths, "" except in tests. */
void gpu_doctor_look_at_rights(const char *root, int is_privileged, struct doctor_finding *finding);

#endif
