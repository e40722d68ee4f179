/* Watches processes for their end, and finds the processes of the tree that no agent reports. */
#ifndef TACHO_COLLECT_CAPTURE_PROCESS_WATCH_H
#define TACHO_COLLECT_CAPTURE_PROCESS_WATCH_H

#include <stdint.h>

struct collector;
struct process;

/* Watches for its death, by pidfd where the kernel has them. process_unwatch() is the reverse. */
void process_watch(struct process *process);

/* Has the process ended, whether or not we noticed? */
int process_is_gone(const struct process *process);

/* Call it before the program starts: notes the children that we have already, if a shell became tacho by exec. They do
 * not belong to the program's tree. */
void process_note_strangers(struct collector *collector);

/* Reaps children that have ended. capture->children_left says whether any are left. */
void process_reap(struct collector *collector);

/* Polls every process that cannot be watched. */
void process_poll(struct collector *collector);

/* Searches /proc for processes of the tree that have no agent: static programs, and programs whose environment was
 * cleared. */
void process_find_unseen(struct collector *collector);

/* Callbacks for children_settle(): during the capture, and at its end. */
void process_begun(struct process *process, int is_alive, int64_t end_ns);
void process_begun_at_end(struct process *process, int is_alive, int64_t end_ns);

/* Sends a signal to every process of the tree that still exists. */
void process_kill_all(struct collector *collector, int signal);

#endif
