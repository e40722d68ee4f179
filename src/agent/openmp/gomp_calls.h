/* The agent's half of the calls that libtacho-openmp.so interposes in libgomp: see gomp_calls.c. */
#ifndef TACHO_AGENT_OPENMP_GOMP_CALLS_H
#define TACHO_AGENT_OPENMP_GOMP_CALLS_H

#include "agent/core/word_calls.h"

extern const struct word_calls gomp_calls;

#endif
