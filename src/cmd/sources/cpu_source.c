/* CPU sampling and context switches. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"
#include "cpu_doctor.h"
#include "cpu_info.h"
#include "cpu_summary.h"
#include "scope.h"

enum { LEAST_PERIOD = 10000, MOST_FREQUENCY = 100000, MOST_PER_BACKTRACE = 32, LEAST_STACK = 512, MOST_STACK = 65528 };
#define MOST_PERIOD UINT64_C(100000000000)

static struct collect_cpu_options *own(void *settings)
{
    return profile_source_settings(settings, &cmd_source_cpu);
}

static const char *const *backtraces(void)
{
    static const char *const names[] = { "dwarf", "fp", "lbr", "none", NULL };

    return names;
}

static int take_sample(void *settings, const char *value, struct error *err)
{
    own(settings)->samples_asked = 1;
    return scope_read("sample", value, &own(settings)->samples, err);
}

static int take_switches(void *settings, const char *value, struct error *err)
{
    own(settings)->switches_asked = 1;
    return scope_read("cpuctxsw", value, &own(settings)->switches, err);
}

static int take_backtrace(void *settings, const char *value, struct error *err)
{
    static const struct {
        const char *name;
        enum collect_backtrace backtrace;
    } backtraces[] = {
        { "dwarf", COLLECT_BACKTRACE_DWARF },
        { "fp", COLLECT_BACKTRACE_FP },
        { "lbr", COLLECT_BACKTRACE_LBR },
        { "none", COLLECT_BACKTRACE_NONE },
    };

    for (size_t i = 0; i < sizeof backtraces / sizeof backtraces[0]; i++)
        if (strcmp(backtraces[i].name, value) == 0) {
            own(settings)->backtrace = backtraces[i].backtrace;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "--backtrace is dwarf, fp, lbr or none, not '%s'", value);
}

struct number {
    const char *option, *unit;
    uint64_t least, most;
};

static int read_number(const struct number *number, const char *value, uint64_t *out, struct error *err)
{
    char *end;
    unsigned long long read = (errno = 0, strtoull(value, &end, 10));

    if (!isdigit((unsigned char)*value) || *end || errno || read < number->least || read > number->most)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s is a number of %s from %llu to %llu, not '%s'", number->option,
                         number->unit, (unsigned long long)number->least, (unsigned long long)number->most, value);
    *out = read;
    return 0;
}

static int take_period(void *settings, const char *value, struct error *err)
{
    static const struct number period = { "sampling-period", "events", LEAST_PERIOD, MOST_PERIOD };

    return read_number(&period, value, &own(settings)->period, err);
}

static int read_small(const struct number *number, const char *value, uint32_t *out, struct error *err)
{
    uint64_t read = 0;
    int code;

    if ((code = read_number(number, value, &read, err)) != 0)
        return code;
    *out = (uint32_t)read;
    return 0;
}

static int take_frequency(void *settings, const char *value, struct error *err)
{
    static const struct number frequency = { "sampling-frequency", "samples a second", 1, MOST_FREQUENCY };

    return read_small(&frequency, value, &own(settings)->frequency, err);
}

static int take_samples_per_backtrace(void *settings, const char *value, struct error *err)
{
    static const struct number samples = { "samples-per-backtrace", "samples", 1, MOST_PER_BACKTRACE };

    return read_small(&samples, value, &own(settings)->samples_per_backtrace, err);
}

static int take_stack_size(void *settings, const char *value, struct error *err)
{
    static const struct number bytes = { "backtrace-stack-size", "bytes", LEAST_STACK, MOST_STACK };

    return read_small(&bytes, value, &own(settings)->stack_bytes, err);
}

static int finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    struct collect_cpu_options cpu = *own(settings);

    if (!cpu.samples_asked)
        cpu.samples = COLLECT_SCOPE_TREE;
    if (!cpu.switches_asked)
        cpu.switches = cpu.samples;
    if (cpu.period && cpu.frequency)
        text_add(&settings->warnings, "--sampling-frequency has no effect beside --sampling-period\n");
    collect->cpu = cpu;
    return 0;
}

static int is_expected(struct profile_settings *settings, const struct collect_result *result)
{
    return result->cpu.method != COLLECT_BY_NOTHING;
}

/* clang-format off */
static const struct option options[] = {
    { .name = "sample", .letter = 's', .kind = OPTION_CUSTOM, .value = "SCOPE", .choices = scope_names,
      .take = take_sample,
      .help = "Sample what CPUs do: process-tree (the program and all that it starts, the default), system-wide, "
              "none." },
    { .name = "backtrace", .letter = 'b', .kind = OPTION_CUSTOM, .value = "HOW", .choices = backtraces,
      .take = take_backtrace,
      .help = "How the stack of a sample is found: dwarf (the default), fp (frame pointers), lbr (the CPU's own "
              "record), none." },
    { .name = "sampling-frequency", .kind = OPTION_CUSTOM, .value = "HZ", .take = take_frequency,
      .help = "Samples a second of running time. Default: 1000." },
    { .name = "sampling-period", .kind = OPTION_CUSTOM, .value = "EVENTS", .take = take_period,
      .help = "Instead: a sample each so many CPU cycles, or ns where cycles cannot be counted." },
    { .name = "samples-per-backtrace", .kind = OPTION_CUSTOM, .value = "N",
      .take = take_samples_per_backtrace,
      .help = "Of so many samples one has a stack, the others an address alone. Default: 1." },
    { .name = "backtrace-stack-size", .kind = OPTION_CUSTOM, .value = "BYTES", .take = take_stack_size,
      .help = "How much of a thread's stack is copied with a sample for dwarf, up to 65528. Default: as much as the "
              "rings allow." },
    { .name = "cpuctxsw", .kind = OPTION_CUSTOM, .value = "SCOPE", .choices = scope_names,
      .take = take_switches,
      .help = "Record context switches: process-tree, system-wide, none. Default: as --sample." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_table tables[] = {
    { "samples", "COMPOSITE_EVENTS" },
    { "switches", "SCHED_EVENTS" },
    { 0 },
};

const struct cmd_source cmd_source_cpu = {
    .events = WIRE_BIT(SAMPLES),
    .options = options,
    .settings = &(struct collect_cpu_options){ .backtrace = COLLECT_BACKTRACE_DWARF },
    .settings_bytes = sizeof(struct collect_cpu_options),
    .finish = finish,
    .is_expected = is_expected,
    .examinations = cpu_examinations,
    .tables = tables,
    .info = cpu_info,
    .summary = &cpu_summary,
};
