/* The checks of `tacho doctor` for CPU sampling. */
#ifndef TACHO_CMD_SOURCES_SAMPLES_DOCTOR_H
#define TACHO_CMD_SOURCES_SAMPLES_DOCTOR_H

#include "cmd/doctor/finding.h"

extern const struct doctor_examination samples_examinations[];

#endif
