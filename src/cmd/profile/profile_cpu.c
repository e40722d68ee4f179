/* Values of the options for CPU sampling and scheduling, old spellings included. */
#include "profile_cpu.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/option.h"

enum { LEAST_PERIOD = 10000, MOST_FREQUENCY = 100000, MOST_PER_BACKTRACE = 32, LEAST_STACK = 512, MOST_STACK = 65528 };
#define MOST_PERIOD UINT64_C(100000000000)

static struct collect_cpu_options *cpu_of(void *settings)
{
    return &((struct profile_settings *)settings)->collect.cpu;
}

const char *const *profile_cpu_scopes(void)
{
    static const char *const names[] = { "process-tree", "system-wide", "none", NULL };

    return names;
}

const char *const *profile_cpu_backtraces(void)
{
    static const char *const names[] = { "dwarf", "fp", "lbr", "none", NULL };

    return names;
}

int profile_cpu_read_scope(const char *option, const char *value, enum collect_scope *out, struct error *err)
{
    static const struct {
        const char *name;
        enum collect_scope scope;
    } scopes[] = {
        { "process-tree", COLLECT_SCOPE_TREE },
        { "system-wide", COLLECT_SCOPE_SYSTEM },
        { "none", COLLECT_SCOPE_NONE },
        /* old spellings */
        { "cpu", COLLECT_SCOPE_TREE },
        { "true", COLLECT_SCOPE_TREE },
        { "false", COLLECT_SCOPE_NONE },
    };

    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++)
        if (strcmp(scopes[i].name, value) == 0) {
            *out = scopes[i].scope;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "--%s is process-tree, system-wide or none, not '%s'", option, value);
}

int profile_cpu_take_sample(void *settings, const char *value, struct error *err)
{
    cpu_of(settings)->samples_asked = 1;
    return profile_cpu_read_scope("sample", value, &cpu_of(settings)->samples, err);
}

int profile_cpu_take_switches(void *settings, const char *value, struct error *err)
{
    cpu_of(settings)->switches_asked = 1;
    return profile_cpu_read_scope("cpuctxsw", value, &cpu_of(settings)->switches, err);
}

int profile_cpu_take_backtrace(void *settings, const char *value, struct error *err)
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
            cpu_of(settings)->backtrace = backtraces[i].backtrace;
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

int profile_cpu_take_period(void *settings, const char *value, struct error *err)
{
    static const struct number period = { "sampling-period", "events", LEAST_PERIOD, MOST_PERIOD };

    return read_number(&period, value, &cpu_of(settings)->period, err);
}

static int read_small(const struct number *number, const char *value, uint32_t *out, struct error *err)
{
    uint64_t read = 0;
    int code = read_number(number, value, &read, err);

    if (code == 0)
        *out = (uint32_t)read;
    return code;
}

int profile_cpu_take_frequency(void *settings, const char *value, struct error *err)
{
    static const struct number frequency = { "sampling-frequency", "samples a second", 1, MOST_FREQUENCY };

    return read_small(&frequency, value, &cpu_of(settings)->frequency, err);
}

int profile_cpu_take_samples_per_backtrace(void *settings, const char *value, struct error *err)
{
    static const struct number samples = { "samples-per-backtrace", "samples", 1, MOST_PER_BACKTRACE };

    return read_small(&samples, value, &cpu_of(settings)->samples_per_backtrace, err);
}

int profile_cpu_take_stack_size(void *settings, const char *value, struct error *err)
{
    static const struct number bytes = { "backtrace-stack-size", "bytes", LEAST_STACK, MOST_STACK };

    return read_small(&bytes, value, &cpu_of(settings)->stack_bytes, err);
}

void profile_cpu_finish(struct profile_settings *settings, struct collect_options *collect)
{
    struct collect_cpu_options *cpu = &collect->cpu;

    if (!cpu->samples_asked)
        cpu->samples = COLLECT_SCOPE_TREE;
    if (!cpu->switches_asked)
        cpu->switches = cpu->samples;
    if (cpu->period && cpu->frequency)
        text_add(&settings->warnings, "--sampling-frequency has no effect beside --sampling-period\n");
}
