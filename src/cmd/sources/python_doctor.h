/* The checks of `tacho doctor` for Python. */
#ifndef TACHO_CMD_SOURCES_PYTHON_DOCTOR_H
#define TACHO_CMD_SOURCES_PYTHON_DOCTOR_H

#include "cmd/doctor/finding.h"

extern const struct doctor_examination python_examinations[];

#endif
