#include "gpu_feed_options.h"

#include <errno.h>
#include <stdlib.h>

#define DAY_S 86400

int gpu_feed_take_delay(void *settings, const char *value, struct error *err)
{
    struct gpu_feed_settings *feed = settings;
    char *end;
    double seconds = strtod(value, &end);

    if (end == value || *end || !(seconds >= 1e-3 && seconds <= DAY_S))
        return error_set(err, ERR_BAD_ARGUMENT, "--delay must be a number of seconds from 0.001 to %d, not '%s'", DAY_S,
                         value);
    feed->interval_us = (int64_t)(seconds * 1e6 + 0.5);
    return 0;
}

static int take_rounds(void *settings, const char *option, const char *value, struct error *err)
{
    struct gpu_feed_settings *feed = settings;
    char *end;
    unsigned long long count = (errno = 0, strtoull(value, &end, 10));

    if (*value < '0' || *value > '9' || *end || errno || !count)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s must be a number from 1, not '%s'", option, value);
    feed->rounds = count;
    return 0;
}

int gpu_feed_take_count(void *settings, const char *value, struct error *err)
{
    return take_rounds(settings, "count", value, err);
}

int gpu_feed_take_iterations(void *settings, const char *value, struct error *err)
{
    return take_rounds(settings, "iterations", value, err);
}

int gpu_feed_options(const struct command *self, int argc, char **argv, struct gpu_feed_settings *settings, int *status)
{
    const char *operands[argc];
    size_t count;
    struct error err = { 0 };

    if (!command_options(self, argc, argv, settings, operands, &count, status))
        return 0;
    if (!count)
        return 1;
    error_set(&err, ERR_BAD_ARGUMENT, "takes options only, not '%s'; GPUs are chosen with -i", operands[0]);
    *status = command_fail(self, &err);
    return 0;
}
