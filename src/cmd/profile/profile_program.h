/* The options of `tacho profile` about the program itself. */
#ifndef TACHO_CMD_PROFILE_PROFILE_PROGRAM_H
#define TACHO_CMD_PROFILE_PROFILE_PROGRAM_H

#include "profile_settings.h"

/* Each function parses one option's value into a struct profile_settings. */
int profile_program_take_kill(void *settings, const char *value, struct error *err);
int profile_program_take_wait(void *settings, const char *value, struct error *err);
int profile_program_take_variables(void *settings, const char *value, struct error *err);
int profile_program_take_pid(void *settings, const char *value, struct error *err);

/* The error of a command line without a program. */
int profile_program_lacking(const struct profile_settings *settings, struct error *err);

#endif
