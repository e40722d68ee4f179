/* Where agents come in: the listening sockets, the handshake, and the arena that each process gets. */
#ifndef TACHO_COLLECT_CAPTURE_SESSION_H
#define TACHO_COLLECT_CAPTURE_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "session_folder.h"
#include "wire/wire_marks.h"

struct collector;
struct process;
struct event;

/* What a process has left that could not attach. */
struct mark {
    pid_t pid; /* in its own namespace */
    enum wire_cause cause;
};

struct session {
    int listener, file_listener;           /* -1: none */
    struct event *accept, *file_accept;
    struct folder folder;                  /* with the file-system socket, if it could be made */
    uint8_t token[16];
    int filters;                           /* seccomp filters of our own: those of the program's processes that have
                                            * no more were there before */
    char variable[256];                    /* the value of TACHO_SESSION */
    char agent_link[96];                   /* session_agent_path() */
    uint64_t buffer_bytes;                 /* for the records of a process, and as many for CUPTI's; less
                                            * where its limits ask for it */
    struct connection *connections;        /* the newest first */
    uint32_t uids[8];                      /* of processes that came with the token, the
                                            * latest; uid_count of them so far */
    uint32_t uid_count;
    int refusal;                           /* errno, when no shared memory could be made for a
                                            * process; 0: there always was some */
    uint64_t unrecorded[WIRE_CAUSE_COUNT]; /* processes that are not recorded (unattached.h)… */
    const struct process *first_unrecorded[WIRE_CAUSE_COUNT]; /* …and the first of them that is known; NULL: none */
    struct mark *marks;                                       /* those that were left so far */
    size_t mark_count, mark_capacity;
};

int session_open(struct collector *collector, struct error *err);
void session_close(struct collector *collector);

/* The agent's path in a form that LD_PRELOAD can hold: where it has blanks or colons, a link to it in our folder. */
const char *session_agent_path(struct session *session, const char *agent_path);

/* After a round of reading: answers the agents whose flush is complete, and begins the next flush. */
void session_answer_flushes(struct collector *collector);

/* Unmaps; the program keeps its own mapping. */
void session_release_arena(struct process *process);

#endif
