/* The checks of `tacho doctor` for CUDA. */
#ifndef TACHO_CMD_SOURCES_CUDA_DOCTOR_H
#define TACHO_CMD_SOURCES_CUDA_DOCTOR_H

#include "cmd/doctor/finding.h"

extern const struct doctor_examination cuda_examinations[];

/* Can CUDA be traced? Checks the driver, CUPTI and other profilers in the environment. root: a prefix of the system's
 * paths, "" except in tests. */
void cuda_doctor_look(const char *root, struct doctor_finding *finding);

#endif
