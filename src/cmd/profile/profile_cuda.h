/* The options of `tacho profile` that are about CUDA: how their values are read, and what they come to. */
#ifndef TACHO_CMD_PROFILE_PROFILE_CUDA_H
#define TACHO_CMD_PROFILE_PROFILE_CUDA_H

#include "profile_settings.h"

void profile_cuda_init(struct profile_cuda *cuda);

/* Each reads one option's value into a struct profile_settings. */
int profile_cuda_take_graph_trace(void *settings, const char *value, struct error *err);
int profile_cuda_take_event_trace(void *settings, const char *value, struct error *err);
int profile_cuda_take_flush_interval(void *settings, const char *value, struct error *err);
int profile_cuda_take_backtrace(void *settings, const char *value, struct error *err);
int profile_cuda_take_backtrace_threshold(void *settings, const char *value, struct error *err);

/* For completion. */
const char *const *profile_cuda_graph_traces(void);
const char *const *profile_cuda_event_traces(void);
const char *const *profile_cuda_backtraces(void);

/* Fills in what a capture is told, once its sources are known; warns of what has no effect in it. */
void profile_cuda_finish(struct profile_settings *settings, struct collect_options *collect);

#endif
