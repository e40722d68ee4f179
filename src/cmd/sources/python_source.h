/* Settings of Python that other sources need. */
#ifndef TACHO_CMD_SOURCES_PYTHON_SOURCE_H
#define TACHO_CMD_SOURCES_PYTHON_SOURCE_H

#include "cmd/profile/profile_settings.h"

/* --python-backtrace: should backtraces include Python frames? */
int python_has_backtrace(struct profile_settings *settings);

#endif
