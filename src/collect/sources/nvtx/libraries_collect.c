/* The source of calls into cuBLAS and other libraries: its row. Their records are NVTX ranges (nvtx_library.h), and
 * NVTX counts them, too. */
#include "collect/core/collector.h"
#include "wire/wire_libraries.h"

static void libraries_collect_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    wire_library(texts->arena)->wanted = collector->options->libraries;
}

static const struct collect_table libraries_collect_tables[] = {
    { TABLE_NVTX_EVENTS, "libraries", COLLECT_RECORDED_OF(LIBRARIES) },
    { 0 },
};

const struct collect_source collect_source_libraries = {
    .tables = libraries_collect_tables,
    .file = { .name = WIRE_LIBRARIES_FILE, .without = "Calls into libraries are not recorded", .stays_on = 1 },
    .cost = { .recorded_reads = 2, .recorded_ns = 65, .counted_reads = 2, .counted_ns = 50 },
    .arena = libraries_collect_arena,
};
