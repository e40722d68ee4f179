/* What `tacho doctor` says about CUDA. */
#ifndef TACHO_CMD_SOURCES_CUDA_DOCTOR_H
#define TACHO_CMD_SOURCES_CUDA_DOCTOR_H

#include "cmd/doctor/finding.h"

extern const struct doctor_examination cuda_examinations[];

/* Whether CUDA can be traced: driver, CUPTI, other profilers in the environment. root stands before
 * the paths of the system: "". */
void cuda_doctor_look(const char *root, struct finding *finding);
/* Whether the driver would let a user read the GPU's counters. */
void cuda_doctor_look_at_counters(const char *root, struct finding *finding);

#endif
