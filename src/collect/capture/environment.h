/* The program's environment: the user's, what -e adds, and what brings the agent in. */
#ifndef TACHO_COLLECT_CAPTURE_ENVIRONMENT_H
#define TACHO_COLLECT_CAPTURE_ENVIRONMENT_H

#include "collect/options/collect_options.h"
#include "collect/process/program_file.h"

/* NULL-terminated, from malloc; NULL when memory is short. */
char **environment_build(const struct collect_options *options, const struct program *program, const char *agent_path,
                         const char *session);
void environment_free(char **environment);

#endif
