/* The program's environment: the user's, the variables of -e, and those that load the agent. */
#ifndef TACHO_COLLECT_CAPTURE_ENVIRONMENT_H
#define TACHO_COLLECT_CAPTURE_ENVIRONMENT_H

#include "collect/options/collect_options.h"
#include "collect/process/program_file.h"

/* A NULL-terminated list from malloc; NULL: out of memory. */
char **environment_build(const struct collect_options *options, const struct program_file *program,
                         const char *agent_path, const char *session);
void environment_free(char **environment);

#endif
