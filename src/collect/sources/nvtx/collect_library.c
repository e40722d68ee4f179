/* The source of calls into cuBLAS and other libraries: its row. Their records are NVTX ranges (nvtx_library.h), and
 * NVTX counts them, too. */
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "collect/core/collector.h"
#include "wire/wire_libraries.h"

/* Finds the library that interposes their functions, beside the agent. Returns 1 if it exists, is enabled and may be
 * preloaded. */
static int find_stubs(struct text *path, const struct collect_options *options, const char *agent_path)
{
    if (!(options->sources & WIRE_BIT(LIBRARY)) || !options->libraries || options->no_preload)
        return 0;
    text_addf(path, "%.*s" WIRE_LIBRARIES_FILE, (int)path_folder_length(agent_path), agent_path);
    return !text_failed(path) && access(text_string(path), R_OK) == 0;
}

static void preload(struct text *to, const struct collect_options *options, const char *agent_path)
{
    struct text path = { 0 };
    if (find_stubs(&path, options, agent_path))
        text_addf(to, ":%s", text_string(&path));
    text_free(&path);
}

/* Only a warning: libraries that annotate themselves, as NCCL does, are recorded in any case. */
static void check(struct collector *collector, const char *agent_path)
{
    struct text path = { 0 };
    int wanted = (collector->options->sources & WIRE_BIT(LIBRARY)) && collector->options->libraries;
    if (wanted && !find_stubs(&path, collector->options, agent_path))
        collector_warn(collector, 0, "Calls into libraries are not recorded: %s.",
                       collector->options->no_preload
                           ? "--preload=no keeps tacho from interposing them"
                           : "libtacho-libraries.so is not beside the agent; install all of Tacho");
    text_free(&path);
}

static void arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    wire_library(texts->arena)->wanted = collector->options->libraries;
}

static const struct collect_table tables[] = {
    { TABLE_NVTX_EVENTS, "libraries", COLLECT_RECORDED_OF(LIBRARY) },
    { 0 },
};

const struct collect_source collect_source_library = {
    .tables = tables,
    .agent_file = WIRE_LIBRARIES_FILE,
    .cost = { .recorded_reads = 2, .recorded_ns = 65, .counted_reads = 2, .counted_ns = 50 },
    .preload = preload,
    .check = check,
    .arena = arena,
};
