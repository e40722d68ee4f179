/* The library of a source that interposes functions (src/agent/stubs): the program preloads it after the agent. */
#ifndef TACHO_COLLECT_CORE_STUB_FILE_H
#define TACHO_COLLECT_CORE_STUB_FILE_H

struct collect_options;
struct collector;
struct text;

/* For preload() of the source: adds the file, with a colon before it, if it is beside the agent. */
void stub_file_preload(struct text *to, const char *agent_path, const char *file);
/* For check(): warns that `what` ("Calls into libraries") are not recorded if the file cannot be preloaded. */
void stub_file_check(struct collector *collector, const char *agent_path, const char *file, const char *what);

#endif
