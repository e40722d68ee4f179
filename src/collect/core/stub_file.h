/* The library of a source that interposes functions (src/agent/stubs): the program preloads it after the agent. */
#ifndef TACHO_COLLECT_CORE_STUB_FILE_H
#define TACHO_COLLECT_CORE_STUB_FILE_H

#include <stdint.h>

struct collector;
struct text;

/* For preload() of the source: adds the file, with a colon before it, if it is beside the agent. */
void stub_file_preload(struct text *to, const char *agent_path, const char *file);
/* For check(): warns that `what` ("Calls into libraries") are not recorded if the file cannot be preloaded, and
 * turns these sources (bits) off, so that agents do not add the file to the environment of children. */
void stub_file_check(struct collector *collector, const char *agent_path, const char *file, const char *what,
                     uint32_t sources);

#endif
