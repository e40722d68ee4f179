/* Names of code that is in no file: the kernel's, and code that a program generated at run time. */
#ifndef TACHO_SYMBOLS_RUNTIME_NAMES_H
#define TACHO_SYMBOLS_RUNTIME_NAMES_H

#include "symbols/names/symbol_names.h"
#include "symbols_state.h"

/* Adds the functions of /proc/kallsyms, if it shows addresses. For a function of a module the text is followed by a
 * tab and [module]. */
void names_add_kernel(struct symbol_names *names);

/* Adds /tmp/perf-PID.map in the format of perf: a line for each piece of code with start, size and name. Returns 1 if
 * the file is longer than NAMES_BYTES_MAX, where reading stops. */
#define NAMES_BYTES_MAX (UINT64_C(256) << 20)
int names_add_made(struct symbol_names *names, struct symbols_process *process);

#endif
