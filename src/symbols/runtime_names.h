/* Names of code that is in no file: the kernel's, and code that a program generated at run time. */
#ifndef TACHO_SYMBOLS_RUNTIME_NAMES_H
#define TACHO_SYMBOLS_RUNTIME_NAMES_H

#include "symbols/names/symbol_names.h"

struct symbols_process;

/* Adds the names of /proc/kallsyms, if it shows addresses. The text of a function in a loadable kernel module is
 * followed by a tab and [module]. */
void names_add_kernel(struct symbol_names *names);

/* Adds the names of /tmp/perf-PID.map, which has one line for each piece of code: start, size and name. Returns whether
 * the file is longer than the part that is read. */
#define NAMES_BYTES_MAX (UINT64_C(256) << 20)
int names_add_made(struct symbol_names *names, struct symbols_process *process);

#endif
