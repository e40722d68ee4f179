/* Finds the libraries of sources, and names them to the program: see agent_file.h. */
#include "agent_file.h"

#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "collect_sources.h"
#include "collector.h"

/* The library of a source that is recorded; NULL: it has none. */
static const struct collect_file *wanted_file(const struct collect_options *options, uint32_t source)
{
    const struct collect_source *row = collect_counted_sources[source];
    return row && row->file.name && (options->sources & 1u << source) ? &row->file : NULL;
}

/* Adds its path, or the reason why the program cannot load it; returns 1 for a path. */
static int agent_file_find(struct text *path, struct text *why, const struct collect_file *file,
                           const struct collect_options *options, const char *agent_path)
{
    text_addf(path, "%.*s%s", (int)path_folder_length(agent_path), agent_path, file->name);
    if (file->refuse && file->refuse(why, options, text_string(path)))
        return 0;
    if (options->no_preload)
        text_addf(why, "--preload=no keeps %s out of the program.", file->name);
    else if (text_failed(path) || access(text_string(path), R_OK) != 0)
        text_addf(why, "%s is not beside the agent; reinstall Tacho.", file->name);
    return !why->length && !text_failed(path);
}

/* Whether nobody has named the source: then nothing is said where its library is missing. */
static int is_if_used(const struct collect_options *options, uint32_t source)
{
    return (options->if_used & 1u << source) != 0;
}

void agent_files_preload(struct text *to, const struct collect_options *options, const char *agent_path,
                         uint32_t models)
{
    for (uint32_t i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const struct collect_file *file = wanted_file(options, i);
        struct text path = { 0 }, why = { 0 };
        int is_used = file && (!is_if_used(options, i) || (file->models & models));
        if (is_used && !file->variable && agent_file_find(&path, &why, file, options, agent_path))
            text_addf(to, ":%s", text_string(&path));
        text_free(&path);
        text_free(&why);
    }
}

void agent_files_name(struct variables *variables, const struct collect_options *options, const char *agent_path)
{
    for (uint32_t i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const struct collect_file *file = wanted_file(options, i);
        struct text path = { 0 }, why = { 0 };
        if (file && file->variable && agent_file_find(&path, &why, file, options, agent_path))
            variables_set(variables, file->variable, text_string(&path));
        text_free(&path);
        text_free(&why);
    }
}

void agent_files_check(struct collector *collector, const char *agent_path)
{
    for (uint32_t i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const struct collect_file *file = wanted_file(collector->options, i);
        struct text path = { 0 }, why = { 0 };
        if (file && !agent_file_find(&path, &why, file, collector->options, agent_path)) {
            if (!is_if_used(collector->options, i))
                collector_warn(collector, 0, "%s: %s", file->without, text_string(&why));
            if (!file->stays_on)
                collector->sources &= ~(1u << i);
        }
        text_free(&path);
        text_free(&why);
    }
}
