/* Launchers as the program: those that start ranks where tacho cannot follow. */
#ifndef TACHO_CMD_PROFILE_PROFILE_LAUNCHERS_H
#define TACHO_CMD_PROFILE_PROFILE_LAUNCHERS_H

#include "base/text.h"

/* Adds a line to `warnings` if the ranks of this program would not be recorded: it is a launcher that starts them
 * through a daemon, or on other hosts. */
void profile_launchers_check(const char *const *argv, struct text *warnings);

#endif
