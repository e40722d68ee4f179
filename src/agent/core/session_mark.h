/* Marks for the collector of a session, by the path of its socket (NULL: it has none, and no
 * marks): see wire/wire_marks.h. */
#ifndef TACHO_AGENT_CORE_SESSION_MARK_H
#define TACHO_AGENT_CORE_SESSION_MARK_H

#include "wire/wire_marks.h"

/* Someone waited for the collector in vain, and it has not been heard of since. */
int mark_is_silent(const char *socket_path);
void mark_silent(const char *socket_path);

void mark_unrecorded(const char *socket_path, enum wire_cause cause);

#endif
