/* Where agents attach: the listening sockets, the handshake, and the arena of each process. */
#ifndef TACHO_COLLECT_CAPTURE_SESSION_H
#define TACHO_COLLECT_CAPTURE_SESSION_H

#include "base/error.h"

struct collector;
struct capture_session;

int session_open(struct collector *collector, struct error *err);
void session_close(struct collector *collector);

/* The agent's path in a form that LD_PRELOAD accepts: if it has blanks or colons, a link to it in our folder. */
const char *session_agent_path(struct capture_session *session, const char *agent_path);

/* Called after a round of reading: answers the agents whose flush is complete, and begins the next flush. */
void session_answer_flushes(struct collector *collector);

#endif
