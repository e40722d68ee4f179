/* The options of the commands that show readings as they come: which GPUs, how often, how long. */
#ifndef TACHO_CMD_MONITOR_GPU_FEED_OPTIONS_H
#define TACHO_CMD_MONITOR_GPU_FEED_OPTIONS_H

#include "cmd/command.h"

/* Filled by the options; the first member of a command's settings. */
struct gpu_feed_settings {
    const char *devices;
    int is_json;
    int64_t interval_us;
    uint64_t rounds;
};

/* The rows of the first two, which are the same for all: GPU_FEED_OPTIONS(type, member). */
#define GPU_FEED_OPTIONS(type, member)                                                                                \
    { .name = "id", .letter = 'i', .kind = OPTION_TEXT, .offset = offsetof(type, member.devices), .value = "LIST",    \
      .help = "Show these GPUs: numbers, UUIDs or PCI bus ids, separated by commas. Default: all." },                 \
    { .name = "delay", .letter = 'd', .kind = OPTION_CUSTOM, .value = "SECONDS", .take = gpu_feed_take_delay,         \
      .help = "Read the GPUs every SECONDS seconds; fractions are allowed. Default: 1." }
int gpu_feed_take_delay(void *settings, const char *value, struct error *err);
int gpu_feed_take_count(void *settings, const char *value, struct error *err);
int gpu_feed_take_iterations(void *settings, const char *value, struct error *err); /* the same, of another name */

/* Parses the options and checks that there is nothing else: 1; 0: *status is the exit status. */
int gpu_feed_options(const struct command *self, int argc, char **argv, struct gpu_feed_settings *settings,
                     int *status);

#endif
