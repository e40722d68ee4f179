/* What the files of libtacho-openmp.so share. */
#ifndef TACHO_AGENT_STUBS_OPENMP_OPENMP_STUBS_H
#define TACHO_AGENT_STUBS_OPENMP_OPENMP_STUBS_H

#include "agent/openmp/openmp_agent.h"
#include "agent/stubs/words/stub_words.h"

/* The real function for a call of libgomp's, and in call->own[GOMP_OWN_LIBRARY] the library that has it; 0 there: a
 * runtime that reports its events itself. NULL: no library has the function. Keeps errno. */
void *openmp_choose(struct word_call *call);
/* The program has unloaded objects: others may lie where they were. */
void openmp_forget_objects(void);

#endif
