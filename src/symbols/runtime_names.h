/* Names of code that is in no file: the kernel's, and code that a program generated at run time. */
#ifndef TACHO_SYMBOLS_RUNTIME_NAMES_H
#define TACHO_SYMBOLS_RUNTIME_NAMES_H

#include "symbols/names/symbol_names.h"
#include "symbols_state.h"

/* /proc/kallsyms, where it tells addresses. Of a loadable module's function the text is
 * followed by a tab and [module]. */
void names_add_kernel(struct symbol_names *names);

/* /tmp/perf-PID.map, as perf's tools have it: one line for each piece of code, start, size and name. Says whether it is
 * longer than what is read of it. */
#define NAMES_BYTES_MAX (UINT64_C(256) << 20)
int names_add_made(struct symbol_names *names, struct symbols_process *process);

#endif
