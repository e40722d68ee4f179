/* The options of `tacho profile` that are about call chains and their names: how their values are read. */
#ifndef TACHO_CMD_PROFILE_PROFILE_STACKS_H
#define TACHO_CMD_PROFILE_PROFILE_STACKS_H

#include "profile_settings.h"

void profile_stacks_init(struct profile_settings *settings);

/* Each reads one option into a struct profile_settings. */
int profile_stacks_take_threshold(void *settings, const char *value, struct error *err);
int profile_stacks_take_depth(void *settings, const char *value, struct error *err);
int profile_stacks_take_stack_size(void *settings, const char *value, struct error *err);
int profile_stacks_take_debug_symbols(void *settings, const char *value, struct error *err);

#endif
