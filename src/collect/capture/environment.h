/* The program's environment: the user's, what -e adds, and what brings the agent in. */
#ifndef TACHO_COLLECT_CAPTURE_ENVIRONMENT_H
#define TACHO_COLLECT_CAPTURE_ENVIRONMENT_H

#include "base/text.h"
#include "collect/collect.h"
#include "collect/process/program_file.h"

/* NULL-terminated, from malloc; NULL when memory is short. */
char **environment_build(const struct collect_options *options, const struct program *program, const char *agent_path,
                         const char *session);
void environment_free(char **environment);

/* The library that stands before cuBLAS and its like, beside the agent: whether it is there,
 * wanted and may be preloaded. */
int environment_stubs(struct text *path, const struct collect_options *options, const char *agent_path);

/* The folder that Python programs find first, beside the agent: whether it is wanted. A path that
 * is not there stays empty. */
int environment_python(struct text *path, const struct collect_options *options, const char *agent_path);

/* The value that the program will see, from options and our own environment; NULL: unset. */
const char *environment_value(const struct collect_options *options, const char *name);

#endif
