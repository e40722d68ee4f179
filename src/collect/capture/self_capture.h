/* The capture of a process that runs already and has started us: it loads the agent itself, as the package `tacho`
 * does. */
#ifndef TACHO_COLLECT_CAPTURE_SELF_CAPTURE_H
#define TACHO_COLLECT_CAPTURE_SELF_CAPTURE_H

#include "base/error.h"

struct collector;

/* Takes our parent as the program, and reads our standard input: any input on it, or its end, ends the capture. Its
 * end alone would come late, since children that the parent has forked hold the other end too. */
int self_capture_start(struct collector *collector, struct error *err);

#endif
