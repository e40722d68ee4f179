/* The table of sources. */
#include "source.h"

const struct cmd_source *const cmd_sources[] = {
#define CMD_SOURCE(name) &cmd_source_##name,
#include "sources.def"
#undef CMD_SOURCE
    NULL,
};
