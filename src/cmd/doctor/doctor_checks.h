/* What `tacho doctor` looks at besides the sources. */
#ifndef TACHO_CMD_DOCTOR_DOCTOR_CHECKS_H
#define TACHO_CMD_DOCTOR_DOCTOR_CHECKS_H

#include "finding.h"

extern const struct doctor_examination doctor_program[]; /* what all sources need; told before them */
extern const struct doctor_examination doctor_machine[]; /* told behind them */

#endif
