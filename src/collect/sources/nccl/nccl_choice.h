/* Whether NCCL of the program would load a profiler plugin that the user has chosen. */
#ifndef TACHO_COLLECT_SOURCES_NCCL_NCCL_CHOICE_H
#define TACHO_COLLECT_SOURCES_NCCL_NCCL_CHOICE_H

#include "base/text.h"
#include "collect/options/collect_options.h"

#define NCCL_PLUGIN_VARIABLE "NCCL_PROFILER_PLUGIN"

/* Adds the name of the plugin, and where it was chosen: the variable, a file of NCCL's settings, or a library with
 * NCCL's default name in LD_LIBRARY_PATH. Returns 1 if there is one. */
int nccl_choice(struct text *out, const struct collect_options *options);

#endif
