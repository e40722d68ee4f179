/* Opening what a user names: a report of ours, or a file of another profiler, which is imported on the way. */
#ifndef TACHO_CMD_OPEN_H
#define TACHO_CMD_OPEN_H

#include "../base/error.h"
#include "../report/reader.h"

int open_report(const char *path, struct report **out, struct error *err);

#endif
