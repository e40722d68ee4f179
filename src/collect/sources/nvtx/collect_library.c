/* The source of calls into cuBLAS and other libraries: its row. Their records are NVTX ranges (nvtx_library.h), and
 * NVTX counts them, too. */
#include "collect/core/collector.h"
#include "collect/core/stub_file.h"
#include "wire/wire_libraries.h"

static int is_wanted(const struct collect_options *options)
{
    return (options->sources & WIRE_BIT(LIBRARY)) && options->libraries;
}

static void preload(struct text *to, const struct collect_options *options, const char *agent_path)
{
    if (is_wanted(options))
        stub_file_preload(to, agent_path, WIRE_LIBRARIES_FILE);
}

/* Only a warning: libraries that annotate themselves, as NCCL does, are recorded in any case. */
static void check(struct collector *collector, const char *agent_path)
{
    if (is_wanted(collector->options))
        stub_file_check(collector, agent_path, WIRE_LIBRARIES_FILE, "Calls into libraries", 0);
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
