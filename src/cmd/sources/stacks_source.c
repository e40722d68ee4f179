/* The names of functions in call stacks, of whichever source. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"

struct stacks_settings {
    int resolve_symbols;
};
static const struct stacks_settings stacks_source_defaults = { .resolve_symbols = 1 };

/* Folders with colons between them: one piece of memory for the list and its texts. */
static int take_debug_symbols(void *settings, const char *value, struct error *err)
{
    struct profile_settings *profile = settings;
    size_t length = strlen(value) + 1, count = 0, most = 2;

    for (const char *c = value; *c; c++)
        most += *c == ':';
    char **list = profile_own(profile, malloc(most * sizeof *list + length));
    if (!list)
        return error_no_memory(err);
    char *rest = memcpy(list + most, value, length), *save = NULL;
    for (char *one = strtok_r(rest, ":", &save); one; one = strtok_r(NULL, ":", &save))
        list[count++] = one;
    list[count] = NULL;
    profile->collect.debug_paths = (const char *const *)list;
    return 0;
}

static int stacks_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    const struct stacks_settings *stacks = profile_source_settings(settings, &cmd_source_stacks);

    collect->no_names = !stacks->resolve_symbols;
    return 0;
}

/* clang-format off */
static const struct option stacks_source_options[] = {
    { .name = "debug-symbols", .kind = OPTION_CUSTOM, .value = "PATHS", .take = take_debug_symbols,
      .help = "Directories with debug information, separated by colons, to search in addition to /usr/lib/debug." },
    { .name = "resolve-symbols", .kind = OPTION_BOOL, .offset = offsetof(struct stacks_settings, resolve_symbols),
      .help = "Resolve the addresses in call stacks to function names. Default: true." },
    { 0 },
};
/* clang-format on */

const struct cmd_source cmd_source_stacks = {
    .options = stacks_source_options,
    .settings = &stacks_source_defaults,
    .settings_bytes = sizeof stacks_source_defaults,
    .finish = stacks_source_finish,
};
