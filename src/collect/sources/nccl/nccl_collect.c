/* NCCL's profiler plugin interface as a source: its row. A plugin that the user has chosen keeps its place: NCCL loads
 * one only. */
#include <string.h>

#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/core/machine.h"
#include "nccl_choice.h"
#include "nccl_records.h"
#include "wire/wire_nccl.h"

enum { NCCL_NAME_MAX = 254 }; /* NCCL cuts longer names of plugins off */

static int nccl_collect_refuse(struct text *why, const struct collect_options *options, const char *path)
{
    struct text chosen = { 0 };
    if (nccl_choice(&chosen, options))
        text_addf(why,
                  "NCCL loads only one profiler plugin, and one is already set (%.400s). Unset it to use "
                  "--nccl-plugin.",
                  text_string(&chosen));
    else if (strlen(path) > NCCL_NAME_MAX)
        text_add(why, "the path of " WIRE_NCCL_FILE " is longer than NCCL takes.");
    text_free(&chosen);
    return why->length != 0;
}

static void nccl_collect_check(struct collector *collector, const char *agent_path)
{
    struct text chosen = { 0 };
    if (!(collector->options->sources & WIRE_BIT(NCCL)))
        return;
    if (nccl_choice(&chosen, collector->options))
        machine_parameter(collector, "NCCL_PLUGIN", text_string(&chosen));
    else if (collector->sources & WIRE_BIT(NCCL))
        machine_parameter(collector, "NCCL_PLUGIN",
                          collector->options->nccl_level == WIRE_NCCL_PROXY ? "proxy" : "coll");
    text_free(&chosen);
}

static void nccl_collect_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    wire_nccl(texts->arena)->level = collector->options->nccl_level;
}

static const struct collect_records nccl_collect_records[] = {
    { WIRE_NCCL_COMM, WIRE_NCCL_COMM, nccl_comm },
    { WIRE_NCCL_START, WIRE_NCCL_START, nccl_start },
    { WIRE_NCCL_STOP, WIRE_NCCL_STOP, nccl_stop },
    { WIRE_NCCL_STATE, WIRE_NCCL_STATE, nccl_state },
    { 0 },
};

static const struct collect_table nccl_collect_tables[] = {
    { TABLE_TACHO_NCCL_OP, "nccl", COLLECT_RECORDED_OF(NCCL) },
    { TABLE_TACHO_NCCL_PROXY, "nccl", COLLECT_RECORDED_OF(NCCL) },
    { 0 },
};

const struct collect_source collect_source_nccl = {
    .records = nccl_collect_records,
    .tables = nccl_collect_tables,
    .file = { .name = WIRE_NCCL_FILE,
              .without = "--nccl-plugin has no effect",
              .variable = NCCL_PLUGIN_VARIABLE,
              .refuse = nccl_collect_refuse },
    .cost = { .recorded_reads = 2, .recorded_ns = 150, .counted_reads = 1, .counted_ns = 50 },
    .check = nccl_collect_check,
    .arena = nccl_collect_arena,
    .process_end = nccl_process_end,
    .process_free = nccl_process_free,
};
