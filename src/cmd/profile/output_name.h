/* The name of a report from what -o says: %p %h %n %q{VAR} %% as in nsys. */
#ifndef TACHO_CMD_PROFILE_OUTPUT_NAME_H
#define TACHO_CMD_PROFILE_OUTPUT_NAME_H

#include "base/error.h"
#include "base/text.h"

/* %p is the given process id (the program's), %h the host's name, %q{VAR} a variable of the environment, %n the given
 * number. The ending is .tacho, in place of .nsys-rep or .qdrep. A folder means report%n in it. *uses_number says
 * whether %n is in it. */
int output_name(struct text *out, const char *pattern, int pid, unsigned number, int *uses_number, struct error *err);

/* The same with the lowest number, from *number on, that no file has. Without %n an existing file is fine: who writes
 * decides. *number is the one that was taken. */
int output_name_free(struct text *out, const char *pattern, int pid, unsigned *number, int *uses_number,
                     struct error *err);

#endif
