/* Python: stacks of its threads, Python frames beside native ones, and functions as ranges. */
#include "python_source.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd_source.h"
#include "cmd/summary/source_summary.h"
#include "python_doctor.h"

struct python_source_settings {
    const char *sampling; /* --python-sampling; NULL: auto */
    int backtrace;        /* --python-backtrace=cuda */
    unsigned frequency;   /* 0: it was not said */
};

static struct python_source_settings *python_source_settings(struct profile_settings *settings)
{
    return profile_source_settings(settings, &cmd_source_python);
}

int python_has_backtrace(struct profile_settings *settings)
{
    return python_source_settings(settings)->backtrace;
}

/* A round takes some 50 µs of another CPU: 2 or 3 % of it at this rate. */
enum { USUAL_FREQUENCY = 500, HIGHEST_FREQUENCY = 2000 };

static int python_source_take_frequency(void *settings, const char *value, struct error *err)
{
    uint64_t frequency;

    if (option_read_number(value, 1, HIGHEST_FREQUENCY, &frequency) != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--python-sampling-frequency must be a number from 1 to %d, not '%s'",
                         HIGHEST_FREQUENCY, value);
    python_source_settings(settings)->frequency = (unsigned)frequency;
    return 0;
}

static int python_source_take_backtrace(void *settings, const char *value, struct error *err)
{
    int is_none = strcmp(value, "none") == 0 || option_bool(value) == 0;

    if (!is_none && strcmp(value, "cuda") != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--python-backtrace must be cuda, none or false, not '%s'", value);
    python_source_settings(settings)->backtrace = !is_none;
    return 0;
}

/* The path from the root: the program may be in another folder by then. */
static int python_source_take_functions(void *settings, const char *value, struct error *err)
{
    static char path[PATH_MAX];

    if (!realpath(value, path) || access(path, R_OK) != 0) {
        error_set_errno(err, "cannot read '%s', the file of --python-functions-trace", value);
        return err->code = ERR_BAD_ARGUMENT;
    }
    ((struct profile_settings *)settings)->collect.python_functions = path;
    return 0;
}

static int python_source_take_sampling(struct collect_options *collect, const char *value, int is_gil_traced,
                                       struct error *err)
{
    int is_automatic = !value || strcmp(value, "auto") == 0;
    int is_wanted = is_automatic || !*value ? 1 : option_bool(value);

    if (is_wanted < 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--python-sampling must be auto, true or false, not '%s'", value);
    collect->python_is_automatic = is_automatic && !is_gil_traced;
    return is_wanted || is_gil_traced;
}

static int python_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    const struct python_source_settings *python = python_source_settings(settings);
    int is_sampled = python_source_take_sampling(collect, python->sampling, profile_is_traced(settings, "python-gil"),
                                                 err);

    if (is_sampled < 0)
        return is_sampled;
    if (is_sampled)
        collect->python_frequency = python->frequency ? python->frequency : USUAL_FREQUENCY;
    else if (python->frequency)
        text_add(&settings->warnings, "--python-sampling-frequency has no effect with --python-sampling=false\n");
    collect->python_backtrace = python->backtrace;
    if (python->backtrace && !(collect->sources & (WIRE_BIT(CUDA) | WIRE_BIT(OSRT))))
        text_add(&settings->warnings, "--python-backtrace has no effect: add cuda or osrt to --trace\n");
    return 0;
}

/* clang-format off */
static const struct option python_source_options[] = {
    { .name = "python-sampling", .kind = OPTION_TEXT, .value = "[auto|true|false]",
      .offset = offsetof(struct python_source_settings, sampling), .words = OPTION_WORDS("auto", "true", "false"),
      .help = "Sample the call stacks of all Python threads, without stopping the program. auto: in programs that run "
              "CPython 3.9 to 3.14. Default: auto." },
    { .name = "python-sampling-frequency", .kind = OPTION_CUSTOM, .value = "HZ", .take = python_source_take_frequency,
      .help = "Take HZ Python samples per second, 1 to 2000. Default: 500." },
    { .name = "python-backtrace", .kind = OPTION_CUSTOM, .value = "cuda|none", .words = OPTION_WORDS("cuda", "none"),
      .take = python_source_take_backtrace,
      .help = "Add Python frames to the backtraces of CUDA and OS calls (cuda). Sets --cudabacktrace=all unless that "
              "option is given. Default: none." },
    { 0 },
};

static const struct option late_options[] = {
    { .name = "python-functions-trace", .kind = OPTION_CUSTOM, .value = "FILE", .take = python_source_take_functions,
      .help = "Record the calls of the Python functions that the JSON file lists as NVTX ranges: [{\"module\": …, "
              "\"functions\": [\"f\", \"Class.method\"]}]." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_trace python_source_traces[] = { { .name = "python-gil" }, { 0 } };

static const struct cmd_source_table python_source_tables[] = {
    { "python-sampling", "TACHO_PYTHON_SAMPLE" },
    { 0 },
};

static const struct source_summary python_source_summary = {
    .samples = "TACHO_PYTHON_SAMPLE",
    .functions = "python_sample_sum",
    .functions_heading = "Python, by function (self time)",
};

const struct cmd_source cmd_source_python = {
    .traces = python_source_traces,
    .options = python_source_options,
    .late_options = late_options,
    .settings_bytes = sizeof(struct python_source_settings),
    .finish = python_source_finish,
    .examinations = python_examinations,
    .tables = python_source_tables,
    .summary = &python_source_summary,
};
