/* A capture, from the launch of a program to the finished report: the whole interface of src/collect.
 *
 * collect_run() starts the program, follows its process tree, turns the agents' records into rows of a report, and
 * returns when the capture is over. It prints nothing (options->tell may) and never ends the calling process. While it
 * runs it takes over signal handling (INT, TERM, HUP, QUIT, CHLD, PIPE), and then restores it. One capture per process
 * at a time. */
#ifndef TACHO_COLLECT_COLLECT_H
#define TACHO_COLLECT_COLLECT_H

#include "base/error.h"
#include "collect/options/collect_options.h"
#include "collect/options/collect_result.h"

/* Returns 0 if the program was started and a report was written, whatever the program's exit status. ERR_NOT_FOUND or
 * ERR_DENIED: the program could not be started (ending is COLLECT_NOT_STARTED; no report is left behind). Other codes:
 * the report could not be created, and the program was not started. */
int collect_run(const struct collect_options *options, struct collect_result *result, struct error *err);
void collect_result_free(struct collect_result *result);

/* The path of the agent: the variable TACHO_AGENT, else ../lib/tacho/libtacho-agent.so relative to the running
 * program; in a static buffer. NULL and err if there is no such file. */
const char *collect_agent_path(struct error *err);

/* Parses the value of --kill: none, sigkill, sigterm, a signal's name or number; -1 if it is none of them. */
int collect_signal_number(const char *text);

/* The reverse: "SIGTERM", or "signal 35"; in a static buffer. */
const char *collect_signal_name(int number);

#endif
