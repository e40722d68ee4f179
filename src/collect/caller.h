/* The capture of a process that runs already and has started us: it loads the agent itself, as the Python package does. */
#ifndef TACHO_COLLECT_CALLER_H
#define TACHO_COLLECT_CALLER_H

#include "../base/error.h"

struct collector;

/* Takes the caller for the program, and listens for the end of our standard input, which is the end of the capture. */
int caller_start(struct collector *collector, struct error *err);

#endif
