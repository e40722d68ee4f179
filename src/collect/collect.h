/* A capture, from the launch of a program to the finished report: the whole interface of src/collect.
 *
 * collect_run() starts the program, follows its process tree, turns what the agents record into rows of a report,
 * and returns when the capture is over. It prints nothing (tell() may) and never ends the calling process; it does
 * take over signal handling (INT, TERM, HUP, QUIT, CHLD, PIPE) for as long as it runs, and puts it back. One
 * capture per process at a time. */
#ifndef TACHO_COLLECT_COLLECT_H
#define TACHO_COLLECT_COLLECT_H

#include "base/error.h"
#include "collect/options/collect_options.h"
#include "collect/options/collect_result.h"

/* 0 when the program was started and a report was written, whatever became of the program. ERR_NOT_FOUND or ERR_DENIED
 * when it could not be started (ending is COLLECT_NOT_STARTED; no report is left behind), other codes when the report
 * could not be made: then the program was not started. */
int collect_run(const struct collect_options *options, struct collect_result *result, struct error *err);
void collect_result_free(struct collect_result *result);

/* ../lib/tacho/libtacho-agent.so beside the running program, or the variable TACHO_AGENT; in a static buffer. NULL and
 * err when there is none. */
const char *collect_agent_path(struct error *err);

/* What --kill accepts: none, sigkill, sigterm, a signal's name or number; -1 if it is none of them. */
int collect_signal_number(const char *text);

/* The other way: "SIGTERM"; or "signal 35", in a static buffer. */
const char *collect_signal_name(int number);

#endif
