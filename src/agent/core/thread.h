/* Threads and their slots: see thread.c. */
#ifndef TACHO_AGENT_CORE_THREAD_H
#define TACHO_AGENT_CORE_THREAD_H

#include "agent.h"

void thread_prepare(void);                /* once per process, before the first thread_attach() */
void thread_returns(void);                /* the start function of the calling thread has returned */
int thread_give_key_back(void);           /* deletes the agent's key, which the program needs; 1 if there was one */
struct agent_thread *thread_attach(void); /* a slot for the calling thread, or NULL */
/* A chunk for notes must not take events: closes the lane after this note, which is about to be committed, or (NULL)
 * where the lane is now. */
void thread_close_note(struct agent_lane *lane, const struct wire_record *record);

void agent_thread_begin(void); /* for a new thread; the trampoline of pthread_create calls it */
void agent_set_thread_name(const char *name);

#endif
