/* The capture of a process that runs already and has started us: it loads the agent itself,
 * as the package `tacho` does. */
#ifndef TACHO_COLLECT_CAPTURE_SELF_CAPTURE_H
#define TACHO_COLLECT_CAPTURE_SELF_CAPTURE_H

#include "base/error.h"

struct collector;

/* Takes the caller for the program, and listens to our standard input: a word on it, or its end, is the end of the
 * capture. Its end alone would come late: a child that the caller has forked has the other end, too. */
int self_capture_start(struct collector *collector, struct error *err);

#endif
