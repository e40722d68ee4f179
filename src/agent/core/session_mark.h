/* Marks for the collector of a session, which the path of its socket identifies: see wire/wire_marks.h. A session
 * without a path (NULL) has no marks. */
#ifndef TACHO_AGENT_CORE_SESSION_MARK_H
#define TACHO_AGENT_CORE_SESSION_MARK_H

#include "wire/wire_marks.h"

/* True if a process waited for the collector in vain, and the collector has not removed the mark since. */
int mark_is_silent(const char *socket_path);
void mark_silent(const char *socket_path);

void mark_unrecorded(const char *socket_path, enum wire_cause cause);

#endif
