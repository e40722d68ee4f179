/* The option of `tacho profile` that reads more options from a file. */
#ifndef TACHO_CMD_PROFILE_PROFILE_COMMAND_FILE_H
#define TACHO_CMD_PROFILE_PROFILE_COMMAND_FILE_H

#include "profile_settings.h"

/* Parses the option's value into a struct profile_settings. */
int profile_command_file_take(void *settings, const char *value, struct error *err);

#endif
