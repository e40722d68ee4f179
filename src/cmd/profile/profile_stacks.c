/* The options of `tacho profile` that are about call chains and their names: see profile_stacks.h. */
#include "profile_stacks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_THRESHOLD_NS = 80000, USUAL_STACK_BYTES = 16384, LARGEST_STACK_BYTES = 65528, DEEPEST = 1024 };
#define LONGEST_NS UINT64_C(1000000000000000000)

void profile_stacks_init(struct profile_settings *settings)
{
    settings->resolve_symbols = 1;
    settings->collect.osrt_backtrace_ns = USUAL_THRESHOLD_NS;
    settings->collect.osrt_backtrace_bytes = USUAL_STACK_BYTES;
}

static int read_number(const char *option, const char *unit, const char *value, uint64_t most, uint64_t *number,
                       struct error *err)
{
    char *end;
    *number = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end || *number > most)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s is a number of %s up to %llu, not '%s'", option, unit,
                         (unsigned long long)most, value);
    return 0;
}

int profile_stacks_take_threshold(void *settings, const char *value, struct error *err)
{
    return read_number("osrt-backtrace-threshold", "nanoseconds", value, LONGEST_NS,
                       &((struct profile_settings *)settings)->collect.osrt_backtrace_ns, err);
}

int profile_stacks_take_depth(void *settings, const char *value, struct error *err)
{
    struct collect_options *collect = &((struct profile_settings *)settings)->collect;
    uint64_t number;
    int failed = read_number("osrt-backtrace-depth", "frames", value, DEEPEST, &number, err);
    if (failed)
        return failed;
    collect->osrt_backtrace_depth = (uint32_t)number;
    if (number == 0)
        collect->osrt_backtrace_bytes = 0;
    return 0;
}

int profile_stacks_take_stack_size(void *settings, const char *value, struct error *err)
{
    uint64_t number;
    int failed = read_number("osrt-backtrace-stack-size", "bytes", value, LARGEST_STACK_BYTES, &number, err);
    if (!failed)
        ((struct profile_settings *)settings)->collect.osrt_backtrace_bytes = (uint32_t)number;
    return failed;
}

/* Folders with colons between them: one piece of memory for the list and its texts. */
int profile_stacks_take_debug_symbols(void *settings, const char *value, struct error *err)
{
    struct profile_settings *profile = settings;
    size_t length = strlen(value) + 1, count = 0, most = 2;
    for (const char *c = value; *c; c++)
        most += *c == ':';
    char **list = malloc(most * sizeof *list + length);
    if (!list || profile->owned_count == sizeof profile->owned / sizeof *profile->owned) {
        free(list);
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    }
    profile->owned[profile->owned_count++] = list;
    char *rest = memcpy(list + most, value, length), *save = NULL;
    for (char *one = strtok_r(rest, ":", &save); one; one = strtok_r(NULL, ":", &save))
        list[count++] = one;
    list[count] = NULL;
    profile->collect.debug_paths = (const char *const *)list;
    return 0;
}
