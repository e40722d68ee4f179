/* Threads and their slots: see thread.c. */
#ifndef TACHO_AGENT_CORE_THREAD_H
#define TACHO_AGENT_CORE_THREAD_H

#include "agent.h"

void thread_prepare(void);                /* once per process, before the first thread_attach() */
void thread_returns(void);                /* the calling thread's function has returned */
int thread_give_key_back(void);           /* the program needs the agent's key for thread-specific
                                           * data: whether there was one */
struct agent_thread *thread_attach(void); /* a slot for the calling thread, or NULL */
/* A chunk for notes takes no event: behind this note, which is about to be committed, or where the lane is (NULL). */
void thread_close_note(struct agent_lane *lane, const struct wire_record *record);

void agent_thread_begin(void); /* a new thread, called from the pthread_create trampoline */
void agent_set_thread_name(const char *name);

#endif
