/* The name of a report from the value of -o: %p %h %n %q{VAR} %% as in nsys. */
#ifndef TACHO_CMD_PROFILE_OUTPUT_NAME_H
#define TACHO_CMD_PROFILE_OUTPUT_NAME_H

#include "base/error.h"
#include "base/text.h"

/* Expands a pattern. %p is the given process id (the program's), %h the host's name, %q{VAR} an environment variable,
 * %n the given number. The extension is .tacho, which replaces .nsys-rep or .qdrep. A directory stands for report%n in
 * it. *uses_number: the pattern has %n. */
int output_name(struct text *out, const char *pattern, int pid, unsigned number, int *uses_number, struct error *err);

/* The same with the lowest number from *number on for which no file exists; *number becomes that number. Without %n
 * the file may exist: the writer decides. */
int output_name_free(struct text *out, const char *pattern, int pid, unsigned *number, int *uses_number,
                     struct error *err);

#endif
