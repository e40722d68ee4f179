/* When `tacho profile` records: times, and ranges that switch it on and off. */
#include "profile_window.h"

#include <stdlib.h>
#include <string.h>

static int read_seconds(const char *name, const char *value, int64_t *out_ns, struct error *err)
{
    char *end;
    double seconds = strtod(value, &end);

    if (end == value || *end || !(seconds >= 0) || seconds > 9e9)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s must be a number of seconds, not '%s'", name, value);
    *out_ns = (int64_t)(seconds * 1e9 + 0.5);
    return 0;
}

int profile_window_take_delay(void *settings, const char *value, struct error *err)
{
    return read_seconds("delay", value, &((struct profile_settings *)settings)->collect.delay_ns, err);
}

int profile_window_take_duration(void *settings, const char *value, struct error *err)
{
    return read_seconds("duration", value, &((struct profile_settings *)settings)->collect.duration_ns, err);
}

int profile_window_take_range(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;

    if (strcmp(value, "none") == 0)
        settings->collect.range = COLLECT_RANGE_NONE;
    else if (strcmp(value, "nvtx") == 0)
        settings->collect.range = COLLECT_RANGE_NVTX;
    else if (strcmp(value, "cudaProfilerApi") == 0 || strcmp(value, "api") == 0)
        settings->collect.range = COLLECT_RANGE_API;
    else if (strcmp(value, "mpi") == 0)
        settings->collect.range = COLLECT_RANGE_MPI;
    else if (strcmp(value, "hotkey") == 0)
        text_add(&settings->warnings, "--capture-range=hotkey has no effect: a terminal has no hot keys; use "
                                      "--capture-range=api\n");
    else
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--capture-range must be none, nvtx, cudaProfilerApi, api or mpi, not '%s'", value);
    return 0;
}

static const struct {
    const char *name;
    enum collect_range_end end;
    int may_count, must_count;
} range_ends[] = {
    { "none", COLLECT_END_NONE, 0, 0 },
    { "stop", COLLECT_END_STOP, 0, 0 },
    { "stop-shutdown", COLLECT_END_STOP_SHUTDOWN, 0, 0 },
    { "repeat", COLLECT_END_REPEAT, 1, 0 },
    { "repeat-shutdown", COLLECT_END_REPEAT_SHUTDOWN, 1, 1 },
};

int profile_window_take_range_end(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    size_t length = strcspn(value, ":");
    uint64_t count = 0;

    for (size_t i = 0; i < COUNT_OF(range_ends); i++) {
        if (strlen(range_ends[i].name) != length || strncmp(range_ends[i].name, value, length) != 0)
            continue;
        int has_count = value[length] != 0;
        if (has_count && option_read_number(value + length + 1, 1, 1000000, &count) != 0)
            break;
        if (has_count ? !range_ends[i].may_count : range_ends[i].must_count)
            break;
        settings->collect.range_end = range_ends[i].end;
        settings->has_range_end = 1;
        settings->collect.range_repeat = (unsigned)count;
        return 0;
    }
    return error_set(err, ERR_BAD_ARGUMENT,
                     "--capture-range-end must be none, stop, stop-shutdown, repeat[:N] or repeat-shutdown:N, not '%s'",
                     value);
}

/* The old spelling: whether the end of the range ends the capture. */
int profile_window_take_stop_on_range_end(void *context, const char *value, struct error *err)
{
    int stops = option_bool(value);

    if (stops < 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--stop-on-range-end must be true or false, not '%s'", value);
    ((struct profile_settings *)context)->collect.range_end = stops ? COLLECT_END_STOP_SHUTDOWN : COLLECT_END_NONE;
    ((struct profile_settings *)context)->has_range_end = 1;
    return 0;
}

/* range, range@domain or range@*; a backslash makes the next character an ordinary one. */
int profile_window_take_nvtx_capture(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    char *text = profile_own(settings, malloc(strlen(value) + 1)), *out = text;

    if (!text)
        return error_no_memory(err);
    settings->collect.range_domain = NULL;
    for (const char *at = value; *at; at++) {
        if (*at == '@' && !settings->collect.range_domain) {
            *out++ = 0;
            settings->collect.range_domain = out;
            continue;
        }
        if (*at == '\\' && at[1])
            at++;
        *out++ = *at;
    }
    *out = 0;
    settings->collect.range_text = *text ? text : NULL;
    if (settings->collect.range_domain && !*settings->collect.range_domain)
        settings->collect.range_domain = NULL;
    return 0;
}
