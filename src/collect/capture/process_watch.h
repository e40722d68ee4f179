/* How the end of a process is noticed, and the processes that no agent tells of. */
#ifndef TACHO_COLLECT_CAPTURE_PROCESS_WATCH_H
#define TACHO_COLLECT_CAPTURE_PROCESS_WATCH_H

#include <stdint.h>

struct collector;
struct process;

/* Watches for its death, by pidfd where there are such; the other way is process_unwatch(). */
void process_watch(struct process *process);

/* Whether it has ended, noticed or not. */
int process_is_gone(const struct process *process);

/* Before the program is started: children that we have already, of a shell that became tacho, are none of its tree. */
void process_note_strangers(struct collector *collector);

/* Takes the statuses of children that have ended; capture->children_left says whether there are any left. */
void process_reap(struct collector *collector);

/* Looks at every process that cannot be watched. */
void process_poll(struct collector *collector);

/* Looks through /proc for processes of the tree that have no agent: static programs, those
 * whose environment was lost. */
void process_find_unseen(struct collector *collector);

/* Those that children_settle() finds: while the capture goes on, and at its end. */
void process_begun(struct process *process, int is_alive, int64_t end_ns);
void process_begun_at_end(struct process *process, int is_alive, int64_t end_ns);

/* Sends a signal to every process of the tree that is still there. */
void process_kill_all(struct collector *collector, int signal);

#endif
