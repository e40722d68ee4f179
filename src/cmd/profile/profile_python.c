/* The options of `tacho profile` that are about Python: see profile_python.h. */
#include "profile_python.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/option.h"

enum { USUAL_FREQUENCY = 1000, HIGHEST_FREQUENCY = 2000 };

int profile_python_take_frequency(void *settings, const char *value, struct error *err)
{
    char *end;
    unsigned long frequency = strtoul(value, &end, 10);

    if (!isdigit((unsigned char)*value) || *end || frequency < 1 || frequency > HIGHEST_FREQUENCY)
        return error_set(err, ERR_BAD_ARGUMENT, "--python-sampling-frequency is a number from 1 to %d, not '%s'",
                         HIGHEST_FREQUENCY, value);
    ((struct profile_settings *)settings)->python.frequency = (unsigned)frequency;
    return 0;
}

const char *const *profile_python_backtraces(void)
{
    static const char *const names[] = { "cuda", "none", NULL };

    return names;
}

int profile_python_take_backtrace(void *settings, const char *value, struct error *err)
{
    int is_none = strcmp(value, "none") == 0 || option_bool(value) == 0;

    if (!is_none && strcmp(value, "cuda") != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--python-backtrace is cuda, none or false, not '%s'", value);
    ((struct profile_settings *)settings)->python.backtrace = !is_none;
    return 0;
}

int profile_python_take_functions(void *settings, const char *value, struct error *err)
{
    static char path[PATH_MAX];

    if (!realpath(value, path) || access(path, R_OK) != 0) {
        error_set_errno(err, "cannot read '%s', which --python-functions-trace names", value);
        return err->code = ERR_BAD_ARGUMENT;
    }
    ((struct profile_settings *)settings)->collect.python_functions = path;
    return 0;
}

void profile_python_finish(struct profile_settings *settings, struct collect_options *collect)
{
    const struct profile_python *python = &settings->python;

    if (python->sampling || python->gil)
        collect->python_frequency = python->frequency ? python->frequency : USUAL_FREQUENCY;
    else if (python->frequency)
        text_add(&settings->warnings, "--python-sampling-frequency has no effect without --python-sampling=true\n");
    collect->python_backtrace = python->backtrace;
    if (python->backtrace && !(collect->sources & (WIRE_BIT(CUDA) | WIRE_BIT(OSRT))))
        text_add(&settings->warnings, "--python-backtrace has no effect: --trace names neither cuda nor osrt\n");
}
