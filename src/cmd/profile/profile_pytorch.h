/* The options of `tacho profile` that are about PyTorch: how their values are read, and what they come to. */
#ifndef TACHO_CMD_PROFILE_PROFILE_PYTORCH_H
#define TACHO_CMD_PROFILE_PROFILE_PYTORCH_H

#include "profile_settings.h"

/* Reads --pytorch into a struct profile_settings. */
int profile_pytorch_take(void *settings, const char *value, struct error *err);

/* For completion. */
const char *const *profile_pytorch_choices(void);

/* Fills in what a capture is told; PyTorch becomes one of its sources. */
void profile_pytorch_finish(struct profile_settings *settings, struct collect_options *collect);

#endif
