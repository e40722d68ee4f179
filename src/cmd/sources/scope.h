/* The processes that an option covers: those of the program, all of the machine, or none. */
#ifndef TACHO_CMD_SOURCES_SCOPE_H
#define TACHO_CMD_SOURCES_SCOPE_H

#include "base/error.h"
#include "collect/collect.h"

/* Parses the name of a scope; option: its name, for the error. */
int scope_read(const char *option, const char *value, enum collect_scope *out, struct error *err);

#define SCOPE_WORDS OPTION_WORDS("process-tree", "system-wide", "none") /* for completion */

#endif
