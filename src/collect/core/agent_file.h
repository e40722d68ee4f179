/* Libraries of sources that the program loads beside the agent: struct collect_file of each row. */
#ifndef TACHO_COLLECT_CORE_AGENT_FILE_H
#define TACHO_COLLECT_CORE_AGENT_FILE_H

#include "variables.h"

struct collector;
struct text;

/* For the sources that are recorded. A library that the program must not or cannot load is left out, and so is one that
 * a program that uses these models (MODEL_BIT()s) does not need. */
void agent_files_preload(struct text *to, const struct collect_options *options, const char *agent_path,
                         uint32_t models);
void agent_files_name(struct variables *variables, const struct collect_options *options, const char *agent_path);
/* Warns about each that was left out although its source was named, and turns its source off: agents must not add it to
 * the environment of children either. */
void agent_files_check(struct collector *collector, const char *agent_path);

#endif
