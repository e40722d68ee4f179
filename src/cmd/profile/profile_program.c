/* How `tacho profile` treats the program: its variables, whom it waits for, and what ends it. */
#include "profile_program.h"

#include <string.h>

int profile_program_take_kill(void *context, const char *value, struct error *err)
{
    int number = collect_signal_number(value);

    if (number < 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--kill must be none, sigint, sigterm, sigkill or the number of a signal, not '%s'", value);
    ((struct profile_settings *)context)->collect.kill_signal = number;
    return 0;
}

int profile_program_take_wait(void *context, const char *value, struct error *err)
{
    if (strcmp(value, "all") != 0 && strcmp(value, "primary") != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--wait must be all or primary, not '%s'", value);
    ((struct profile_settings *)context)->collect.wait_primary = strcmp(value, "primary") == 0;
    return 0;
}

int profile_program_take_variables(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    char **pairs = profile_own(settings, option_split(value, NULL));

    if (!pairs)
        return error_no_memory(err);
    for (; *pairs; pairs++) {
        char *equals = strchr(*pairs, '=');
        if (!equals || equals == *pairs)
            return error_set(err, ERR_BAD_ARGUMENT, "--env-var must be NAME=VALUE, not '%s'", *pairs);
        if (settings->collect.environment_count == COUNT_OF(settings->environment))
            return error_set(err, ERR_BAD_ARGUMENT, "--env-var sets too many variables");
        *equals = 0;
        settings->environment[settings->collect.environment_count++] = (struct collect_variable){ *pairs, equals + 1 };
    }
    return 0;
}

/* As perf, py-spy and gdb have it. */
int profile_program_take_pid(void *settings, const char *value, struct error *err)
{
    return error_set(
        err, ERR_BAD_ARGUMENT,
        "cannot attach to process %s: tacho records only programs that it starts; use 'tacho profile PROGRAM "
        "…', with --delay, -c api or -c nvtx to start recording later",
        value);
}

int profile_program_lacking(const struct profile_settings *settings, struct error *err)
{
    const char *range = settings->collect.range_text;

    if (range && range[strspn(range, "0123456789")] == 0) /* -p 4711 */
        return profile_program_take_pid(NULL, range, err);
    return error_set(err, ERR_BAD_ARGUMENT, "no program given: tacho profile PROGRAM …");
}
