/* The checks of `tacho doctor` for CPU sampling. */
#ifndef TACHO_CMD_SOURCES_CPU_DOCTOR_H
#define TACHO_CMD_SOURCES_CPU_DOCTOR_H

#include "cmd/doctor/finding.h"

extern const struct doctor_examination cpu_examinations[];

#endif
