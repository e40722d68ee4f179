/* What the files of libtacho-openmp.so share. */
#ifndef TACHO_AGENT_STUBS_OPENMP_OPENMP_STUBS_H
#define TACHO_AGENT_STUBS_OPENMP_OPENMP_STUBS_H

#include <dlfcn.h>

#include "agent/openmp/openmp_agent.h"

/* NULL: this process is not recorded. */
const struct agent_openmp_calls *openmp_agent(void);

/* dlsym() for this library, which must not need libdl. Leaves no error for dlerror(), and keeps errno. */
void *openmp_dlsym(void *handle, const char *name);

#endif
