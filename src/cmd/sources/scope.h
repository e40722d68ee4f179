/* Which processes an option is about: the program's, all of the machine, none. */
#ifndef TACHO_CMD_SOURCES_SCOPE_H
#define TACHO_CMD_SOURCES_SCOPE_H

#include "base/error.h"
#include "collect/collect.h"

/* A value that names a scope; option: who asks. */
int scope_read(const char *option, const char *value, enum collect_scope *out, struct error *err);

/* For completion. */
const char *const *scope_names(void);

#endif
