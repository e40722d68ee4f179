/* --trace: the names are those that the sources' rows have, and nsys's other ones, which have no effect. */
#include "profile_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cmd/cmd_source.h"

/* The sources that nsys has and this version does not. */
static const char *const only_of_nsys[] = {
    "cudla",   "cudla-verbose",    "gds",    "opengl", "opengl-annotations",
    "nvvideo", "nvmedia",          "vulkan", "openxr", "vulkan-annotations",
    "syscall", "nvshmem",          "cufft",  "curand", "tegra-accelerators",
    "npp",     "cusparse-lt",      "dx11",   "dx12",   "dx11-annotations",
    "wddm",    "dx12-annotations", "sw",     "hw",     NULL,
};

enum { NAMES_MAX = 128 };

struct profile_trace_name {
    const struct cmd_source_trace *trace;
    const struct cmd_source *source;
};

/* Every name that the sources have, in their order. */
static size_t profile_trace_list_names(struct profile_trace_name list[NAMES_MAX])
{
    size_t count = 0;

    for (const struct cmd_source *const *source = cmd_sources; *source; source++)
        for (const struct cmd_source_trace *trace = (*source)->traces; trace && trace->name && count < NAMES_MAX;
             trace++)
            list[count++] = (struct profile_trace_name){ trace, *source };
    return count;
}

const char *const *profile_trace_names(void)
{
    static const char *names[NAMES_MAX + COUNT_OF(only_of_nsys) + 1];
    struct profile_trace_name known[NAMES_MAX];
    size_t count = profile_trace_list_names(known), at = 0;

    for (; at < count; at++)
        names[at] = known[at].trace->name;
    names[at++] = "none";
    for (const char *const *name = only_of_nsys; *name; name++)
        names[at++] = *name;
    return names;
}

/* ---- names in sentences ---------------------------------------------------------------------------------------- */

static int is_default(const struct profile_trace_name *name)
{
    return name->trace->by_default == BY_DEFAULT;
}

static int is_default_if_used(const struct profile_trace_name *name)
{
    return name->trace->by_default == BY_DEFAULT_IF_USED;
}

static int is_optional(const struct profile_trace_name *name)
{
    return !is_default(name) && !name->trace->is_other_name;
}

static int is_of_agents(const struct profile_trace_name *name)
{
    return is_optional(name) && name->source->events;
}

static int is_of_collector(const struct profile_trace_name *name)
{
    return is_optional(name) && !name->source->events;
}

static int profile_trace_by_name(const void *a, const void *b)
{
    return strcmp(((const struct profile_trace_name *)a)->trace->name,
                  ((const struct profile_trace_name *)b)->trace->name);
}

/* Adds the names that is_so() selects, with separators between them; before: the text has names already. */
static void profile_trace_add_names(struct text *out, int (*is_so)(const struct profile_trace_name *name),
                                    const char *separator, int before)
{
    struct profile_trace_name all[NAMES_MAX], chosen[NAMES_MAX];
    size_t all_count = profile_trace_list_names(all), count = 0;

    for (size_t i = 0; i < all_count; i++)
        if (is_so(&all[i]))
            chosen[count++] = all[i];
    if (is_so == is_default || is_so == is_default_if_used)
        qsort(chosen, count, sizeof *chosen, profile_trace_by_name);
    for (size_t i = 0; i < count; i++)
        text_addf(out, "%s%s", before || i ? separator : "", chosen[i].trace->name);
}

const char *profile_trace_help(void)
{
    static struct text help;

    if (!help.length) {
        text_add(&help, "APIs to trace: ");
        profile_trace_add_names(&help, is_default, ", ", 0);
        profile_trace_add_names(&help, is_optional, ", ", 1);
        text_add(&help,
                 ", none. Append -verbose to a library (cublas-verbose) to trace its getters and setters too. Default: "
                 "");
        profile_trace_add_names(&help, is_default, ",", 0);
        text_add(&help, "; also ");
        profile_trace_add_names(&help, is_default_if_used, ",", 0);
        text_add(&help, " in programs that use them.");
    }
    return text_string(&help);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static int explain_unknown(const char *name, struct error *err)
{
    const char *nearest = nearest_name(name, profile_trace_names());
    struct text known = { 0 };

    if (nearest)
        return error_set(err, ERR_BAD_ARGUMENT, "unknown name '%s' in --trace; did you mean %s?", name, nearest);
    profile_trace_add_names(&known, is_default, ", ", 0);
    profile_trace_add_names(&known, is_of_agents, ", ", 1);
    profile_trace_add_names(&known, is_of_collector, ", ", 1);
    error_set(err, ERR_BAD_ARGUMENT,
              "unknown name '%s' in --trace: use a list of %s, or none; other names of nsys are accepted without "
              "effect",
              name, text_string(&known));
    text_free(&known);
    return err->code;
}

static int profile_trace_take_one(struct profile_settings *settings, const char *name, struct error *err)
{
    struct profile_trace_name known[NAMES_MAX];
    size_t count = profile_trace_list_names(known);

    for (size_t i = 0; i < count; i++)
        if (strcmp(known[i].trace->name, name) == 0) {
            settings->sources_given |= known[i].source->events;
            if (!profile_is_traced(settings, name) && settings->traced.count < OPTION_LIST_MAX)
                settings->traced.values[settings->traced.count++] = known[i].trace->name;
            return 0;
        }
    for (const char *const *other = only_of_nsys; *other; other++)
        if (strcmp(*other, name) == 0) {
            text_addf(&settings->unsupported, "%s%s", settings->unsupported.length ? ", " : "", name);
            return 0;
        }
    return strcmp(name, "none") == 0 ? 0 : explain_unknown(name, err);
}

int profile_trace_take(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    char **names = option_split(value, NULL);
    int code = 0;

    if (!names)
        return error_no_memory(err);
    settings->has_sources = 1;
    settings->sources_given = 0;
    settings->traced.count = 0;
    text_clear(&settings->unsupported);
    for (char **name = names; *name; name++)
        if ((code = profile_trace_take_one(settings, *name, err)) != 0)
            break;
    free(names);
    return code;
}

/* One sentence for all names that were taken without an effect. */
static void warn_unsupported(struct profile_settings *settings)
{
    const char *names = text_string(&settings->unsupported);

    if (!settings->unsupported.length)
        return;
    text_addf(&settings->warnings, "--trace=%s %s no effect: this version does not trace %s", names,
              strchr(names, ',') ? "have" : "has", strchr(names, ',') ? "them" : "it");
    if (!settings->sources_given) {
        text_add(&settings->warnings, "; only processes and threads are recorded: add ");
        profile_trace_add_names(&settings->warnings, is_default, ", ", 0);
    }
    text_add_char(&settings->warnings, '\n');
}

uint32_t profile_trace_finish(struct profile_settings *settings)
{
    struct profile_trace_name known[NAMES_MAX];
    size_t count = profile_trace_list_names(known);
    uint32_t by_default = 0, if_used = 0;

    warn_unsupported(settings);
    for (size_t i = 0; i < count; i++) {
        by_default |= known[i].trace->by_default ? known[i].source->events : 0;
        if_used |= is_default_if_used(&known[i]) ? known[i].source->events : 0;
    }
    settings->collect.if_used = settings->has_sources ? 0 : if_used;
    return settings->has_sources ? settings->sources_given : by_default;
}
