/* The checks of `tacho doctor` besides those of the sources. */
#ifndef TACHO_CMD_DOCTOR_DOCTOR_CHECKS_H
#define TACHO_CMD_DOCTOR_DOCTOR_CHECKS_H

#include "finding.h"

extern const struct doctor_examination doctor_program[]; /* the needs of all sources; printed before them */
extern const struct doctor_examination doctor_machine[]; /* printed after them */

#endif
