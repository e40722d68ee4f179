/* What other sources ask of Python's. */
#ifndef TACHO_CMD_SOURCES_PYTHON_SOURCE_H
#define TACHO_CMD_SOURCES_PYTHON_SOURCE_H

#include "cmd/profile/profile_settings.h"

/* --python-backtrace: whether Python frames are wanted beside the native ones. */
int python_has_backtrace(struct profile_settings *settings);

#endif
